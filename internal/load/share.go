package load

import (
	"context"
	"time"
)

// Share is what one of several recorders needs to know that send a schedule together, each a part of it.
type Share struct {
	Turns
	// Partitions are those of the whole schedule, in the order of their first appearance: it decides about
	// source addresses.
	Partitions []string
	// Forged is how many addresses the recorders before this one may invent.
	Forged int
}

// Turns keeps the recorders together. Phases are numbered from 0.
type Turns interface {
	// Meet returns when phase i may be prepared. False: nothing more is to be sent.
	Meet(ctx context.Context, i int) bool
	// Begin returns when phase i, which is prepared, begins: as time since start, when the recording began.
	// due is the planned end of the phase before. False: nothing more is to be sent.
	Begin(ctx context.Context, i int, start time.Time, due time.Duration) (time.Duration, bool)
	// Permit is asked before each request and does not wait. False: nothing more is to be sent.
	Permit() bool
}

// unpermitted is the note of a recorder that had to stop.
const unpermitted = "stopped: this part of the load had no leave to go on"

// meet returns when phase i may be prepared; false: nothing more is to be sent.
func (r *recorder) meet(i int) bool {
	if r.o.Share == nil || r.o.Share.Meet(r.sending, i) {
		return true
	}
	r.halt(unpermitted)
	return false
}

// beginning returns when phase i begins, which was planned for due; false: nothing more is to be sent. A
// recorder that is alone and late begins now. One of several begins with the others, and its requests are
// recorded late.
func (r *recorder) beginning(i int, due time.Duration) (time.Duration, bool) {
	if r.o.Share == nil {
		return max(due, r.clock.Now()), true
	}
	begin, ok := r.o.Share.Begin(r.sending, i, r.clock.Start, due)
	if !ok {
		r.halt(unpermitted)
	}
	return begin, ok
}

// permitted tells whether a request may be sent now.
func (r *recorder) permitted() bool { return r.o.Share == nil || r.o.Share.Permit() }
