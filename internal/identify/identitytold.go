package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Told is what the first answer and the first denial state about their limit. Nothing here relies on it.
func Told(tl *timeline.Timeline) []string {
	var out []string
	told := map[string]bool{} // by dialect and window
	add := func(o *timeline.Observation) {
		date := tl.Header.Started.Add(o.FirstByte)
		quotas, _ := headers.Quotas(o.Fields.Get, date)
		for _, q := range quotas {
			of := fmt.Sprint(q.Dialect, q.Window)
			if told[of] {
				continue
			}
			told[of] = true
			text := string(q.Dialect) + ":"
			if q.HasLimit {
				text += fmt.Sprintf(" limit %d", q.Limit)
			}
			if q.Window > 0 {
				text += " in " + q.Window.String()
			}
			if q.HasReset {
				text += " reset in " + q.Reset.Round(time.Second).String()
			}
			out = append(out, text)
		}
		if v, has := o.Fields.Get("Retry-After"); has {
			out = append(out, fmt.Sprintf("retry-after: %.40q", v))
		}
	}
	if len(tl.Observations) > 0 {
		add(&tl.Observations[0])
	}
	if o := firstDenied(tl); o != nil {
		add(o)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ToldWait is how long a denial asks to wait (RFC 9110 section 10.2.3). started is when the clock of o was 0.
// It reports false for other answers, and without the field.
func ToldWait(o *timeline.Observation, started time.Time) (time.Duration, bool) {
	v, has := o.Fields.Get("Retry-After")
	if !has || o.Outcome != timeline.Denied {
		return 0, false
	}
	after, err := headers.ParseRetryAfter(v)
	if err != nil {
		return 0, false
	}
	return max(0, after.Wait(started.Add(o.FirstByte))), true
}

// ToldLimit is the quota and the window that answers state for a limit of least to most units, of which quota
// is the likeliest. It is a quota that the first denial states with its window, or that of which a new client
// had used one request. After a request, a bucket (paced) is soon full, so this cannot be its quota.
// Otherwise the window is the longest that the denial states; 0 for none.
func ToldLimit(tl *timeline.Timeline, cost, least, quota, most int64, paced bool) (int64, time.Duration) {
	var longest time.Duration
	if denied := firstDenied(tl); denied != nil {
		for _, q := range stated(denied, tl, cost) {
			if q.HasLimit && q.Limit >= least && q.Limit <= most && q.Window > 0 {
				return q.Limit, q.Window
			}
			longest = max(longest, q.Window)
		}
	}
	if q, window := toldAnew(tl, cost); longest == 0 && !paced && q >= least && q <= most {
		return q, window
	}
	return quota, longest
}

// toldAnew is the quota that the first answer states, and when it is to come back, if only that request has
// used it. A window that it began is as long. The fields are in whole seconds of a clock that may be another
// second's, so it is the roundest time near it. Both are 0 for other answers.
func toldAnew(tl *timeline.Timeline, cost int64) (int64, time.Duration) {
	if len(tl.Observations) == 0 {
		return 0, 0
	}
	const off = 1500 * time.Millisecond
	o := &tl.Observations[0]
	at := tl.Header.Started.Add(o.FirstByte)
	if v, has := o.Fields.Get("Date"); has {
		if date, err := headers.ParseDate(v); err == nil {
			at = date
		}
	}
	for _, q := range statedAt(o, at, cost) {
		if q.HasLimit && q.HasRemaining && q.Remaining == q.Limit-1 && q.HasReset && q.Reset > off {
			return q.Limit, Roundest(q.Reset-off, q.Reset+off)
		}
	}
	return 0, 0
}

// firstDenied returns the first denial of a recording; nil for none.
func firstDenied(tl *timeline.Timeline) *timeline.Observation {
	for o := range tl.All() {
		if o.Outcome == timeline.Denied {
			return o
		}
	}
	return nil
}
