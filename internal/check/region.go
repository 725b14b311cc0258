package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// region is what may be true of a limiter: a box of window phases for each policy of a limit, whose rates,
// bursts and windows may be ranges.
type region struct {
	boxes []phases
	limit spec.Limit
}

// wholeRegion returns all that a limit and a header leave open.
func wholeRegion(c *caseFile) region {
	r := region{limit: slices.Clone(c.limit)}
	for i, pol := range c.limit {
		box, _ := phasesOf(pol, c.tl.Header)
		r.boxes = append(r.boxes, box)
		if len(c.limit) == 1 { // the ranges of several are not divided
			r.limit[i] = divisible(pol)
		}
	}
	return r
}

// known tells whether all phases are one value.
func (r region) known() bool {
	return !slices.ContainsFunc(r.boxes, func(b phases) bool { return b.from != b.to })
}

// holds tells whether other is a part of r.
func (r region) holds(other region) bool {
	for i := range r.boxes {
		a, b := r.boxes[i], other.boxes[i]
		if b.from < a.from || b.to > a.to || !narrower(other.limit[i], r.limit[i]) {
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

// beside returns the union of two regions that differ in one box of phases, which lie side by side; else
// ok=false.
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
	if a.to+1 < b.from || b.to+1 < a.from {
		return r, false
	}
	return r.hull(other), true
}

// hull returns the least region that holds both.
func (r region) hull(other region) region {
	out := region{slices.Clone(r.boxes), slices.Clone(r.limit)}
	for i := range out.boxes {
		a, b := &out.boxes[i], other.boxes[i]
		a.from, a.to = min(a.from, b.from), max(a.to, b.to)
		p, q := &out.limit[i], other.limit[i]
		p.RateTo, p.Rate.N = max(p.Rate.N, p.RateTo, q.Rate.N, q.RateTo), min(p.Rate.N, q.Rate.N)
		p.BurstTo, p.Burst = max(p.Burst, p.BurstTo, q.Burst, q.BurstTo), min(p.Burst, q.Burst)
		p.PerTo, p.Rate.Per = max(p.LongestWindow(), q.LongestWindow()), min(p.Rate.Per, q.Rate.Per)
		p.BanTo, p.Ban = max(p.LongestBan(), q.LongestBan()), min(p.Ban, q.Ban)
		p.TTLTo, p.TTL = max(p.TTL, p.TTLTo, q.TTL, q.TTLTo), min(p.TTL, q.TTL)
		p.Queue = min(p.Queue, q.Queue)
		*p = settled(*p)
	}
	return out
}

// with returns r with another box of phases for policy i.
func (r region) with(i int, box phases) region {
	out := region{slices.Clone(r.boxes), r.limit}
	out.boxes[i] = box
	return out
}

// excerpt is a part of one partition's recording, before its judge.
type excerpt struct {
	c *caseFile
	p *part
	// turns are those of search, for each policy; nil where none are listed.
	turns []turns
	// exact asks for the exact search too where a region is one value. steps counts the decisions that it
	// tried.
	exact bool
	steps int
}

// refutes returns what refutes a whole region, or nil.
func (x *excerpt) refutes(r region) *breach {
	if len(r.limit) > 1 {
		return (&severalSearch{c: x.c}).bounded(x.p.histories, r.boxes)
	}
	s := x.search(r)
	one := cell{r.boxes[0], r.limit[0]}
	found, ok := s.judge(one)
	if !ok && x.exact && r.known() {
		found, ok = s.exactly(one)
	}
	if x.steps += s.steps; !ok {
		return nil
	}
	return found.breach
}

func (x *excerpt) search(r region) *search {
	s := &search{policy: r.limit[0], mode: x.c.o.Conformance, group: &group{parts: x.p.histories[:1]}}
	if len(x.turns) > 0 {
		s.turns = x.turns[0]
	}
	return s
}

// halves divides a region; ok=false where there is nothing to divide.
func (x *excerpt) halves(r region) (lower, upper region, ok bool) {
	if len(r.limit) > 1 {
		lo, hi, ok := halvesOf(r.boxes, x.turns)
		return region{lo, r.limit}, region{hi, r.limit}, ok
	}
	s := x.search(r)
	lo, hi, ok := s.halves(cell{r.boxes[0], r.limit[0]})
	return region{[]phases{lo.phases}, spec.Limit{lo.policy}},
		region{[]phases{hi.phases}, spec.Limit{hi.policy}}, ok
}

// list lists the turns inside all of the regions.
func (x *excerpt) list(all []region) {
	whole := all[0]
	for _, r := range all[1:] {
		whole = whole.hull(r)
	}
	x.turns = make([]turns, len(whole.boxes))
	for i, box := range whole.boxes {
		if pol := whole.limit[i]; box.from != box.to && pol.PerTo == 0 {
			x.turns[i] = turnsOf(x.p.histories[i:i+1], int64(pol.Slot()), box)
		}
	}
}
