package claim

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/claim/phrase"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// date returns the Date of an answer.
func date(o *timeline.Observation) (time.Time, bool) {
	v, ok := o.Fields.Get("Date")
	if !ok {
		return time.Time{}, false
	}
	t, err := headers.ParseDate(v)
	return t, err == nil
}

// toldWait is the wait that an answer tells its client.
type toldWait struct {
	// raw is the value as it came.
	raw  string
	wait time.Duration
	// isDate tells the date form, which counts from the Date of the answer in whole seconds.
	isDate bool
}

// told returns the wait of a valid Retry-After. A date without a Date beside it tells no wait.
func told(o *timeline.Observation) (toldWait, bool) {
	v, ok := o.Fields.Get("Retry-After")
	if !ok {
		return toldWait{}, false
	}
	ra, err := headers.ParseRetryAfter(v)
	if err != nil {
		return toldWait{}, false
	}
	base, hasDate := date(o)
	if ra.IsDate && !hasDate {
		return toldWait{}, false
	}
	return toldWait{raw: v, wait: ra.Wait(base), isDate: ra.IsDate}, true
}

// String writes Retry-After: 1, or for a date the wait that it means.
func (t toldWait) String() string {
	if t.isDate {
		return "Retry-After: " + phrase.Quote(t.raw) + ", " + phrase.Seconds(t.wait, time.Second) +
			" after its Date"
	}
	return "Retry-After: " + t.raw
}
