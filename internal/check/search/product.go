package search

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// product is a limit of several policies that must all admit a request. The counts and times of their models
// lie side by side in one state, with one present. Where all admit, the request is charged to all. Where one
// denies, the request is charged to the policies that count denied requests. It is also charged to the
// policies with CountOwn that would have admitted it.
type product struct {
	parts []productPart
	scale int64
}

// productPart is one model of a product. counts and times are where its own counts and times begin.
type productPart struct {
	limiter.Model
	counts, times int
	// changes: a request that another policy denies may change the state of this one.
	changes bool
}

// NewProduct returns the exact model of a limit, with one phase in nanoseconds for each policy. The recording
// lies within -end .. end, in nanoseconds. lags are how long the clock of each policy may stand still; nil:
// none does. It returns nil where there is no exact model, or where its scaled times would overflow.
func NewProduct(limit spec.Limit, at []int64, costs []int64, end int64, lags []int64) limiter.Model {
	if len(limit) == 1 {
		m := limiter.NewModel(limit[0], at[0], at[0], costs)
		if m == nil || forgotBy(limit[0], end) > history.MaxTime/8/m.Traits().Scale {
			return nil
		}
		return m
	}
	p := product{scale: 1}
	for _, lag := range lags {
		end = history.Later(end, lag)
	}
	for i, pol := range limit {
		own := pol.Count == spec.CountOwn
		if own {
			pol.Count = spec.CountAdmitted
		}
		m := limiter.NewModel(pol, at[i], at[i], costs)
		if m == nil {
			return nil
		}
		if lags != nil && lags[i] > 0 {
			m = limiter.Lagging(m, lags[i])
		}
		if own {
			m = limiter.Own(m)
		}
		p.parts = append(p.parts, productPart{Model: m, changes: m.Traits().Counted || m.Traits().Created})
	}
	if !p.align(limit, end) {
		return nil
	}
	counts, times := 0, 0
	for i := range p.parts {
		part := &p.parts[i]
		one := part.Start(0)
		part.counts, part.times = counts, times
		counts, times = counts+len(one.Counts), times+one.Zone.N-limiter.FirstVariable
	}
	return p
}

// align brings all parts to one scale. false: the scaled times would overflow.
func (p *product) align(limit spec.Limit, end int64) bool {
	longest := end
	for i, part := range p.parts {
		own := part.Traits().Scale
		if p.scale = p.scale / history.Gcd(p.scale, own) * own; p.scale > history.MaxTime>>32 {
			return false
		}
		longest = max(longest, forgotBy(limit[i], end))
	}
	if longest > history.MaxTime/8/p.scale {
		return false
	}
	for i := range p.parts {
		part := &p.parts[i]
		part.Model = part.Scaled(p.scale / part.Traits().Scale)
	}
	return true
}

// forgotBy returns the instant by which nothing is remembered of a recording that ends at end, in
// nanoseconds.
func forgotBy(p spec.Policy, end int64) int64 {
	for _, d := range []time.Duration{p.Recovery(), p.LongestBan(), max(p.TTL, p.TTLTo)} {
		end = history.Later(end, 2*min(int64(d), history.MaxTime))
	}
	return end
}

func (p product) Traits() limiter.Traits {
	t := limiter.Traits{Scale: p.scale}
	for _, part := range p.parts {
		t.Counted = t.Counted || part.Traits().Counted
		t.Created = t.Created || part.Traits().Created
		t.Windowed = t.Windowed || part.Traits().Windowed
	}
	return t
}

func (p product) Scaled(k int64) limiter.Model {
	p.parts = slices.Clone(p.parts)
	p.scale *= k
	for i := range p.parts {
		p.parts[i].Model = p.parts[i].Scaled(k)
	}
	return p
}

// Start returns the states of all parts side by side. Times of different parts are not related.
func (p product) Start(begin int64) limiter.State {
	values := []int64{begin}
	var m limiter.State
	var states []limiter.State
	for _, part := range p.parts {
		s := part.Start(begin)
		states = append(states, s)
		m.Counts = append(m.Counts, s.Counts...)
		values = append(values, make([]int64, s.Zone.N-limiter.FirstVariable)...)
	}
	m.Zone = limiter.NewZone(values...)
	for a, part := range p.parts {
		for b, other := range p.parts {
			if a == b {
				m.Zone.Put(states[a].Zone, part.times)
			} else {
				m.Zone.PutBetween(states[a].Zone, part.times, states[b].Zone, other.times)
			}
		}
	}
	return m
}

// seen returns m as its part sees it: its own counts and times come first.
func (part productPart) seen(m limiter.State) limiter.State {
	m.Base, m.Zone.Skip = part.counts, part.times
	return m
}

// through applies f to every state and returns all resulting states. f sees the states as part does.
func (part productPart) through(states []limiter.State,
	f func(limiter.State) []limiter.State) []limiter.State {
	var out []limiter.State
	for _, m := range states {
		for _, after := range f(part.seen(m)) {
			after.Base, after.Zone.Skip = 0, 0
			out = append(out, after)
		}
	}
	return out
}

func (p product) Admit(m limiter.State, a limiter.Request) []limiter.State {
	states := []limiter.State{m}
	for _, part := range p.parts {
		if states = part.through(states, func(m limiter.State) []limiter.State {
			return part.Model.Admit(m, a)
		}); len(states) > limiter.OutcomeCap {
			break // the states left out may be those that the other parts admit
		}
	}
	return states
}

// Deny: at least one part denies. The states are divided by the parts that a denied request may change: in
// `denied` one of these parts denies, in `would` all of them would admit. In `would` one of the other parts
// must deny.
func (p product) Deny(m limiter.State, a limiter.Request) []limiter.State {
	denied, would := []limiter.State(nil), []limiter.State{m}
	deny := func(part productPart, states []limiter.State) []limiter.State {
		return part.through(states,
			func(m limiter.State) []limiter.State { return part.Model.Deny(m.Clone(), a) })
	}
	for _, part := range p.parts {
		if !part.changes {
			continue
		}
		now := append(deny(part, would), deny(part, denied)...)
		pass := func(m limiter.State) []limiter.State {
			// the request is not charged here, so a queue need not release it in time
			return part.Model.Pass(m, limiter.Request{Cost: a.Cost, End: history.MaxTime})
		}
		denied, would = append(now, part.through(denied, pass)...), part.through(would, pass)
		if len(denied)+len(would) > limiter.OutcomeCap {
			return append(denied, would...) // too many: see Admit
		}
	}
	for _, part := range p.parts {
		if !part.changes {
			denied = append(denied, deny(part, would)...)
		}
	}
	return denied
}

// Boundaries returns the boundaries of all parts, ascending, at most WindowCap of them.
func (p product) Boundaries(from, to int64) []int64 {
	var out []int64
	for _, part := range p.parts {
		out = append(out, part.Boundaries(from, to)...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), limiter.WindowCap)]
}

func (p product) Forget(m limiter.State, lo int64) {
	for _, part := range p.parts {
		part.Model.Forget(part.seen(m), lo)
	}
}

func (p product) Pass(m limiter.State, a limiter.Request) []limiter.State {
	return limiter.Passed(p, m, a)
}
