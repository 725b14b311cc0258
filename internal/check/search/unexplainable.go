package search

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// MostEvents is the largest number of events of a partition that are searched exactly.
const MostEvents = 100_000

// coverage is how much of a history an exact search has judged.
type coverage int

// The coverages. JudgedNone: there was no search. JudgedPart: the search reached its cap. JudgedAll: the
// history has an explanation, found plainly or by search, or is proved to have none.
const (
	JudgedNone coverage = iota
	JudgedPart
	JudgedAll
)

// Unexplainable searches h exactly under a policy with one phase, in nanoseconds. It returns the events that
// cannot be explained together, or nil. visited is the work of the search, the same in every run and about
// `most` at most. It is 0 where there is a plain explanation. There is no search where requests have more
// than classCap different costs, or where the policy has no exact model.
func Unexplainable(h *history.History, p spec.Policy, phase int64, most int) (
	br *limiter.Breach, visited int, judged coverage,
) {
	return UnexplainableBy(h, spec.Limit{p}, []int64{phase}, most)
}

// UnexplainableBy is Unexplainable for several policies that must all admit, each with one phase.
func UnexplainableBy(h *history.History, limit spec.Limit, at []int64, most int) (
	br *limiter.Breach, visited int, judged coverage,
) {
	x := NewBy(h, limit, at)
	switch {
	case x == nil:
		return nil, 0, JudgedNone
	case Simply(h, limit, at):
		return nil, 0, JudgedAll
	}
	x.Most = min(most, x.Most)
	switch dead := x.Search(); {
	case dead != nil:
		return Together(Shortest(h.Before(dead.At), limit, at).All), x.Visited, JudgedAll
	case x.Limited:
		return nil, x.Visited, JudgedPart
	}
	return nil, x.Visited, JudgedAll
}

// Together is the breach that the events cannot be explained together.
func Together(events []history.Event) *limiter.Breach {
	n := int64(len(events))
	return &limiter.Breach{Kind: result.NoExplanation, Seen: n, Bound: n - 1, Events: events,
		Span: limiter.SpanOf(events)}
}

// Shortest drops the beginning of an inexplicable history, as far as the rest stays inexplicable.
func Shortest(h *history.History, limit spec.Limit, at []int64) *history.History {
	return h.Since(memoryOf(limit, at), func(rest *history.History) bool {
		x := NewBy(rest, limit, at)
		return x != nil && x.Search() != nil
	})
}

// memoryOf returns the longest memory of the policies, in nanoseconds.
func memoryOf(limit spec.Limit, at []int64) int64 {
	var longest int64
	for i, p := range limit {
		longest = max(longest, limiter.NewBound(p, at[i], at[i]).Scope().Memory)
	}
	return longest
}

// Counted tells whether a denied request may change the state of any of the policies.
func Counted(limit spec.Limit) bool {
	return slices.ContainsFunc(limit, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Count == spec.CountOwn || p.Refresh == spec.RefreshAll ||
			p.Ban > 0 || p.TTL > 0
	})
}

// New returns the search of h under one policy, or nil where there is none; see NewBy.
func New(h *history.History, p spec.Policy, phase int64) *Exact {
	return NewBy(h, spec.Limit{p}, []int64{phase})
}

// NewBy is New for several policies that must all admit, each with one phase. It returns nil where h is empty
// or too long, has too many different costs, or where the policies have no exact model. It also returns nil
// where requests from before the recording may still count.
func NewBy(h *history.History, limit spec.Limit, at []int64) *Exact {
	if len(h.All) == 0 || len(h.All) > MostEvents {
		return nil
	}
	x := &Exact{h: h.Punctual(), Most: VisitCap, Cap: frontCap, Alike: alikeCap,
		class: make([]int8, len(h.All))}
	for _, ev := range h.All {
		if k, ok := slices.BinarySearch(x.costs, ev.Cost); !ok {
			x.costs = slices.Insert(x.costs, k, ev.Cost)
		}
		if len(x.costs) > classCap {
			return nil
		}
	}
	end := history.MinTime
	for i, ev := range h.All {
		end = max(end, ev.End, -ev.Start)
		k, _ := slices.BinarySearch(x.costs, ev.Cost)
		x.class[i] = int8(k)
	}
	if x.Model = NewProduct(limit, at, x.costs, end, h.Lags); x.Model == nil ||
		h.Joined(memoryOf(limit, at)) ||
		h.Joined(history.MaxTime) && slices.ContainsFunc(limit, limiter.KeepsItsBeginning) {
		return nil
	}
	if x.Traits = x.Model.Traits(); x.Windowed {
		x.gap = x.Scale
	}
	x.lag = h.Lag * x.Scale
	x.overtaking = slices.ContainsFunc(limit, func(p spec.Policy) bool { return p.Queued() && p.TTL > 0 })
	x.Weight = x.weigh()
	return x
}
