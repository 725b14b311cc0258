package claim

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// longestWaits returns an upper bound on the true wait at each denial, each under its own limit.
func (r *Recording) longestWaits(longest LongestWaits) map[int]time.Duration {
	waits := map[int]time.Duration{}
	for _, limit := range r.Limits() {
		if len(limit) == 0 {
			continue
		}
		all := longest(r.Timeline, limit, r.Shared)
		for i := range r.Observations {
			o := &r.Observations[i]
			if wait, ok := all[o.Seq]; ok && slices.Equal(r.LimitOf(o), limit) {
				waits[o.Seq] = wait
			}
		}
	}
	return waits
}

// LongestWait returns an upper bound on the true wait at a denial. ok=false: none is known.
func (r *Recording) LongestWait(d *timeline.Observation) (wait time.Duration, ok bool) {
	wait, ok = r.waits()[d.Seq]
	return wait, ok && wait != reference.Never
}

// LongestNeed returns the longest wait that d may state in the notation of t: the longest true wait, longer
// by the declared Spread and rounded up to whole units, and two seconds more for a date. A denial always
// waits for something, so it is at least one unit. ok=false: no wait is known to be long enough.
func (r *Recording) LongestNeed(d *timeline.Observation, t headers.Wait) (need time.Duration, ok bool) {
	wait, ok := r.LongestWait(d)
	if !ok {
		return 0, false
	}
	if wait = longer(wait, r.RetryAfter.Spread); wait == reference.Never {
		return 0, false
	}
	unit := cmp.Or(t.Unit, time.Second)
	need = max(unit, add(wait, unit-1).Truncate(unit))
	if t.IsDate {
		need = add(need, time.Second+StaleDate)
	}
	return need, true
}

// longer returns a wait that is longer by a share of itself.
func longer(wait time.Duration, share float64) time.Duration {
	more := float64(wait) * share
	if more >= float64(reference.Never-wait) {
		return reference.Never
	}
	return wait + time.Duration(more)
}

// add returns a + b, or the largest duration if that overflows. Neither may be negative.
func add(a, b time.Duration) time.Duration {
	if a > reference.Never-b {
		return reference.Never
	}
	return a + b
}
