package load

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// backOff is how long an honoring client waits after a denial that says nothing.
	backOff = time.Second
	// endless is the wait after which a client of a phase without a duration is not expected back.
	endless = time.Hour
)

// wait returns when the client of o sends its next request, 0 for at once, and whether it sends one at all.
//
// An honoring client waits as long as a denial says, counted from its first byte, also when it says 0, and
// one tick of the target's clock more: a limiter that reads a coarse clock may see less than the time that
// passed, and a denial after just the wait would prove nothing.
func (k *crowd) wait(c *client, o *timeline.Observation) (due time.Duration, more bool) {
	switch {
	case k.retries != nil:
		return k.retries.next(c, o)
	case !o.Answered:
		return max(1, k.r.clock.Now()+afterLoss), true
	case !k.honor || o.Outcome == timeline.Allowed:
		return 0, true
	}
	w := k.r.told(o) + k.r.o.Tick
	if w <= 0 {
		return 0, true
	}
	return o.FirstByte + min(w, 2*endless), true
}

// told returns the wait that a denial announces: the seconds, or the time from its Date (else from our clock)
// to the announced one; backOff where it announces none that can be read.
func (r *recorder) told(o *timeline.Observation) time.Duration {
	v, ok := o.Fields.Get("Retry-After")
	if !ok {
		return backOff
	}
	ra, err := headers.ParseRetryAfter(v)
	if err != nil {
		return backOff
	}
	answered := r.clock.Start.Add(o.FirstByte)
	if d, ok := o.Fields.Get("Date"); ok {
		if t, err := headers.ParseDate(d); err == nil {
			answered = t
		}
	}
	return ra.Wait(answered)
}
