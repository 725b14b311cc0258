package claim

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
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

// Waits returns the waits that o states. It may be empty.
func Waits(o *timeline.Observation) []headers.Wait {
	at, _ := Date(o)
	return headers.Waits(o.Fields.Get, o.Body, at)
}

// Told returns the wait of a valid Retry-After, if o has one. A date without a Date beside it states no wait.
func Told(o *timeline.Observation) (headers.Wait, bool) {
	at, _ := Date(o)
	return headers.StatedWait(o.Fields.Get, at)
}

// toldBy returns the waits that o states or, if there are none, the last reset.
func toldBy(o *timeline.Observation) []headers.Wait {
	out := Waits(o)
	if len(out) == 0 {
		at, _ := Date(o)
		quotas, _ := headers.Quotas(o.Fields.Get, at)
		out = lastReset(quotas)
	}
	return out
}

// untold tells whether no denial states a wait in any way, and nobody promised Retry-After.
func (r *Recording) untold(denials []*timeline.Observation) bool {
	return LacksFields(r, result.PromiseRetryAfter) && !slices.ContainsFunc(denials, tellsOtherwise)
}

// lastReset returns the last reset that lies ahead. It is empty if no quota states one.
func lastReset(quotas []headers.Quota) []headers.Wait {
	var last headers.Wait
	for _, q := range quotas {
		if !q.HasReset || q.Reset <= 0 {
			continue
		}
		w := headers.Wait{Field: "reset (" + string(q.Dialect) + ")", Value: Seconds(q.Reset, q.Unit),
			For: q.Reset, Unit: q.Unit, Slack: q.Unit}
		if !q.Form.Relative() {
			w.Slack += time.Second + StaleDate
		}
		if add(w.For, w.Slack) > add(last.For, last.Slack) {
			last = w
		}
	}
	if last.For == 0 {
		return nil
	}
	return []headers.Wait{last}
}
