package check

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// placedProof returns the proof of a breach of a policy whose state requests place. Its witness fails alone.
// It also fails amid all other requests that may matter, whatever their answers were.
func (c *Case) placedProof(p *Part, found []*limiter.Breach, pol spec.Policy) *Proof {
	mode := c.proofMode(found, pol)
	pr := &Proof{H: p.Histories[0], Until: history.MinTime, Counted: search.Counted(c.Limit),
		Tries: ProofTries,
		Over:  mode == result.UpperBound}
	pr.Judge = func(h *history.History, most int) ([]Refutation, int, bool) {
		return RefutePlaced(h, pol, mode, most)
	}
	if k := lastSilence(pr.H, found, int64(pol.Recovery()+pol.LongestWindow()), pol); k > 0 {
		pr.H = pr.H.From(k)
	}
	// A witness may need all requests that began before the last End of those. Those began before the last
	// End of the events of the breaches.
	whole := pr.H.Before(history.LastEnd(pr.H.Before(history.LastEnd(EventsOf(found))).All))
	pr.Amid = func(events []history.Event) *history.History { return whole.MaskOutcomes(events, pr.Counted) }
	pr.Placing = Placers(whole, pol)
	pr.Tries = FewTries(len(whole.All))
	return pr
}

// lastSilence returns the index of the first event after the last silence before the breaches that is longer
// than memory. Nothing from before that silence is remembered. It is 0 if there is none.
func lastSilence(h *history.History, found []*limiter.Breach, memory int64, pol spec.Policy) int {
	if limiter.RemembersStart(pol) { // only a bucket that was forgotten starts anew
		memory = int64(max(pol.TTL, pol.TTLTo))
	}
	first := history.MaxTime
	for _, br := range found {
		for i := range br.Events {
			first = min(first, br.Events[i].Start)
		}
	}
	if pol.Completes() { // what was decided may be charged later
		memory = history.Later(memory, history.StayOf(pol).Most)
	}
	at, until := 0, history.MinTime
	for i := range h.All {
		ev := &h.All[i]
		if ev.Start > first {
			break
		}
		if i > 0 && ev.Start > history.Later(until, memory) {
			at = i
		}
		until = max(until, ev.End)
	}
	return at
}
