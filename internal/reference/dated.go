package reference

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// dated is a limiter of calendar days or months. The limiter inside has windows of one length, on the padded
// clock of the calendar.
type dated struct {
	inside   part
	calendar spec.Calendar
}

// until returns the true time from an instant until the padded clock shows d more.
func (l dated) until(at, d time.Duration) time.Duration {
	if d == 0 || d == Never {
		return d
	}
	return l.calendar.Real(l.calendar.Padded(at)+d) - at
}

func (l dated) wait(s State, at time.Duration, cost int64) time.Duration {
	return l.until(at, l.inside.wait(s, l.calendar.Padded(at), cost))
}

func (l dated) settle(s State, at time.Duration, cost int64, allow bool) (State, time.Duration) {
	return l.inside.settle(s, l.calendar.Padded(at), cost, allow)
}

func (l dated) view(s State, at time.Duration) (int64, time.Duration) {
	remaining, reset := l.inside.view(s, l.calendar.Padded(at))
	return remaining, l.until(at, reset)
}

func (l dated) finish(s State, at time.Duration, cost int64) State {
	return l.inside.finish(s, l.calendar.Padded(at), cost)
}
