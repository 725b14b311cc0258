package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// sided is a policy with one bound for each question: `loose` for what cannot have been admitted, the
// embedded one for what cannot have been denied.
type sided struct {
	bound
	loose bound
}

func (s sided) over(h *history) *breach { return s.loose.over(h) }

// newOwning bounds a policy that also counts what another policy denies. What was admitted was counted; what
// was denied may have been.
func newOwning(p spec.Policy, from, to int64) bound {
	loose, tight := p, p
	loose.Count, tight.Count = spec.CountAdmitted, spec.CountAll
	if p.Refreshes() { // as may what it admitted and another policy denied
		tight.Refresh = spec.RefreshAll
	}
	return sided{boundAmong(tight, from, to, true), boundAmong(loose, from, to, true)}
}

// lasting returns a limit without the times to live that change nothing: after so long a silence the policy
// is as good as new.
func lasting(limit spec.Limit) spec.Limit {
	out := limit
	for i, p := range limit {
		if p.TTL <= p.Recovery() || p.Ban > 0 || startsLow(p) || p.Refill == spec.RefillInterval {
			continue
		}
		if &out[0] == &limit[0] {
			out = slices.Clone(limit)
		}
		out[i].TTL, out[i].TTLTo = 0, 0
	}
	return out
}
