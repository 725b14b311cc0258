package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// timeFaults take the time at the wrong moment, or read it at different times.
var timeFaults = []Fault{
	{Name: "time-before-lock", fits: unticked, limiter: wrong.Bucket{}.Serve,
		decider: func(b Setup) Decider { return overtaken(b, staleBy) }},
	{Name: "reset-of-next-window", fits: wholeSeconds, answer: tellNextReset},
}

// staleBy is how old the times of the fault time-before-lock may be.
const staleBy = 20 * time.Millisecond

// unticked demands such a bucket of ten a second, whose clock ticks more often than the fault is late.
func unticked(l spec.Limit) string {
	if why := wrong.QuickBucket(10)(l); why != "" || l[0].Tick < staleBy {
		return why
	}
	return "a clock with such ticks hides that a time is old (declare it without tick)"
}

// wholeSeconds demands one fixed window by the clock that a field in whole seconds tells from the next one.
func wholeSeconds(l spec.Limit) string {
	if why := wrong.ClockWindow(l); why != "" || l[0].Rate.Per >= time.Second {
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
