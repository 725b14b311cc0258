package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// accuse makes the findings of what refutes every phase of the box: one for each partition that is part of
// the proof. Of partitions that share their phase it may take several: then their witnesses are judged
// together.
func (c *caseFile) accuse(parts []*part, found []refutation, box phases) {
	mine := make([][]*breach, len(parts))
	accused := 0
	for _, r := range found {
		if mine[r.part] = append(mine[r.part], r.breach); len(mine[r.part]) == 1 {
			accused++
		}
	}
	if accused > 1 && !c.quick {
		c.accuseTogether(parts, found, box)
		return
	}
	for i, p := range parts {
		if len(mine[i]) > 0 {
			p.findings = []verdict.Finding{c.finding(p, mine[i], box)}
		}
	}
}

// accuseTogether makes the findings of partitions that refute the box only together, with the fewest events
// of all.
func (c *caseFile) accuseTogether(parts []*part, found []refutation, box phases) {
	owner := map[int]int{}
	var all []event
	for i, p := range parts {
		for _, ev := range p.histories[0].all {
			owner[ev.seq] = i
		}
		all = append(all, p.histories[0].all...)
	}
	whole := historyOf(all)
	whole.lag = parts[0].histories[0].lag
	breaches := make([]*breach, len(found))
	for i, r := range found {
		breaches[i] = r.breach
	}
	mode := c.proofMode(breaches, c.limit[0])
	pr := &proof{h: whole, tries: fewTries(len(eventsOf(breaches))), until: minTime,
		counted: counted(c.limit), over: mode == verdict.UpperBound,
		judge: func(h *history, most int) ([]refutation, int, bool) {
			s := &search{policy: c.limit[0], mode: mode, group: divided(h, owner, len(parts)), rough: true,
				each: most}
			found, ok := s.refute(box)
			return found, s.tried(), ok
		}}
	breaches, events := pr.fewest(breaches)
	var proven []*part
	own := make([][]*breach, len(parts))
	for _, br := range breaches {
		i := owner[br.events[0].seq]
		if own[i] = append(own[i], br); len(own[i]) == 1 {
			proven = append(proven, parts[i])
		}
	}
	for i, p := range parts {
		if len(own[i]) == 0 {
			continue
		}
		theirs := slices.DeleteFunc(slices.Clone(events), func(ev event) bool { return owner[ev.seq] != i })
		p.findings = []verdict.Finding{c.describe(p, own[i], theirs, c.limit[0], box, len(proven)-1)}
	}
}

// divided returns the group of n partitions whose events are those of h, each by its owner.
func divided(h *history, owner map[int]int, n int) *group {
	events := make([][]event, n)
	for _, ev := range h.all {
		i := owner[ev.seq]
		events[i] = append(events[i], ev)
	}
	g := &group{}
	for i := range events {
		sub := historyOf(events[i])
		sub.lag = h.lag
		g.parts = append(g.parts, sub)
	}
	return g
}
