package search

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// due says that at least so much must be admitted in all no later than an instant, so that what is admitted
// after it still ends in time.
type due struct{ by, least int64 }

// planned tells whether a policy admits a quota in each of its windows, whatever was denied, and these are
// known or opened by requests. A counter weighs two of them: there, what is due depends on what was admitted.
func planned(p spec.Policy) bool {
	return p.HasWindow() && !p.Weighs() && !p.Refreshes() && !Counted(spec.Limit{p})
}

// planDue returns by when admissions are due under a policy with a phase, ascending by time and in what is
// due. The admissions that have begun go in the order of their ends. One of them and the first after it that
// exceeds a quota with it and those between are not in one window, which leaves a latest instant of the one
// (`before`), given that of the other. So it goes from the last admission to the first.
//
// Where requests open windows, an admission is due only if it opens one; see keepBack.
func planDue(h *history.History, p spec.Policy, phase int64, order []int32) []due {
	var out []due
	var volume int64
	for _, i := range order {
		if ev := &h.All[i]; ev.Outcome == timeline.Allowed {
			out = append(out, due{ev.End, volume + 1})
			volume += ev.Cost
		}
	}
	next := len(out) // the first admission that exceeds a quota with i and those between, and one before
	for i := len(out) - 1; i >= 0; i-- {
		for next > 0 && volume-out[i].least+1 > p.Full() {
			next--
			volume = out[next].least - 1
		}
		if next < len(out) {
			out[i].by = min(out[i].by, before(p, phase, out[next].by))
		}
	}
	return out
}

// before returns the latest instant that is in no window of a policy together with another instant.
func before(p spec.Policy, phase, at int64) int64 {
	if !p.Windowed() || p.Align == spec.AlignFirst {
		at -= int64(p.Rate.Per)
		if p.Boundary == spec.Closed {
			at--
		}
		return at
	}
	slot := int64(p.Slot())
	return phase + (history.FloorDiv(at-phase, slot)-max(p.Slots, 1)+1)*slot - 1
}
