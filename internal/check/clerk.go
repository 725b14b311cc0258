package check

import (
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// clerk judges, in the same memory one after the other, the partitions of a stream that pass without a search. It serves
// one goroutine.
type clerk struct {
	s *Stream
	c *caseFile

	bytes []byte
	h     history
	ask   asker
	story story
}

// newClerk returns nil for a limit that needs more than the bounds of one policy with one phase.
func newClerk(s *Stream) *clerk {
	if s.plan == nil {
		return nil
	}
	return &clerk{s: s, c: s.caseOf(nil)}
}

// verdict judges a partition that was kept whole, or returns ok=false where it is to be judged with all means: where it is
// refuted, and needs a witness, or where a search may refute it.
func (k *clerk) verdict(st *strand) (v verdict.PartitionVerdict, ok bool) {
	plan, h := k.s.plan, &k.h
	k.bytes = st.reel.read(&k.s.store, k.bytes)
	h.all, h.lag = h.all[:0], plan.widen.tick
	eachOf(k.bytes, func(o *timeline.Observation) { h.all = append(h.all, newEvent(o, plan.widen, k.c.end)) })
	if plan.edges != nil {
		h.all = plan.edges.trim(h.all)
	}
	if h.split(); plan.edges != nil && !h.known() || k.ask.refutes(h, plan.bound, plan.o.Conformance) || k.searched() {
		return verdict.PartitionVerdict{}, false
	}
	p := &part{name: st.name, seen: st.seen, histories: []*history{h}, search: verdict.Search{Cap: visitCap}, ask: &k.ask}
	return k.c.verdict(p), true
}

// searched tells whether a search may refute the history.
func (k *clerk) searched() bool {
	plan := k.s.plan
	if !plan.asked(UpperBound) || !plan.asked(LowerBound) {
		return false
	}
	if b, ok := plan.bound.(bucket); ok && k.story.told(b, &k.h) {
		return false
	}
	return newExact(&k.h, plan.limit[0], plan.box.from) != nil
}
