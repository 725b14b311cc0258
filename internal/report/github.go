package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check"
)

// writeGitHub writes workflow commands, a line each, that GitHub Actions turns into annotations: an error for a failed
// scenario that counts, a warning for one that does not and for an inconclusive one, a notice with the totals
// and with what was not judged. Failures come first, since GitHub shows ten of a kind. For the step summary
// use the format markdown.
func writeGitHub(w io.Writer, r *Run, o Options) error {
	clean := plainRun(r)
	var first, then []string
	for i := range clean.Scenarios {
		s := &clean.Scenarios[i]
		switch s.Verdict {
		case check.Fail:
			command := "error"
			if !s.counts(o.Strict) {
				command = "warning"
			}
			first = append(first, githubLine(command, s, "FAIL "+s.ID, githubFailure(&r.Scenarios[i], s)))
		case check.Inconclusive:
			if s.Uncounted() { // the notice tells of it
				continue
			}
			then = append(then, githubLine("warning", s, "INCONCLUSIVE "+s.ID, githubTrouble(s)))
		}
	}
	lines := []string{verdictText(clean), countsText(clean.sum())}
	for _, n := range clean.Notes() {
		lines = append(lines, n.String())
	}
	notice := "::notice title=rlcheck::" + annotation(strings.Join(lines, "\n")) + "\n"
	_, err := io.WriteString(w, strings.Join(first, "")+strings.Join(then, "")+notice)
	return err
}

func githubLine(command string, s *Scenario, title, message string) string {
	file := ""
	if s.File != "" && !strings.HasPrefix(s.File, "builtin:") {
		file = ",file=" + property(s.File)
	}
	return fmt.Sprintf("::%s title=%s%s::%s\n", command, property(title), file, annotation(message))
}

func githubFailure(raw, s *Scenario) string {
	lines := []string{s.Title}
	for _, e := range shown(failures(raw)) {
		lines = append(lines, e.lines()...)
	}
	return strings.Join(nonEmpty(lines), "\n")
}

func githubTrouble(s *Scenario) string {
	var lines []string
	for _, t := range troubles(s) {
		lines = append(lines, t.line(), t.mend)
	}
	return strings.Join(nonEmpty(lines), "\n")
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
