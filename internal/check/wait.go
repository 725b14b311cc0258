package check

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LongestWaits returns, by Seq, an upper bound of the wait of every denial of tl. The wait is the time from
// the decision until limit can admit a request of the same cost, if nothing else arrives. The bound holds for
// all decision times, orders and phases. Denials whose wait has no bound are absent.
func LongestWaits(tl *timeline.Timeline, limit spec.Limit) map[int]time.Duration {
	waits := map[int]time.Duration{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Outcome != timeline.Denied {
			continue
		}
		var longest time.Duration
		known := true
		for _, p := range limit {
			longest = max(longest, longestWait(p, tl.Header, o))
			known = known && (!p.Completes() || p.HoldMost > 0)
		}
		if known {
			waits[o.Seq] = longest
		}
	}
	return waits
}

// longestWait bounds the wait under one policy.
func longestWait(p spec.Policy, h timeline.Header, o *timeline.Observation) time.Duration {
	w := history.Widen(h, p.Tick, p.TickSet)
	slack := time.Duration(w.Left+w.Right) + p.LongestBan() + 2*h.Drift(max(o.FirstByte, o.Sent))
	if p.Charge == spec.ChargeCompletion { // after the last charge it is as if charged at once
		slack += p.HoldMost + p.Rate.Per
	}
	if p.Fixed() {
		return untilWindowEnds(p, h, o) + slack
	}
	return p.UntilRoom(o.Cost) + slack
}

// untilWindowEnds returns the time from the earliest decision of o to the end of its window. It is a whole
// window where that is not known.
func untilWindowEnds(p spec.Policy, h timeline.Header, o *timeline.Observation) time.Duration {
	box, shared := PhasesOf(p, h)
	if !shared || !o.Answered || p.Slots > 1 || p.Align == spec.AlignCalendar {
		return p.LongestWindow()
	}
	w := limiter.NewGrid(p, box.From, box.To)
	if w.FirstOf(int64(o.Sent)) != w.LastOf(int64(o.FirstByte)) {
		return p.LongestWindow()
	}
	return time.Duration(w.Latest(w.LastOf(int64(o.FirstByte))) - int64(o.Sent))
}
