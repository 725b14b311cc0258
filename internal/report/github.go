package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// mostAnnotations is how many annotations of a kind GitHub shows of one step.
const mostAnnotations = 10

// writeGitHub writes workflow commands, a line each, that GitHub Actions turns into annotations: an error for
// each cause of failures that count, a warning for each of others and of what stayed open, a notice with the
// verdict. GitHub shows ten of a kind: the last one says how many more there are. For the step summary use
// the format markdown.
func writeGitHub(w io.Writer, r *result.Run, o Options) error {
	clean := plain.Run(r)
	var errors, warnings []cause
	for _, c := range causesOf(r, clean, o.Strict) {
		if c.verdict == verdict.Fail && c.counts {
			errors = append(errors, c)
		} else {
			warnings = append(warnings, c)
		}
	}
	lines := append([]string{headline(clean, o.Strict)}, aboutRun(clean)...)
	lines = append(lines, result.CountsText(clean.Sum()))
	for _, n := range clean.Notes() {
		lines = append(lines, n.String())
	}
	notice := "::notice title=" + plain.Property("rlcheck: "+verdictWord(clean, o.Strict)) + "::" +
		plain.Annotation(strings.Join(lines, "\n")) + "\n"
	_, err := io.WriteString(w, githubLines("error", errors)+githubLines("warning", warnings)+notice)
	return err
}

// verdictWord is the verdict on a run in capitals.
func verdictWord(r *result.Run, strict bool) string {
	return strings.ToUpper(r.Verdict(strict).String())
}

// githubLines writes a command for each cause, as many as are shown.
func githubLines(command string, all []cause) string {
	var b strings.Builder
	for i := range all {
		c := &all[i]
		if i+1 == mostAnnotations && len(all) > mostAnnotations {
			rest := "in " + strings.Join(idsOf(all[i:]), ", ") + "\nthe step summary and report.html have all"
			b.WriteString(githubLine(command, "", quantity.Plural(len(all)-i, "more cause"), rest))
			break
		}
		title := strings.ToUpper(c.verdict.String()) + " " + c.who()
		b.WriteString(githubLine(command, c.file, title, strings.Join(c.lines(), "\n")))
	}
	return b.String()
}

func githubLine(command, from, title, message string) string {
	file := ""
	if from != "" && !strings.HasPrefix(from, "builtin:") {
		file = ",file=" + plain.Property(from)
	}
	return fmt.Sprintf("::%s title=%s%s::%s\n", command, plain.Property(title), file,
		plain.Annotation(message))
}

func nonEmpty(lines []string) []string {
	out := lines[:0]
	for _, l := range lines {
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}
