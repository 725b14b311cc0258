package search

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
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
