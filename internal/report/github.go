package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

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
