package load

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// retries is the retry policy that the clients of a backoff phase share: random waits, a budget, a circuit
// breaker.
type retries struct {
	k    *recorder
	plan timeline.Retry

	mu     sync.Mutex
	random *rand.Rand
	// left is how many retries the budget still has; negative without a budget.
	left int
	// denials counts failures in a row. Once it has reached the breaker's threshold, nobody sends before
	// closed.
	denials int
	closed  time.Duration
}

func newRetries(p *phase) *retries {
	plan := p.plan.Retry
	r := &retries{k: p.r, plan: plan, left: -1, random: rand.New(rand.NewPCG(plan.Seed, 2))}
	if plan.Budget > 0 {
		r.left = p.plan.Clients * plan.Budget / 100
	}
	return r
}

// next returns when the client of o retries, and whether it does. It does not after an admission, nor when
// the budget is used up.
func (r *retries) next(c *client, o *timeline.Observation) (due time.Duration, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Answered && o.Outcome == timeline.Allowed {
		c.failures, r.denials = 0, 0
		return 0, false
	}
	if r.left == 0 {
		return 0, false
	}
	r.left = max(-1, r.left-1)
	c.failures++
	now := r.k.clock.Now()
	due = now + r.wait(c, o)
	if r.plan.Breaker > 0 {
		due = max(due, r.breaker(now))
	}
	return max(due, 1), true
}

// wait returns how long a client waits before its next try.
func (r *retries) wait(c *client, o *timeline.Observation) time.Duration {
	told := time.Duration(0)
	_, isTold := o.Fields.Get("Retry-After")
	if isTold = isTold && o.Answered; isTold {
		told = min(r.k.told(o)+r.k.o.Tick, 2*endless)
	}
	return r.plan.Wait(c.failures, told, isTold, r.share)
}

// share returns a random part of d, between 0 and d.
func (r *retries) share(d time.Duration) time.Duration {
	return time.Duration(r.random.Int64N(int64(d) + 1))
}

// breaker counts a failure and returns the time before which nobody sends, 0 while the breaker is closed. An
// open breaker lets one client through each time it closes.
func (r *retries) breaker(now time.Duration) time.Duration {
	if r.denials++; r.denials < r.plan.Breaker {
		return 0
	}
	r.closed = max(r.closed, now) + r.plan.Open
	return r.closed
}

const (
	// backOff is how long an honoring client waits after a denial that states no wait that can be read.
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

// told returns the shortest wait that a denial states, or the time to the reset that it announces. A date is
// taken relative to the Date of the answer, or to our clock without a Date. A reset may be cut, so it is at
// least a unit of its notation. told returns backOff if no wait can be read.
func (r *recorder) told(o *timeline.Observation) time.Duration {
	answered := r.clock.Start.Add(o.FirstByte)
	date := answered
	if d, ok := o.Fields.Get("Date"); ok {
		if t, err := headers.ParseDate(d); err == nil {
			date = t
		}
	}
	least := time.Duration(math.MaxInt64)
	waits := headers.Waits(o.Fields.Get, o.Body, date)
	for _, w := range waits {
		least = min(least, w.For)
	}
	if len(waits) > 0 {
		return least
	}
	if wait, unit, ok := headers.AnnouncedReset(o.Fields.Get, answered); ok {
		return max(wait, unit)
	}
	return backOff
}
