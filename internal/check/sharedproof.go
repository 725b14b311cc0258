package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
)

// accuse makes the findings of what refutes every phase of the box: one for each partition that is part of
// the proof. If several partitions with one phase are, their witnesses are judged together.
func (c *Case) accuse(parts []*Part, found []Refutation, box history.Interval) {
	mine, accused := byPart(found, len(parts))
	if accused > 1 && !c.Quick {
		c.accuseTogether(parts, found, box)
		return
	}
	for i, p := range parts {
		if len(mine[i]) > 0 {
			p.Findings = []result.Finding{c.Finding(p, mine[i], box)}
		}
	}
}

// byPart returns the breaches of each of n partitions, and how many have any.
func byPart(found []Refutation, n int) (mine [][]*limiter.Breach, accused int) {
	mine = make([][]*limiter.Breach, n)
	for _, r := range found {
		if mine[r.Part] = append(mine[r.Part], r.Breach); len(mine[r.Part]) == 1 {
			accused++
		}
	}
	return mine, accused
}

// accuseTogether makes the findings of partitions that refute the box only together, with the fewest events
// of all.
func (c *Case) accuseTogether(parts []*Part, found []Refutation, box history.Interval) {
	owner := map[int]int{}
	var all []history.Event
	for i, p := range parts {
		for _, ev := range p.Histories[0].All {
			owner[ev.Seq] = i
		}
		all = append(all, p.Histories[0].All...)
	}
	whole := history.Of(all)
	whole.Lag = parts[0].Histories[0].Lag
	breaches := make([]*limiter.Breach, len(found))
	for i, r := range found {
		breaches[i] = r.Breach
	}
	mode := c.proofMode(breaches, c.Limit[0])
	pr := &Proof{H: whole, Tries: FewTries(len(EventsOf(breaches))), Until: history.MinTime,
		Counted: search.Counted(c.Limit), Over: mode == result.UpperBound,
		Judge: func(h *history.History, most int) ([]Refutation, int, bool) {
			s := &PhaseSearch{Policy: c.Limit[0], Mode: mode, Group: divided(h, owner, len(parts)),
				Rough: true,
				Each:  most}
			found, ok := s.Refute(box)
			return found, s.Tried(), ok
		}}
	breaches, events := pr.Fewest(breaches)
	var proven []*Part
	own := make([][]*limiter.Breach, len(parts))
	for _, br := range breaches {
		i := owner[br.Events[0].Seq]
		if own[i] = append(own[i], br); len(own[i]) == 1 {
			proven = append(proven, parts[i])
		}
	}
	for i, p := range parts {
		if len(own[i]) == 0 {
			continue
		}
		theirs := slices.DeleteFunc(slices.Clone(events),
			func(ev history.Event) bool { return owner[ev.Seq] != i })
		p.Findings = []result.Finding{c.Describe(p, own[i], theirs, c.Limit[0], box, len(proven)-1)}
	}
}

// divided returns the group of n partitions that share the events of h. owner gives the partition of each
// event by its Seq.
func divided(h *history.History, owner map[int]int, n int) *Group {
	events := make([][]history.Event, n)
	for _, ev := range h.All {
		i := owner[ev.Seq]
		events[i] = append(events[i], ev)
	}
	g := &Group{}
	for i := range events {
		sub := history.Of(events[i])
		sub.Lag = h.Lag
		g.Parts = append(g.Parts, sub)
	}
	return g
}
