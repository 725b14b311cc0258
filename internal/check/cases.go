package check

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// cases refutes a history of a policy that is told of completions where its bounds refute it in every case: it divides the
// interval of a decision, or of a completion, asks the bounds of both halves, and so on. What is between two halves lies in
// neither: times are whole. The bounds alone ask each request by itself, and miss what contradicts itself only together:
// a denial that needs a place to be held so long, and an admission that needs it to be free before.
type cases struct {
	b bound
	stay
	// left is how many cases may still be judged.
	left int
}

// The most requests of a history that is divided into cases, of one without a denial, which seldom gains by it, and the most
// cases.
const (
	mostDivided  = 64
	mostAdmitted = 16
	mostCases    = 600
)

// divided asks each part of the group in cases.
func (s *search) divided(b bound) (refutation, bool) {
	for i, h := range s.group.parts {
		if len(h.all) > mostDivided || len(h.denied) == 0 && len(h.all) > mostAdmitted || s.steps > stepBudget {
			continue
		}
		c := &cases{b: b, stay: stayOf(s.policy), left: mostCases}
		refuted := c.refuted(h)
		s.steps += mostCases - c.left
		if refuted {
			br := &breach{kind: NoExplanation, seen: int64(len(h.all)), bound: int64(len(h.all)) - 1, events: h.all, span: spanOf(h.all)}
			return refutation{i, br}, true
		}
		s.capped = s.capped || c.left == 0
	}
	return refutation{}, false
}

// refuted tells whether the bounds refute h in every case.
func (c *cases) refuted(h *history) bool {
	if c.left == 0 {
		return false
	}
	c.left--
	if judgeOne(h, c.b, Exact) != nil {
		return true
	}
	if at, ok := c.choose(h); ok {
		return c.half(h, at, true) && c.half(h, at, false)
	}
	return c.either(h)
}

// either judges the first request whose outcome is not known as one that was admitted, and as one that was not, which is as
// if it had never come.
func (c *cases) either(h *history) bool {
	i := slices.IndexFunc(h.all, func(ev event) bool { return ev.outcome == timeline.Unknown })
	if i < 0 {
		return false
	}
	admitted := slices.Clone(h.all)
	admitted[i].outcome = timeline.Allowed
	return c.refuted(historyOf(slices.Delete(slices.Clone(h.all), i, i+1))) && c.refuted(historyOf(admitted))
}

// cut is where an interval of event index is divided: behind x.
type cut struct {
	index      int
	completion bool
	x          int64
}

// half judges one half of a case; one that is empty is refuted.
func (c *cases) half(h *history, at cut, lower bool) bool {
	all := slices.Clone(h.all)
	ev := &all[at.index]
	switch {
	case at.completion && lower:
		ev.until = at.x
	case at.completion:
		ev.since = at.x + 1
	case lower:
		ev.e = at.x
	default:
		ev.s = at.x + 1
	}
	if ev.outcome == timeline.Allowed {
		ev.e = min(ev.e, ev.until-ev.least)
		ev.since = max(ev.since, ev.s+ev.least)
		if c.most < maxTime && !ev.late {
			ev.s, ev.until = max(ev.s, ev.since-c.most), min(ev.until, ev.e+c.most)
		}
	}
	if ev.s > ev.e || ev.outcome == timeline.Allowed && ev.since > ev.until {
		return true
	}
	return c.refuted(historyOf(all))
}

// choose returns where to divide: the interval in which the most others begin or end, in the middle of these.
func (c *cases) choose(h *history) (best cut, ok bool) {
	most := 0
	for i, ev := range h.all {
		if ev.outcome == timeline.Unknown {
			continue
		}
		if inside := c.marks(h, i, ev.s, ev.e); len(inside) > most {
			most, best = len(inside), cut{i, false, inside[len(inside)/2]}
		}
		if ev.outcome != timeline.Allowed {
			continue
		}
		if inside := c.marks(h, i, ev.since, ev.until); len(inside) > most {
			most, best = len(inside), cut{i, true, inside[len(inside)/2]}
		}
	}
	return best, most > 0
}

// marks returns the instants from lo until before hi, ascending, behind which the order with another event changes, or that
// with the beginning of a window or the time at which a log forgets.
func (c *cases) marks(h *history, own int, lo, hi int64) []int64 {
	var out []int64
	forgets := int64(0)
	add := func(x int64) {
		for _, x := range [...]int64{x, x + forgets, x - forgets} {
			for _, x := range [...]int64{x - 1, x} {
				if lo <= x && x < hi {
					out = append(out, x)
				}
			}
		}
	}
	if b, ok := c.b.(charged); ok {
		switch b := b.bound.(type) {
		case windowLog:
			forgets = b.window
		case fixed:
			out = append(out, b.edgesIn(lo, hi)...)
		case counter:
			out = append(out, b.edgesIn(lo, hi)...)
		}
	}
	for i, ev := range h.all {
		if i == own {
			continue
		}
		for _, x := range [...]int64{ev.s, ev.e} {
			add(x)
		}
		if ev.outcome == timeline.Allowed {
			for _, x := range [...]int64{ev.since, ev.until} {
				add(x)
			}
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return slices.Compact(out)
}

// edgesIn returns the last instants before windows that begin behind lo and at or before hi, at most two.
func (w windows) edgesIn(lo, hi int64) []int64 {
	var out []int64
	for k := w.first(lo) + 1; len(out) < 2 && w.earliest(k) <= hi; k++ {
		if x := w.earliest(k) - 1; lo <= x && x < hi {
			out = append(out, x)
		}
	}
	return out
}
