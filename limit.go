package rlcheck

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Limit is a rate limit as its owner declares it: one policy, or several that hold together. [ParseLimit]
// makes one. The zero value limits nothing, and nothing can be judged by it. A Limit is never changed, so
// goroutines may share it.
type Limit struct {
	text string
	// kinds has one limit, or those of which one must explain a recording.
	kinds []spec.Limit
}

// ParseLimit reads a SPEC. Its forms are
//
//	token-bucket,rate=10/s,burst=20             ALGORITHM,key=value,...
//	fixed-window,rate=100/1m + gcra,rate=5/s,burst=5    all of them hold
//	nginx:rate=10r/s,burst=20,nodelay           the configuration of a product
//	any:rate=100/1m                             at least one kind of limit explains the recording
//
// The algorithms are token-bucket, gcra, leaky-bucket, leaky-bucket-queue, fixed-window, sliding-window-log,
// sliding-window-counter and concurrency. With any, buckets have a burst of as many units as the rate, unless
// a burst follows: any:rate=100/1m,burst=20. docs/limit.md has all keys. The error names every mistake, its
// column and a mend.
func ParseLimit(spec string) (Limit, error) {
	kinds, err := parse(spec)
	if err != nil {
		return Limit{}, fmt.Errorf("rlcheck: %w", err)
	}
	l := Limit{text: spec, kinds: kinds}
	if len(kinds) == 1 {
		l.text = kinds[0].String()
	}
	return l, nil
}

func parse(text string) ([]spec.Limit, error) {
	if kinds, is, err := spec.Any(text); is {
		return kinds, err
	}
	one, err := spec.Parse(text)
	if err != nil {
		return nil, err
	}
	_, err = reference.NewLimit(one)
	return []spec.Limit{one}, err
}

// String returns the SPEC in its canonical form, which [ParseLimit] reads. It is empty for the zero value.
func (l Limit) String() string { return l.text }

// Decision is what a right limiter specifies for one request.
type Decision struct {
	// Allow: the request is admitted, after Delay. Only a queue delays.
	Allow bool
	Delay time.Duration
	// Remaining is how many requests of one unit would be admitted right after this one.
	Remaining int64
	// RetryAfter is the exact time until a request of this cost would be admitted if nothing else came,
	// rounded up to the nanosecond. It is 0 for an admitted request, and [Never] if no wait is long enough.
	RetryAfter time.Duration
	// Reset is the time until the client is as good as new if nothing else comes: until a bucket is full, or
	// the window ends. It is Never while requests are in flight under a limit of these.
	Reset time.Duration
}

// Never is the RetryAfter of a request that costs more than the limit ever admits.
const Never = reference.Never

// Decide returns what a right limiter decides for each request, in the order of requests. It decides each at
// the instant Sent; of those that were sent together, the first of the slice comes first. Only the Client,
// Sent and Cost count, and for limits of requests in flight the times until Done or else Answered. A limiter
// with aligned windows begins them where the clock of Sent says.
//
// It returns an error for a limit of the form any: or with a range, as these are not one limiter.
func (l Limit) Decide(requests []Request) ([]Decision, error) {
	if len(l.kinds) != 1 {
		return nil, fmt.Errorf("rlcheck: limit %q: it is not one limiter that could decide (choose an "+
			"algorithm)", l.text)
	}
	if len(requests) == 0 {
		return nil, nil
	}
	order := inOrder(requests)
	first := requests[order[0]].Sent
	one, err := reference.NewSimulation(l.kinds[0], first, 0)
	if err != nil {
		return nil, fmt.Errorf("rlcheck: %w", err)
	}
	out := make([]Decision, len(requests))
	for _, i := range order {
		r := &requests[i]
		if err := r.flaw(); err != nil {
			return nil, fmt.Errorf("rlcheck: request %d: %w", i, err)
		}
		d := one.DecideFor(r.Client, r.Sent.Sub(first), r.cost(), r.took())
		out[i] = Decision(d)
	}
	return out, nil
}

// inOrder returns the indices of requests by the time they were sent, those of equal times as they stand.
func inOrder(requests []Request) []int {
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return requests[a].Sent.Compare(requests[b].Sent)
	})
	return order
}

var (
	errNoTime   = errors.New("it was sent at the zero time (set Sent just before the request leaves)")
	errBackward = errors.New("it was answered before it was sent (take both times from one clock)")
	errCost     = errors.New("its cost is negative")
)
