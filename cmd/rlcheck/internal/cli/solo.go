package cli

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
)

// Solo shows the progress of a scenario that is recorded alone: in one line of a terminal, or now and then in
// a separate line. A nil Solo shows nothing.
type Solo struct {
	bar   *Meter
	beat  *Heartbeat
	label string
	// ends is when the recording ends by its plan.
	ends time.Time
}

// NewSolo begins to show a recording that takes so long by its plan, and those after it. beat may be nil.
func NewSolo(e *Env, beat *Heartbeat, label string, lasts, after time.Duration) *Solo {
	return &Solo{NewMeter(e, label, lasts, after), beat, label, time.Now().Add(lasts)}
}

// Update shows how far the load is.
func (s *Solo) Update(p load.Progress) {
	if s != nil {
		s.bar.Update(p)
		s.beat.recording(time.Now(), s.label, p, time.Until(s.ends))
	}
}

// Stop ends the line.
func (s *Solo) Stop() {
	if s != nil {
		s.bar.Stop()
	}
}
