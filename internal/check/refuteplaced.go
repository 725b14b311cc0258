package check

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// RefutePlaced judges h under a policy whose windows requests place. tried is the work of exact searches, at
// most `most` if that is not 0. ok=false: h is not refuted.
func RefutePlaced(h *history.History, pol spec.Policy, mode result.Conformance,
	most int) (found []Refutation, tried int,
	ok bool) {
	if !limiter.Anchored(pol) {
		s := &PhaseSearch{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{h}}, Rough: true,
			Each: most}
		found, ok = s.Refute(history.Interval{})
		return found, s.Tried(), ok
	}
	for _, br := range RefuteAnchored(h, pol, mode, 0).Found {
		found = append(found, Refutation{Breach: br})
	}
	if len(found) > 0 || limiter.Ranged(pol) || mode != "" && mode != result.Exact {
		return found, 0, len(found) > 0
	}
	r, tried, _ := searched(h, Cell{Policy: pol}, most)
	if r == nil {
		return nil, tried, false
	}
	return []Refutation{*r}, tried, true
}
