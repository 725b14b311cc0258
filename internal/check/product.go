package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// product is several limiters that must all admit a request: their counts and times side by side, with one
// present. It is charged to all where all admit; where one denies, to those that count denied requests, and
// to those with CountOwn that would have admitted it.
type product struct {
	parts []productPart
	scale int64
}

// productPart is one limiter of a product. Its counts and times come after those of the ones before.
type productPart struct {
	model
	counts, times int
	// changes: a request that another one denies may change its memory.
	changes bool
}

// newProduct returns the exact model of a limit with one phase for each policy, for recordings that end by a
// time in nanoseconds, and begin no longer before zero, or nil where there is none. lags are those of the
// clocks of several policies, nil where none lags.
func newProduct(limit spec.Limit, at []int64, costs []int64, end int64, lags []int64) model {
	if len(limit) == 1 {
		m := newModel(limit[0], at[0], at[0], costs)
		if m == nil || forgotBy(limit[0], end) > maxTime/8/m.traits().scale {
			return nil
		}
		return m
	}
	p := product{scale: 1}
	for _, lag := range lags {
		end = later(end, lag)
	}
	for i, pol := range limit {
		own := pol.Count == spec.CountOwn
		if own {
			pol.Count = spec.CountAdmitted
		}
		m := newModel(pol, at[i], at[i], costs)
		if m == nil {
			return nil
		}
		if lags != nil && lags[i] > 0 && !pol.InFlight() { // which reads no clock
			m = laggingModel{around{m}, lags[i] * m.traits().scale}
		}
		if own {
			m = ownModel{m}
		}
		p.parts = append(p.parts, productPart{model: m, changes: m.traits().counted || m.traits().created})
	}
	if !p.align(limit, end) {
		return nil
	}
	counts, times := 0, 0
	for i := range p.parts {
		part := &p.parts[i]
		one := part.start(0)
		part.counts, part.times = counts, times
		counts, times = counts+len(one.counts), times+one.zone.n-firstVariable
	}
	return p
}

// align brings all parts to one scale, and tells whether the products are small enough.
func (p *product) align(limit spec.Limit, end int64) bool {
	longest := end
	for i, part := range p.parts {
		own := part.traits().scale
		if p.scale = p.scale / gcd(p.scale, own) * own; p.scale > maxTime>>32 {
			return false
		}
		longest = max(longest, forgotBy(limit[i], end))
	}
	if longest > maxTime/8/p.scale {
		return false
	}
	for i := range p.parts {
		part := &p.parts[i]
		part.model = part.scaled(p.scale / part.traits().scale)
	}
	return true
}

// forgotBy returns by when nothing is remembered of a recording that ends by an instant.
func forgotBy(p spec.Policy, end int64) int64 {
	for _, d := range []time.Duration{p.Recovery(), p.LongestBan(), max(p.TTL, p.TTLTo)} {
		end = later(end, 2*min(int64(d), maxTime))
	}
	return end
}

func (p product) traits() traits {
	t := traits{scale: p.scale}
	for _, part := range p.parts {
		t.counted = t.counted || part.traits().counted
		t.created = t.created || part.traits().created
		t.windowed = t.windowed || part.traits().windowed
		t.eager = t.eager || part.traits().eager
	}
	return t
}

func (p product) scaled(k int64) model {
	p.parts = slices.Clone(p.parts)
	p.scale *= k
	for i := range p.parts {
		p.parts[i].model = p.parts[i].scaled(k)
	}
	return p
}

// start puts the memories of all parts together: what they remember does not depend on each other.
func (p product) start(begin int64) memoryState {
	values := []int64{begin}
	var m memoryState
	var states []memoryState
	for _, part := range p.parts {
		s := part.start(begin)
		states = append(states, s)
		m.counts = append(m.counts, s.counts...)
		values = append(values, make([]int64, s.zone.n-firstVariable)...)
	}
	m.zone = newZone(values...)
	n := m.zone.n
	for a, part := range p.parts {
		for i := range states[a].zone.n {
			for b, other := range p.parts {
				for j := range states[b].zone.n {
					c := addBounds(states[a].zone.bound(i, 0), states[b].zone.bound(0, j))
					if a == b {
						c = states[a].zone.bound(i, j)
					}
					m.zone.at[at(i, part.times)*n+at(j, other.times)] = c
				}
			}
		}
	}
	return m
}

// at returns where variable i of a model is kept that skips so many others.
func at(i, skip int) int {
	if i >= firstVariable {
		return i + skip
	}
	return i
}

// seen returns m as part sees it.
func (part productPart) seen(m memoryState) memoryState {
	m.base, m.zone.skip = part.counts, part.times
	return m
}

// through returns what becomes of all states where each goes through f.
func (part productPart) through(states []memoryState, f func(memoryState) []memoryState) []memoryState {
	var out []memoryState
	for _, m := range states {
		for _, after := range f(part.seen(m)) {
			after.base, after.zone.skip = 0, 0
			out = append(out, after)
		}
	}
	return out
}

func (p product) admit(m memoryState, a ask) []memoryState {
	states := []memoryState{m}
	for _, part := range p.parts {
		if states = part.through(states,
			func(m memoryState) []memoryState { return part.model.admit(m, a) }); len(states) > outcomeCap {
			break // those that were left out may be the ones that the others admit
		}
	}
	return states
}

// deny: at least one of the parts denies. Those that a denied request may change are divided into those that
// deny and those that would admit; if none of them denies, one of the others does.
func (p product) deny(m memoryState, a ask) []memoryState {
	denied, would := []memoryState(nil), []memoryState{m}
	deny := func(part productPart, states []memoryState) []memoryState {
		return part.through(states,
			func(m memoryState) []memoryState { return part.model.deny(m.clone(), a) })
	}
	for _, part := range p.parts {
		if !part.changes {
			continue
		}
		now := append(deny(part, would), deny(part, denied)...)
		pass := func(m memoryState) []memoryState {
			return part.model.pass(m, ask{a.cost, maxTime}) // it is not waited for
		}
		denied, would = append(now, part.through(denied, pass)...), part.through(would, pass)
		if len(denied)+len(would) > outcomeCap {
			return append(denied, would...) // too many: see admit
		}
	}
	for _, part := range p.parts {
		if !part.changes {
			denied = append(denied, deny(part, would)...)
		}
	}
	return denied
}

// boundaries returns those of all parts.
func (p product) boundaries(from, to int64) []int64 {
	var out []int64
	for _, part := range p.parts {
		out = append(out, part.boundaries(from, to)...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), windowCap)]
}

func (p product) forget(m memoryState, lo int64) {
	for _, part := range p.parts {
		part.model.forget(part.seen(m), lo)
	}
}

func (p product) pass(m memoryState, a ask) []memoryState { return passed(p, m, a) }

func (p product) complete(m memoryState, a ask) []memoryState {
	states := []memoryState{m}
	for _, part := range p.parts {
		complete := func(m memoryState) []memoryState { return part.model.complete(m, a) }
		if states = part.through(states, complete); len(states) > outcomeCap {
			break // see admit
		}
	}
	return states
}

// short: any part lacks places.
func (p product) short(m memoryState, cost int64) bool {
	return slices.ContainsFunc(p.parts, func(part productPart) bool {
		return part.model.short(part.seen(m), cost)
	})
}
