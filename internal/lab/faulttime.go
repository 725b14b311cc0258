package lab

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// timeFaults take the time at the wrong moment, or read it at different times.
var timeFaults = []Fault{
	{Name: "time-before-lock", fits: unticked, limiter: wrongBucket{}.serve,
		decider: func(b Setup) Decider { return NewOvertaken(b, staleBy) }},
	{Name: "ticks-lost", fits: quickBucket(10), limiter: ticking},
	{Name: "count-outlives-window", fits: clockWindow, limiter: outlived},
	{Name: "reset-of-next-window", fits: wholeSeconds, answer: tellNextReset},
}

// staleBy is how old the times of the fault time-before-lock may be.
const staleBy = 20 * time.Millisecond

// quickBucket demands a bucket that gives back so many units a second: what a slower one loses or gains is
// less than a unit for too long.
func quickBucket(each int64) func(spec.Limit) string {
	return func(l spec.Limit) string {
		if why := oneBucket(l); why != "" {
			return why
		}
		if l[0].Rate.Less(spec.Rate{N: each, Per: time.Second}) {
			return fmt.Sprintf("a bucket slower than %d/s hides parts of a second (declare another)", each)
		}
		return ""
	}
}

// unticked demands such a bucket of ten a second, whose clock ticks more often than the fault is late.
func unticked(l spec.Limit) string {
	if why := quickBucket(10)(l); why != "" || l[0].Tick < staleBy {
		return why
	}
	return "a clock with such ticks hides that a time is old (declare it without tick)"
}

// clockWindow demands one fixed window that begins by the clock.
func clockWindow(l spec.Limit) string {
	if len(l) == 1 && l[0].Fixed() && (l[0].Align == "" || l[0].Align == spec.AlignClock) &&
		l[0].Ban == 0 && l[0].Tick == 0 {
		return ""
	}
	return "it needs one fixed-window aligned to the clock, without ban and tick"
}

// wholeSeconds demands one fixed window by the clock that a field in whole seconds tells from the next one.
func wholeSeconds(l spec.Limit) string {
	if why := clockWindow(l); why != "" || l[0].Rate.Per >= time.Second {
		return why
	}
	return "windows under a second hide which of them a field in whole seconds means (declare a longer one)"
}

// toldLater is how much later the fault reset-of-next-window reads its clock again.
const toldLater = 100 * time.Millisecond

// tellNextReset states the end of the next window if that of the decision ends before the fields are made.
func tellNextReset(a *answer) {
	rest, window := a.ruling.Reset, a.target.facts.window
	if rest > toldLater || rest <= 0 {
		return
	}
	a.setQuota(a.ruling.Remaining, rest+window)
	if len(a.header["Retry-After"]) > 0 {
		a.setRetryAfter(rest + window)
	}
}
