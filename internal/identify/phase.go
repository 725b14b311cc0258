package identify

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Phase is a part of an experiment: a silence, then requests one after the other.
type Phase struct {
	// Name says what the phase is to tell apart.
	Name string
	// Rest is the silence before the first request, after the last answer.
	Rest time.Duration
	// Requests are sent Every apart, until Denials are denied or Admits are admitted; 0: all are sent.
	Requests int
	Every    time.Duration
	Denials  int
	Admits   int
	// Until is when the last request is sent, since the start of the recording; 0: whenever it is due.
	Until time.Duration
	// Crowded requests do not wait for the answers to those before.
	Crowded bool
}

// over tells whether a phase ends after so many outcomes.
func (p Phase) over(admitted, denied int) bool {
	return admitted+denied >= p.Requests || p.Denials > 0 && denied >= p.Denials ||
		p.Admits > 0 && admitted >= p.Admits
}

// Sender sends a phase and returns what was seen, with times since the start of the whole recording,
// ascending by Sent. An answer that was lost is an observation too.
type Sender interface {
	// Now is the time since the start of the recording.
	Now() time.Duration
	// Wait is how long nothing is sent from now on, whatever is asked for.
	Wait() time.Duration
	// Header is what is known of the clocks.
	Header() timeline.Header
	Send(ctx context.Context, p Phase) ([]timeline.Observation, error)
}
