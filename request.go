package rlcheck

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Outcome is what became of a request.
type Outcome int

// The outcomes. Unknown is the zero value: no answer came, or one that is neither (500). The limiter may have
// admitted the request or not.
const (
	Unknown Outcome = iota
	Allowed
	Denied
)

// String returns unknown, allowed or denied.
func (o Outcome) String() string { return o.internal().String() }

func (o Outcome) internal() timeline.Outcome {
	switch o {
	case Allowed:
		return timeline.Allowed
	case Denied:
		return timeline.Denied
	default:
		return timeline.Unknown
	}
}

// Request is one request, and what its client saw of it. The limiter decided it at Sent, at Answered, or at
// some instant between them. All times come from one clock.
type Request struct {
	// Client is who asks: each client has a quota of its own. It may be empty if all share one.
	Client string
	// Sent is the time just before the request could be decided. Answered is a time by which its answer had
	// come; zero: no answer came.
	Sent, Answered time.Time
	// Done is when the answer was complete; zero: it is not known. It matters only to limits of requests in
	// flight, and to those that charge a request when it is complete.
	Done    time.Time
	Outcome Outcome
	// Status is the HTTP status of the answer. It matters only to limits that a success clears (clear=200).
	Status int
	// Cost is how many units the request takes from the quota; 0 counts as 1.
	Cost int64
}

func (r *Request) cost() int64 { return max(r.Cost, 1) }

// took is how long the request was in flight, 0 if that is not known.
func (r *Request) took() time.Duration {
	switch {
	case !r.Done.IsZero():
		return r.Done.Sub(r.Sent)
	case !r.Answered.IsZero():
		return r.Answered.Sub(r.Sent)
	default:
		return 0
	}
}

func (r *Request) flaw() error {
	switch {
	case r.Sent.IsZero():
		return errNoTime
	case r.Cost < 0:
		return errCost
	case !r.Answered.IsZero() && r.Answered.Before(r.Sent), !r.Done.IsZero() && r.Done.Before(r.Answered):
		return errBackward
	}
	return nil
}

// observation returns what the judge knows of request i. first is when the recording began.
func (r *Request) observation(i int, first time.Time) timeline.Observation {
	o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Partition: r.Client, Cost: r.cost()},
		Sent: r.Sent.Sub(first), Outcome: timeline.Unknown}
	o.At = o.Sent
	if !r.Answered.IsZero() {
		o.Answered, o.FirstByte, o.Outcome = true, r.Answered.Sub(first), r.Outcome.internal()
		o.Status = r.Status
	}
	if !r.Done.IsZero() {
		o.Done = r.Done.Sub(first)
	}
	return o
}
