package pieces

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// region is a set of limiters: a box of window phases for each policy of a limit, whose rates, bursts and
// windows may be ranges.
type region struct {
	boxes []history.Interval
	limit spec.Limit
}

// wholeRegion returns everything that a limit and a header leave open.
func wholeRegion(c *judge.Case) region {
	r := region{limit: slices.Clone(c.Limit)}
	for i, pol := range c.Limit {
		box, _ := phases.Of(pol, c.Tl.Header)
		r.boxes = append(r.boxes, box)
		if len(c.Limit) == 1 { // the ranges of several policies are not divided
			r.limit[i] = limiter.Divisible(pol)
		}
	}
	return r
}

// Known tells whether every phase is one value.
func (r region) Known() bool {
	return !slices.ContainsFunc(r.boxes, func(b history.Interval) bool { return b.From != b.To })
}

// holds tells whether other is a part of r.
func (r region) holds(other region) bool {
	for i := range r.boxes {
		a, b := r.boxes[i], other.boxes[i]
		if b.From < a.From || b.To > a.To || !narrower(other.limit[i], r.limit[i]) {
			return false
		}
	}
	return true
}

// narrower tells whether the ranges of p lie inside those of q.
func narrower(p, q spec.Policy) bool {
	return p.Rate.N >= q.Rate.N && max(p.Rate.N, p.RateTo) <= max(q.Rate.N, q.RateTo) &&
		p.Burst >= q.Burst && max(p.Burst, p.BurstTo) <= max(q.Burst, q.BurstTo) &&
		p.Rate.Per >= q.Rate.Per && p.LongestWindow() <= q.LongestWindow() &&
		p.Ban >= q.Ban && p.LongestBan() <= q.LongestBan() && p.TTL >= q.TTL &&
		max(p.TTL, p.TTLTo) <= max(q.TTL, q.TTLTo)
}

// beside returns the union of two regions that differ in one box of phases at most, where these two boxes
// touch. ok=false: they do not.
func (r region) beside(other region) (both region, ok bool) {
	at := -1
	for i := range r.boxes {
		if r.limit[i] != other.limit[i] {
			return r, false
		}
		if r.boxes[i] == other.boxes[i] {
			continue
		}
		if at >= 0 {
			return r, false
		}
		at = i
	}
	if at < 0 {
		return r, true
	}
	a, b := r.boxes[at], other.boxes[at]
	if a.To+1 < b.From || b.To+1 < a.From {
		return r, false
	}
	return r.hull(other), true
}

// hull returns the least region that holds both.
func (r region) hull(other region) region {
	out := region{slices.Clone(r.boxes), slices.Clone(r.limit)}
	for i := range out.boxes {
		a, b := &out.boxes[i], other.boxes[i]
		a.From, a.To = min(a.From, b.From), max(a.To, b.To)
		p, q := &out.limit[i], other.limit[i]
		p.RateTo, p.Rate.N = max(p.Rate.N, p.RateTo, q.Rate.N, q.RateTo), min(p.Rate.N, q.Rate.N)
		p.BurstTo, p.Burst = max(p.Burst, p.BurstTo, q.Burst, q.BurstTo), min(p.Burst, q.Burst)
		p.PerTo, p.Rate.Per = max(p.LongestWindow(), q.LongestWindow()), min(p.Rate.Per, q.Rate.Per)
		p.BanTo, p.Ban = max(p.LongestBan(), q.LongestBan()), min(p.Ban, q.Ban)
		p.TTLTo, p.TTL = max(p.TTL, p.TTLTo, q.TTL, q.TTLTo), min(p.TTL, q.TTL)
		p.Queue = min(p.Queue, q.Queue)
		*p = limiter.Settled(*p)
	}
	return out
}

// with returns r with another box of phases for policy i.
func (r region) with(i int, box history.Interval) region {
	out := region{slices.Clone(r.boxes), r.limit}
	out.boxes[i] = box
	return out
}

// excerpt is a part of one partition's recording that is to be judged.
type excerpt struct {
	c *judge.Case
	p *judge.Part
	// turns are the breakpoints of each policy's phase. nil: none are listed.
	turns []phases.Breakpoints
	// exact asks for the exact search too if a region is one value. steps counts the decisions that it tried.
	exact bool
	steps int
}

// refutes returns what refutes a whole region, or nil.
func (x *excerpt) refutes(r region) *limiter.Breach {
	if len(r.limit) > 1 {
		return (&judge.SeveralSearch{C: x.c}).Bounded(x.p.Histories, r.boxes)
	}
	s := x.search(r)
	one := phases.Cell{Interval: r.boxes[0], Policy: r.limit[0]}
	found, ok := s.Judge(one)
	if !ok && x.exact && r.Known() {
		found, ok = s.Exactly(one)
	}
	if x.steps += s.Steps; !ok {
		return nil
	}
	return found.Breach
}

func (x *excerpt) search(r region) *phases.Search {
	s := &phases.Search{Policy: r.limit[0], Mode: x.c.O.Conformance,
		Group: &phases.Group{Parts: x.p.Histories[:1]}}
	if len(x.turns) > 0 {
		s.Breakpoints = x.turns[0]
	}
	return s
}

// halves divides a region. ok=false: there is nothing to divide.
func (x *excerpt) halves(r region) (lower, upper region, ok bool) {
	if len(r.limit) > 1 {
		lo, hi, ok := judge.HalvesOf(r.boxes, x.turns)
		return region{lo, r.limit}, region{hi, r.limit}, ok
	}
	s := x.search(r)
	lo, hi, ok := s.Halves(phases.Cell{Interval: r.boxes[0], Policy: r.limit[0]})
	return region{[]history.Interval{lo.Interval}, spec.Limit{lo.Policy}},
		region{[]history.Interval{hi.Interval}, spec.Limit{hi.Policy}}, ok
}

// list lists the breakpoints of the phases in all of the regions. They are not empty.
func (x *excerpt) list(all []region) {
	whole := all[0]
	for _, r := range all[1:] {
		whole = whole.hull(r)
	}
	x.turns = make([]phases.Breakpoints, len(whole.boxes))
	for i, box := range whole.boxes {
		if pol := whole.limit[i]; box.From != box.To && pol.PerTo == 0 {
			x.turns[i] = phases.BreakpointsOf(x.p.Histories[i:i+1], int64(pol.Slot()), box)
		}
	}
}
