package load

import (
	"math/rand/v2"
	"sync"
	"time"

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
