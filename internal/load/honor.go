package load

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// backOff is how long an honoring client waits after a denial without a readable Retry-After.
	backOff = time.Second
	// endless is the longest wait after which a client comes back. A client with a longer wait ends.
	endless = time.Hour
)

// wait returns when the client of o sends its next request, 0 for at once, and whether it sends one at all.
//
// An honoring client waits as long as a denial says, counted from its first byte, also when it says 0. It
// adds one tick of the target's clock. A limiter with a coarse clock may see less time than has passed, so a
// denial after the bare wait would prove nothing.
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

// told returns the wait that a denial announces. A number of seconds is that wait. A date is taken relative
// to the Date of the answer, or to our clock without a Date. told returns backOff if no wait can be read.
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
