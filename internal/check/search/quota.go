package search

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// need is what fixed windows must have admitted before an instant at which one ends, in all.
type need struct{ by, least int64 }

// planned tells whether the windows of a policy are known, and each admits a quota, whatever came before.
func planned(p spec.Policy) bool {
	return p.Fixed() && p.Align != spec.AlignFirst && p.Slots <= 1 && !Counted(spec.Limit{p})
}

// planQuotas returns what the windows of a policy with a phase must have admitted at each of their ends,
// ascending: what has ended by then, and what later windows have no room for. Nil where there are more
// windows than events.
func planQuotas(h *history.History, p spec.Policy, phase int64, order []int32) []need {
	var out []need
	var forced int64
	all, per := h.All, int64(p.Slot())
	end := phase + (history.FloorDiv(all[0].Start+h.Lag-phase, per)+1)*per
	for _, i := range order {
		ev := &all[i]
		if ev.Outcome == timeline.Unknown { // taken never to have arrived
			continue
		}
		for ; end <= ev.End; end += per {
			if out = append(out, need{end, forced}); len(out) > len(all) {
				return nil
			}
		}
		if ev.Outcome == timeline.Allowed {
			forced += ev.Cost
		}
	}
	later := forced - p.Full()
	for i := len(out) - 1; i >= 0; i-- {
		out[i].least = max(out[i].least, later)
		later = out[i].least - p.Full()
	}
	return out
}
