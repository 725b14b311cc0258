package headers

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Wait is a wait that a denial states.
type Wait struct {
	// Field is the name of its field, or of the member of a body. Value is the value as it was sent.
	Field, Value string
	// For is its length, never negative. It is the largest duration if that cannot hold the wait.
	For time.Duration
	// IsDate: it is a date, which counts from the Date of the answer in whole seconds.
	IsDate bool
	// Unit is the step of the notation.
	Unit time.Duration
	// Loose: its number has no unit, and may count milliseconds.
	Loose bool
	// Slack is by how much later a reset may mean, which may be cut. 0: it is no reset.
	Slack time.Duration
}

// Waits returns the waits that a denial states: that of Retry-After, one in milliseconds, and that of a
// google.rpc.RetryInfo in its body, which has a unit. A number without a unit in the body counts if nothing
// else states a wait. It may be empty. get is that of Quotas. date is the Date of the answer: without one, a
// date states no wait.
func Waits(get func(name string) (string, bool), body string, date time.Time) (out []Wait) {
	if w, ok := StatedWait(get, date); ok {
		out = append(out, w)
	}
	if field, value, w, ok := MillisecondWait(get); ok {
		out = append(out, Wait{Field: field, Value: value, For: w, Unit: millisecondStep(w)})
	}
	members, stated := Members(body), len(out)
	for _, name := range BodyWaits {
		m, has := members[name]
		s, ok := m.Number()
		if !has || !m.Spelled() && stated > 0 || !ok || s < 0 || s >= 1e9 {
			continue
		}
		w := Wait{Field: m.Name, Value: m.Value, For: time.Duration(s * float64(time.Second)),
			Unit: time.Second, Loose: !m.InSeconds()}
		if m.unit() == time.Millisecond {
			w.Unit = millisecondStep(w.For)
		}
		out = append(out, w)
	}
	return out
}

// millisecondStep returns the step of a wait in milliseconds. Whole seconds may be rounded up.
func millisecondStep(w time.Duration) time.Duration {
	if w%time.Second == 0 {
		return time.Second
	}
	return time.Millisecond
}

// StatedWait returns the wait of a valid Retry-After, if there is one.
func StatedWait(get func(name string) (string, bool), date time.Time) (Wait, bool) {
	v, ok := get("Retry-After")
	if !ok {
		return Wait{}, false
	}
	ra, err := ParseRetryAfter(v)
	if err != nil || ra.IsDate && date.IsZero() {
		return Wait{}, false
	}
	return Wait{Field: "Retry-After", Value: v, For: ra.Wait(date), IsDate: ra.IsDate,
		Unit: time.Second}, true
}

// String prints Retry-After: 1, or for a date the wait that it means.
func (w Wait) String() string {
	if w.IsDate {
		return fmt.Sprintf("%s: %s, %d.000 s after its Date", w.Field, text.Quote(w.Value), w.For/time.Second)
	}
	return w.Field + ": " + w.Value
}
