package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// placedProof returns the proof of a breach of a policy that requests place. Its witness fails alone, and it
// fails too amid all other requests of the recording whatever they were answered, as far as they may matter.
func (c *caseFile) placedProof(p *part, found []*breach, pol spec.Policy) *proof {
	mode := c.proofMode(found, pol)
	pr := &proof{h: p.histories[0], until: minTime, counted: counted(c.limit), tries: proofTries,
		over: mode == verdict.UpperBound}
	pr.judge = func(h *history, most int) ([]refutation, int,
		bool) {
		return refutePlaced(h, pol, mode, most)
	}
	if k := lastSilence(pr.h, found, int64(pol.Recovery()+pol.LongestWindow()), pol); k > 0 {
		pr.h = pr.h.from(k)
	}
	// A witness may reach until the last end of those that began before what was found was decided.
	whole := pr.h.before(lastEnd(pr.h.before(lastEnd(eventsOf(found))).all))
	pr.amid = func(events []event) *history { return whole.amid(events, pr.counted) }
	pr.placing = placers(whole, pol)
	pr.tries = fewTries(len(whole.all))
	return pr
}

// lastSilence returns the index of the first event after the last silence before those of the breaches that
// is so long that nothing from before it is remembered, 0 where there is none.
func lastSilence(h *history, found []*breach, memory int64, pol spec.Policy) int {
	if remembersStart(pol) { // only a bucket that was forgotten starts anew
		memory = int64(max(pol.TTL, pol.TTLTo))
	}
	first := maxTime
	for _, br := range found {
		for i := range br.events {
			first = min(first, br.events[i].s)
		}
	}
	at, until := 0, minTime
	for i := range h.all {
		ev := &h.all[i]
		if ev.s > first {
			break
		}
		if i > 0 && ev.s > until+memory {
			at = i
		}
		until = max(until, ev.e)
	}
	return at
}
