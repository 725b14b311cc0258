package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/spec"
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

// The search counts requests. Where each request costs several units, what answers state is divided by its
// cost, and what was found is multiplied by it. A quota that is no multiple of the cost is known to one
// request.

// stated returns the quotas that an answer in a recording states, in requests of so many units.
func stated(o *timeline.Observation, tl *timeline.Timeline, cost int64) []headers.Quota {
	return statedAt(o, tl.Header.Started.Add(o.FirstByte), cost)
}

// statedAt is stated for an answer that came at an instant.
func statedAt(o *timeline.Observation, at time.Time, cost int64) []headers.Quota {
	all, _ := headers.Quotas(o.Fields.Get, at)
	for i := range all {
		all[i].Limit, all[i].Remaining = all[i].Limit/max(cost, 1), all[i].Remaining/max(cost, 1)
	}
	return all
}

// scaled returns the limit in units, where a request costs n of them.
func scaled(l spec.Limit, n int64) spec.Limit {
	out := slices.Clone(l)
	for i := range out {
		if p := &out[i]; !p.InFlight() && n > 1 {
			p.Queue = max(p.Full()*n-1, 0)
			for _, units := range []*int64{&p.Rate.N, &p.RateTo, &p.Burst, &p.BurstTo, &p.Fill, &p.Level,
				&p.LevelTo, &p.Undelayed} {
				*units *= n
			}
			if !p.Queued() {
				p.Queue = 0
			}
		}
	}
	return out
}

// inUnits turns a result that counts requests into one that counts units, of which each request costs n.
func (r *Result) inUnits(n int64) *Result {
	if n <= 1 {
		return r
	}
	for i := range r.Timeline.Observations {
		r.Timeline.Observations[i].Cost = n
	}
	for _, list := range [][]Candidate{r.Found, r.Gone} {
		for i := range list {
			c := &list[i]
			m, by := &c.Measured, float64(n)
			m.Burst.Lo, m.Burst.Hi = m.Burst.Lo*by, m.Burst.Hi*by+by-1
			m.Rate.Lo, m.Rate.Hi = m.Rate.Lo*by, m.Rate.Hi*by
			if c.Cost = n; !c.Limit[0].HasWindow() {
				c.Least, c.Most = c.Least/time.Duration(n), c.Most/time.Duration(n)
			}
			c.Limit = scaled(c.Limit, n)
		}
	}
	return r
}

// oneCost returns what each request of a recording costs, if all cost the same, or else 1.
func oneCost(tl *timeline.Timeline) int64 {
	all := tl.Observations
	other := func(o timeline.Observation) bool { return o.Cost != all[0].Cost }
	if len(all) == 0 || slices.ContainsFunc(all, other) {
		return 1
	}
	return max(all[0].Cost, 1)
}
