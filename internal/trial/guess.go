package trial

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// List is the limits to try, each once.
type List struct {
	// All are the limits of the list so far.
	All []result.Explanation
	of  []*result.Scenario
}

// Near returns a list of the limits that explain at least one failure, and of the declared limit per another
// unit of time. The recordings are not empty and declare one limit of one policy.
func Near(of []*result.Scenario) *List {
	g := &List{of: of}
	g.units()
	g.ofFailures()
	return g
}

// add appends the limits that are new. Limits whose clock ticks go last among them, because they explain
// almost anything.
func (g *List) add(all ...result.Explanation) {
	from := len(g.All)
	for _, e := range all {
		known := func(o result.Explanation) bool { return o.Limit.String() == e.Limit.String() }
		if e.Limit.String() != g.of[0].Limit.String() && !slices.ContainsFunc(g.All, known) {
			g.All = append(g.All, e)
		}
	}
	slices.SortStableFunc(g.All[from:], func(a, b result.Explanation) int {
		return cmp.Compare(g.ticks(a.Limit), g.ticks(b.Limit))
	})
}

// ticks is 1 for a limit with a ticking clock where the declared limit has none, else 0. It is a sort key.
func (g *List) ticks(l spec.Limit) int {
	if l[0].TickSet && !g.of[0].Limit[0].TickSet {
		return 1
	}
	return 0
}

// ByTheClock adds the limits of anywhere whose windows may begin anywhere, with windows that begin by the
// clock. It returns what is new.
func (g *List) ByTheClock(anywhere []spec.Limit) []result.Explanation {
	known := len(g.All)
	for _, l := range anywhere {
		if !hidden(l) {
			continue
		}
		text := "windows by the clock"
		switch l = slices.Clone(l); {
		case l[0].Fixed():
			text = "a fixed window by the clock"
		case l[0].Weighs():
			text = "a sliding window counter by the clock"
		}
		l[0].Align = spec.AlignClock
		g.add(result.Explanation{Text: text, Limit: l})
	}
	return g.All[known:]
}

// hidden tells whether windows of l may begin anywhere. Such a limit predicts less than one that says where.
func hidden(l spec.Limit) bool {
	return l[0].Align == spec.AlignUnknown || l[0].Align == spec.AlignShared
}

// Ordered returns each limit once, ignoring limits that differ only in name. Queues come first, as they also
// explain how long answers wait. Limits whose windows may begin anywhere come late, and those whose clock
// ticks last.
func (g *List) Ordered(all []spec.Limit) (out []spec.Limit) {
	for _, l := range all {
		if !slices.ContainsFunc(out, func(o spec.Limit) bool { return alike(o, l) }) {
			out = append(out, l)
		}
	}
	rank := func(l spec.Limit) int {
		switch {
		case l[0].Queued():
			return -1
		case g.ticks(l) > 0:
			return 2
		case hidden(l):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b spec.Limit) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// alike tells whether two limits describe the same limiter: buckets with the same rate and burst under
// different names, or counters that round down and counters that do not round.
func alike(a, b spec.Limit) bool {
	if len(a) != 1 || len(b) != 1 {
		return false
	}
	p, q := a[0], b[0]
	if p.Rounding == spec.RoundDown {
		p.Rounding = spec.RoundNone
	}
	if q.Rounding == spec.RoundDown {
		q.Rounding = spec.RoundNone
	}
	if p.Bucketed() && q.Bucketed() && p.Rate.N*int64(q.Rate.Per) == q.Rate.N*int64(p.Rate.Per) {
		q.Rate, q.Algorithm = p.Rate, p.Algorithm
	}
	return p == q
}

// Nearby tells whether l is the declared limit with another rate or burst. No other explanation is closer.
func (g *List) Nearby(l spec.Limit) bool {
	p, q := g.of[0].Limit[0], l[0]
	if len(l) != 1 {
		return false
	}
	q.Rate, q.Burst = p.Rate, p.Burst
	return p == q
}

// units adds the declared limit per another unit of time, such as 10 a second for 10 a minute.
func (g *List) units() {
	units := map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour"}
	p := g.of[0].Limit[0]
	if units[p.Rate.Per] == "" || len(g.of[0].Limit) > 1 {
		return
	}
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour} {
		p.Rate.Per = per
		g.add(result.Explanation{Text: "the declared limit, but per " + units[per], Limit: spec.Limit{p}})
	}
}

// ofFailures adds the limits that explain at least one failure.
func (g *List) ofFailures() {
	var all []result.Explanation
	for _, s := range g.of {
		all = append(all, s.Judgement.Explanations...)
	}
	g.add(all...)
}

// Further adds the limits that identify finds in all recordings within think, and variants that identify does
// not try. It returns what is new.
func (g *List) Further(ctx context.Context, think time.Duration) []result.Explanation {
	var recordings []*timeline.Timeline
	fresh, known := true, len(g.All)
	for _, s := range g.of {
		recordings = append(recordings, s.Timeline)
		fresh = fresh && s.Timeline.Header.CompleteFrom == 0
	}
	all := forms(g.of)
	for _, c := range identify.Recorded(ctx, recordings, identify.Options{Fresh: fresh, Think: think,
		Spent: transport.CPUTime}).Found {
		all = append(all, result.Explanation{Text: c.Text, Limit: c.Limit})
	}
	g.add(slices.Concat(all, bans(g.of), seconds(g.of), lives(g.of), batches(g.of[0].Limit))...)
	return g.All[known:]
}
