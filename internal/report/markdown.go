package report

import (
	_ "embed" // the templates
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

//go:embed markdown.txt
var markdownText string

// markdown has the templates of markdown.txt: run and comparison. In them, md, code and cell escape texts
// from outside; cell is code in a table.
var markdown = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"md":   text.Markdown,
		"code": func(s string) string { return text.MarkdownCode(s, false) },
		"cell": func(s string) string { return text.MarkdownCode(s, true) },
		"row":  func(cells []string) string { return strings.Join(cells, " | ") },
		"line": func(s string) string {
			if command, ok := strings.CutPrefix(s, "replay: "); ok {
				return "replay: " + text.MarkdownCode(command, false)
			}
			return text.Markdown(s)
		},
		"sign": mdSign, "verdict": mdVerdict, "tail": medianAndTail, "notShown": notShown, "told": told,
		"counts": result.CountsText, "thousands": text.Thousands,
		"stepHead": func() []string { return stepHead },
		"stepNote": func() string { return stepNote },
	}).Parse(markdownText))
})

// writeMarkdown writes GitHub-flavoured Markdown, fit for a step summary: the verdict and the measured
// policy, a table of scenarios, and what needs action, each cause once. Below that, folded, are the findings
// of each scenario and the latencies.
func writeMarkdown(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	m := struct {
		page
		Listed               []*result.Scenario
		Judged, Strict, Each bool
		Timed                bool
		Causes               []Cause
	}{page: page{Run: clean, Verdict: badge{Word: clean.Word(o.Strict)}, About: provenance(clean),
		Summary: Headline(clean, o.Strict), Measured: evidenceAbout(clean)},
		Strict: o.Strict, Timed: len(latencyRows(clean)) > 0, Causes: Causes(r, clean, o.Strict)}
	m.Listed, m.Judged = listed(clean, o.Strict)
	m.Each = slices.ContainsFunc(m.Causes, func(c Cause) bool { return c.Several() })
	for i := range clean.Scenarios {
		m.Cards = append(m.Cards, newCard(&r.Scenarios[i], &clean.Scenarios[i], o))
	}
	return write(w, markdown(), "run", m)
}

// mdSign returns a verdict with a sign that does not need colour.
func mdSign(v result.Verdict, counts bool) string {
	switch {
	case v == result.Fail && counts:
		return "❌ **FAIL**"
	case v == result.Fail:
		return "⚠️ FAIL"
	case v == result.Pass:
		return "✅ PASS"
	default:
		return "❔ INCONCLUSIVE"
	}
}

// mdVerdict returns the verdict on a scenario, with its kind if a failure does not count.
func mdVerdict(s *result.Scenario, strict bool) string {
	if s.Answer != "" {
		return "**" + s.Word() + "**"
	}
	sign := mdSign(s.Verdict, s.Weighs(strict))
	if s.Verdict == result.Fail && !s.Weighs(strict) {
		sign += " (" + text.Markdown(s.Kind) + ")"
	}
	return sign
}

// mostAnnotations is how many annotations of one kind GitHub shows for one step.
const mostAnnotations = 10

// writeGitHub writes workflow commands, one on each line, that GitHub Actions turns into annotations. It
// writes an error for each cause of failures that count, a warning for each other cause and for what stayed
// open, and a notice with the verdict. GitHub shows ten of a kind, so the last one says how many more there
// are. The step summary has the format markdown.
func writeGitHub(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	var errors, warnings []Cause
	for _, c := range Causes(r, clean, o.Strict) {
		if c.Verdict == result.Fail && c.Counts {
			errors = append(errors, c)
		} else {
			warnings = append(warnings, c)
		}
	}
	lines := append([]string{Headline(clean, o.Strict)}, evidenceAbout(clean)...)
	lines = append(lines, result.CountsText(clean.Sum()))
	for _, n := range clean.Notes() {
		lines = append(lines, n.String())
	}
	notice := "::notice title=" + text.GitHubProperty("rlcheck: "+clean.Word(o.Strict)) + "::" +
		text.GitHubAnnotation(strings.Join(lines, "\n")) + "\n"
	_, err := io.WriteString(w, githubLines("error", errors)+githubLines("warning", warnings)+notice)
	return err
}

// githubLines writes a command for each cause, as many as GitHub shows.
func githubLines(command string, all []Cause) string {
	var b strings.Builder
	for i := range all {
		c := &all[i]
		if i+1 == mostAnnotations && len(all) > mostAnnotations {
			rest := "in " + strings.Join(IDsOf(all[i:]), ", ") + "\nthe step summary and report.html have all"
			b.WriteString(githubLine(command, "", text.Plural(len(all)-i, "more cause"), rest))
			break
		}
		title := strings.ToUpper(c.Verdict.String()) + " " + c.Who()
		b.WriteString(githubLine(command, c.File, title, strings.Join(c.Lines(), "\n")))
	}
	return b.String()
}

func githubLine(command, from, title, message string) string {
	file := ""
	if from != "" && !strings.HasPrefix(from, "builtin:") {
		file = ",file=" + text.GitHubProperty(from)
	}
	return fmt.Sprintf("::%s title=%s%s::%s\n", command, text.GitHubProperty(title), file,
		text.GitHubAnnotation(message))
}
