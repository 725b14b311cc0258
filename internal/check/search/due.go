package search

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// due demands that at least `least` units, counted from the start of the history, are admitted by the instant
// `by`. Otherwise the later admissions cannot end in time.
type due struct{ by, least int64 }

// planned tells whether planDue applies to a policy. It applies to windows that each admit a quota, whatever
// was denied, and whose starts are known or set by requests. It does not apply to a sliding counter: how much
// its next window admits depends on what this window admitted.
func planned(p spec.Policy) bool {
	return p.HasWindow() && !p.Weighs() && !p.Refreshes() && !Counted(spec.Limit{p})
}

// planDue returns by when admissions are due under a policy with a known phase, in nanoseconds. The list
// ascends in both fields. The admissions are taken in the order of their ends:
//
//	quota 3      a1  a2  a3  a4  a5        a1..a4 exceed the quota: a1 and a4 are not in one window
//	             |___________|
//
// Let j be the first admission for which i..j together exceed the quota. Then i and j are in different
// windows, so i must be decided before the window of j begins. Given the latest instant of j, that is the
// latest instant of i (function before). So the plan is made from the last admission to the first.
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
	next := len(out) // the first admission that exceeds the quota together with i and those between, plus one
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

// before returns the latest instant that shares no window with the instant at.
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
