package report

import (
	"io"

	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// acceptance is the content of the page that a release manager signs. All texts are clean; tag escapes them.
type acceptance struct {
	Run       *result.Run
	Verdict   badge
	Summary   string
	About     string
	Scenarios []accepted
}

// accepted is one scenario of an acceptance.
type accepted struct {
	*result.Scenario
	Badge  badge
	Limit  string
	Worth  []string
	Counts string
	Head   []string
	Note   string
	Steps  []acceptedStep
	Claims []claimRow
}

type acceptedStep struct {
	Badge badge
	Cells []string
}

// writeAcceptance writes one page for a release (in the form of ITU-T Y.1564): a row for each step of the
// load, the measured values, and a place to sign.
func writeAcceptance(w io.Writer, r *result.Run, o Options) error {
	clean := plain.Run(r)
	p := acceptance{Run: clean, Verdict: badgeOf(clean.Verdict(o.Strict)), Summary: evidence.Headline(clean,
		o.Strict),
		About: provenance(clean)}
	for i := range clean.Scenarios {
		s, raw := &clean.Scenarios[i], &r.Scenarios[i]
		x := accepted{Scenario: s, Badge: badgeOf(s.Verdict), Limit: limitText(s), Worth: s.Worth(),
			Counts: result.CountsText(s.Counts), Head: stepHead, Note: stepNote, Claims: claimRows(s)}
		if s.Verdict == verdict.Fail && !s.Weighs(o.Strict) {
			x.Badge.Class = verdict.Inconclusive.String()
		}
		for _, step := range stepsOf(raw) {
			x.Steps = append(x.Steps, acceptedStep{badgeOf(step.verdict(raw)), step.row(raw)})
		}
		p.Scenarios = append(p.Scenarios, x)
	}
	_, err := io.WriteString(w, string(p.markup()))
	return err
}
