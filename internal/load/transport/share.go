package transport

import (
	"context"
	"time"
)

// Share is what a recorder needs to know if several send a schedule together, each a part of it.
type Share struct {
	Turns
	// Partitions are those of the whole schedule, in the order of their first appearance. That order decides
	// the source addresses.
	Partitions []string
	// Forged is how many addresses the recorders before this one may invent.
	Forged int
}

// Turns keeps the recorders in step. Phases are numbered from 0.
type Turns interface {
	// Meet waits until phase i may be prepared. It reports false if nothing more is to be sent.
	Meet(ctx context.Context, i int) bool
	// Begin returns when phase i, which is prepared, begins, as time since start. start is when the recording
	// began, due the planned end of the phase before. It reports false if nothing more is to be sent.
	Begin(ctx context.Context, i int, start time.Time, due time.Duration) (time.Duration, bool)
	// Permit is asked before each request and does not wait. It reports false if nothing more is to be sent.
	Permit() bool
}

// Unpermitted is the note of a recorder that had to stop.
const Unpermitted = "stopped: this part of the load was not permitted to go on"

// Permitted tells whether a request may be sent now. One of several recorders asks before each request.
func (o *Options) Permitted() bool { return o.Share == nil || o.Share.Permit() }
