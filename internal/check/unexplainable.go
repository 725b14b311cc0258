package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// exactLimit is the largest number of observations of a partition that is searched exactly.
const exactLimit = 100_000

// coverage is how much of a history an exact search has judged.
type coverage int

// The coverages: none where there is no search, a part where it reached its cap, all where everything is
// explained, plainly too, or cannot be.
const (
	judgedNone coverage = iota
	judgedPart
	judgedAll
)

// unexplainable searches h exactly under a policy with one phase, and returns what cannot be explained
// together, or nil. visited is the number of decisions it tried, the same in every run and about
// `most` at most: none where there is a plain explanation. It does not search where requests
// cost more than classCap different amounts, or where the policy has no exact model.
func unexplainable(h *history, p spec.Policy, phase int64, most int) (
	br *breach, visited int, judged coverage,
) {
	return unexplainableBy(h, spec.Limit{p}, []int64{phase}, most)
}

// unexplainableBy is unexplainable for several policies that must all admit, each with one phase.
func unexplainableBy(h *history, limit spec.Limit, at []int64, most int) (
	br *breach, visited int, judged coverage,
) {
	x := newExactBy(h, limit, at)
	switch {
	case x == nil:
		return nil, 0, judgedNone
	case x.dear(h) && simply(h, limit, at):
		return nil, 0, judgedAll
	}
	x.most = min(most, x.most)
	switch dead := x.search(); {
	case dead != nil:
		return together(shortest(h.before(dead.at), limit, at).all), x.visited, judgedAll
	case x.limited:
		return nil, x.visited, judgedPart
	}
	return nil, x.visited, judgedAll
}

// together is the breach of events that cannot be explained together.
func together(events []event) *breach {
	n := int64(len(events))
	return &breach{kind: verdict.NoExplanation, seen: n, bound: n - 1, events: events, span: spanOf(events)}
}

// shortest drops of a history that cannot be explained the beginning that it does not need.
func shortest(h *history, limit spec.Limit, at []int64) *history {
	return h.since(memoryOf(limit, at), func(rest *history) bool {
		x := newExactBy(rest, limit, at)
		return x != nil && x.search() != nil
	})
}

// memoryOf returns how long any of the policies remembers, in nanoseconds.
func memoryOf(limit spec.Limit, at []int64) int64 {
	var longest int64
	for i, p := range limit {
		longest = max(longest, newBound(p, at[i], at[i]).scope().memory)
	}
	return longest
}

// counted tells whether a denied request may change what any of the policies remembers.
func counted(limit spec.Limit) bool {
	return slices.ContainsFunc(limit, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Count == spec.CountOwn || p.Refresh == spec.RefreshAll ||
			p.Ban > 0 || p.TTL > 0
	})
}

// newExact returns the search of h under one policy, or nil where there is none.
func newExact(h *history, p spec.Policy, phase int64) *exact {
	return newExactBy(h, spec.Limit{p}, []int64{phase})
}

// newExactBy is newExact for several policies that must all admit, each with one phase.
func newExactBy(h *history, limit spec.Limit, at []int64) *exact {
	if len(h.all) == 0 || len(h.all) > exactLimit {
		return nil
	}
	x := &exact{h: h.punctual(), most: visitCap, cap: frontCap, alike: alikeCap,
		class: make([]int8, len(h.all))}
	for _, ev := range h.all {
		if k, ok := slices.BinarySearch(x.costs, ev.cost); !ok {
			x.costs = slices.Insert(x.costs, k, ev.cost)
		}
		if len(x.costs) > classCap {
			return nil
		}
	}
	end := minTime
	for i, ev := range h.all {
		end = max(end, ev.e, -ev.s)
		k, _ := slices.BinarySearch(x.costs, ev.cost)
		x.class[i] = int8(k)
	}
	if x.m = newProduct(limit, at, x.costs, end, h.lags); x.m == nil || h.joined(memoryOf(limit, at)) ||
		h.joined(maxTime) && slices.ContainsFunc(limit, keepsItsBeginning) {
		return nil
	}
	if x.traits = x.m.traits(); x.windowed {
		x.gap = x.scale
	}
	x.lag = h.lag * x.scale
	x.overtaking = slices.ContainsFunc(limit, func(p spec.Policy) bool { return p.Queued() && p.TTL > 0 })
	x.kind, x.kinds = x.class, len(x.costs)
	if limit.Completes() {
		x.flights = newFlights(x.h, x.scale, x.costs, x.class)
		if x.kind, x.kinds = x.kindsOf(); x.kind == nil {
			return nil
		}
	}
	x.weight = x.weigh()
	return x
}
