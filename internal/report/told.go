package report

import (
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// told are the claims of a scenario that say more than that they hold: what each way to retry costs.
func told(s *result.Scenario) []verdict.Claim {
	var out []verdict.Claim
	for _, c := range s.Claims {
		if c.Kind == verdict.ClaimStorm && c.Verdict == verdict.Pass {
			out = append(out, c)
		}
	}
	return out
}

// told writes what a scenario tells beside its verdict.
func (s *screen) told(x *result.Scenario) error {
	if err := s.attributes(x); err != nil {
		return err
	}
	for i, c := range told(x) {
		if i == 0 {
			s.line("")
			s.line("%s", s.bold(x.ID))
		}
		s.wrapped(2, c.Kind.Of(c.ID)+": "+c.Text)
	}
	return nil
}

// told writes what scenarios tell beside their verdicts.
func (m *markdown) told(s *result.Scenario) {
	m.attributes(s)
	for i, c := range told(s) {
		if i == 0 {
			m.line("")
			m.line("%s", plain.Code(s.ID, false))
			m.line("")
		}
		m.line("- %s: %s", plain.Markdown(c.Kind.Of(c.ID)), plain.Markdown(c.Text))
	}
}
