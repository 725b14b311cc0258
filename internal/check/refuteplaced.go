package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// refutePlaced judges h under a policy that requests place.
func refutePlaced(h *history, pol spec.Policy, mode verdict.Conformance, most int) (found []refutation, tried int,
	ok bool) {
	if !anchored(pol) {
		s := &search{policy: pol, mode: mode, group: &group{parts: []*history{h}}, rough: true, each: most}
		found, ok = s.refute(phases{})
		return found, s.tried(), ok
	}
	for _, br := range refuteAnchored(h, pol, mode, 0).found {
		found = append(found, refutation{breach: br})
	}
	if len(found) > 0 || ranged(pol) || mode != "" && mode != verdict.Exact {
		return found, 0, len(found) > 0
	}
	r, tried, _ := searched(h, cell{policy: pol}, most)
	if r == nil {
		return nil, tried, false
	}
	return []refutation{*r}, tried, true
}
