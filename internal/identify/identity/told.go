package identity

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
	denied := func(o timeline.Observation) bool { return o.Outcome == timeline.Denied }
	if len(tl.Observations) > 0 {
		add(&tl.Observations[0])
	}
	if i := slices.IndexFunc(tl.Observations, denied); i > 0 {
		add(&tl.Observations[i])
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

// ToldWindow is the window that the first denial states for a quota, or else the longest that it states; 0
// for none.
func ToldWindow(tl *timeline.Timeline, quota int64) (out time.Duration) {
	for _, q := range toldQuotas(tl) {
		if q.HasLimit && q.Limit == quota && q.Window > 0 {
			return q.Window
		}
		out = max(out, q.Window)
	}
	return out
}

// toldQuotas are the quotas that the first denial states; may be empty.
func toldQuotas(tl *timeline.Timeline) []headers.Quota {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			quotas, _ := headers.Quotas(o.Fields.Get, tl.Header.Started.Add(o.FirstByte))
			return quotas
		}
	}
	return nil
}
