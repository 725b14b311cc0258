package claim

import (
	"cmp"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// StaleDate is how old or how far ahead a Date may be, beyond its own second. Servers keep one for up to a
// second, and some round it up.
const StaleDate = time.Second

// Date returns the Date of an answer. ok=false: it has none that can be read.
func Date(o *timeline.Observation) (at time.Time, ok bool) {
	v, ok := o.Fields.Get("Date")
	if !ok {
		return time.Time{}, false
	}
	t, err := headers.ParseDate(v)
	return t, err == nil
}

// Wait is the wait that an answer states.
type Wait struct {
	// field is the name of its field: Retry-After, if it is empty. raw is the value as it was sent.
	field, raw string
	// For is its length, never negative. It is the largest duration if that cannot hold the wait.
	For time.Duration
	// IsDate: it is a date, which counts from the Date of the answer in whole seconds.
	IsDate bool
	// unit is the step of the notation: a second, if it is 0.
	unit time.Duration
}

// Waits returns the waits that o states: that of Retry-After, one in milliseconds, and that of a
// google.rpc.RetryInfo in its body, which has a unit. It may be empty.
func Waits(o *timeline.Observation) (out []Wait) {
	if w, ok := Told(o); ok {
		out = append(out, w)
	}
	if field, raw, w, ok := headers.MillisecondWait(o.Fields.Get); ok {
		out = append(out, Wait{field: field, raw: raw, For: w, unit: time.Millisecond})
	}
	if m := membersOf(o)["retryafter"]; m.spelled() {
		if s, ok := m.number(); ok && s >= 0 && s < 1e9 {
			out = append(out, Wait{field: m.name, raw: m.value, For: time.Duration(s * float64(time.Second))})
		}
	}
	return out
}

// Told returns the wait of a valid Retry-After, if o has one. A date without a Date beside it states no wait.
func Told(o *timeline.Observation) (Wait, bool) {
	v, ok := o.Fields.Get("Retry-After")
	if !ok {
		return Wait{}, false
	}
	ra, err := headers.ParseRetryAfter(v)
	if err != nil {
		return Wait{}, false
	}
	base, hasDate := Date(o)
	if ra.IsDate && !hasDate {
		return Wait{}, false
	}
	return Wait{raw: v, For: ra.Wait(base), IsDate: ra.IsDate}, true
}

// String prints Retry-After: 1, or for a date the wait that it means.
func (t Wait) String() string {
	if t.IsDate {
		return "Retry-After: " + text.Quote(t.raw) + ", " + Seconds(t.For, time.Second) +
			" after its Date"
	}
	return cmp.Or(t.field, "Retry-After") + ": " + t.raw
}
