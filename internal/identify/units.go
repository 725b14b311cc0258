package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
