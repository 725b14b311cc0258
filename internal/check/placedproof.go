package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
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

// Placers returns the requests that show how the windows of a policy were placed, or when its partition was
// not forgotten. It leaves out those that the others make needless. Ascending by Start; may be empty.
func Placers(h *history.History, pol spec.Policy) []history.Event {
	if len(h.All) == 0 {
		return nil
	}
	var out []history.Event
	all := pol.Count == spec.CountAll
	switch {
	case limiter.Anchored(pol):
		begin := slices.IndexFunc(h.All, func(ev history.Event) bool { return ev.Counts(all) })
		if begin < 0 {
			return nil
		}
		out = Chain(h.Counted(all), int64(pol.Rate.Per))
	case pol.Completes(): // each may have been charged first
		out = h.Admitted
	case pol.Windowed():
		out = openers(h, limiter.NewFirst(pol))
	}
	if pol.TTL > 0 {
		out = append(out, Chain(h.All, int64(pol.TTL))...)
	}
	return history.Of(out).All
}

// openers returns, for each window that a request surely opened by some instant, the admission that shows the
// instant.
func openers(h *history.History, f limiter.First) (out []history.Event) {
	end := history.MinTime
	for _, o := range f.Openings(h) {
		if o.To < history.MaxTime {
			i := history.FirstAfter(h.Admitted, end)
			for i < len(h.Admitted) && h.Admitted[i].Start <= o.To && h.Admitted[i].End != o.To {
				i++
			}
			if i < len(h.Admitted) && h.Admitted[i].Start <= o.To {
				out = append(out, h.Admitted[i])
			}
		}
		end = max(end, o.To+f.SizeTo-1)
	}
	return out
}

// Chain returns the first event, the one that ends first, and a Cover of the others: as few events as leave
// no silence longer than `most` nanoseconds where all of them leave none. Events without an outcome are
// ignored.
func Chain(events []history.Event, most int64) []history.Event {
	var sure []history.Event
	for _, ev := range events {
		if ev.Outcome != timeline.Unknown {
			sure = append(sure, ev)
		}
	}
	if len(sure) == 0 {
		return nil
	}
	first := sure[0]
	for i := 0; i < len(sure) && sure[i].Start <= first.End; i++ {
		if sure[i].End < first.End {
			first = sure[i]
		}
	}
	out := []history.Event{sure[0], first}
	l := history.NewCover(&first, most)
	for i := range sure {
		if before, kept := l.Add(&sure[i]); kept {
			out = append(out, before)
		}
	}
	if l.Next.Start > l.Last.Start {
		out = append(out, l.Next)
	}
	return out
}

// RefutePlaced judges h under a policy whose windows requests place. tried is the work of exact searches, at
// most `most` if that is not 0. ok=false: h is not refuted.
func RefutePlaced(h *history.History, pol spec.Policy, mode result.Conformance,
	most int) (found []Refutation, tried int,
	ok bool) {
	if !limiter.Anchored(pol) {
		s := &PhaseSearch{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{h}}, Rough: true,
			Each: most}
		found, ok = s.Refute(history.Interval{})
		return found, s.Tried(), ok
	}
	for _, br := range RefuteAnchored(h, pol, mode, 0).Found {
		found = append(found, Refutation{Breach: br})
	}
	if len(found) > 0 || limiter.Ranged(pol) || mode != "" && mode != result.Exact {
		return found, 0, len(found) > 0
	}
	r, tried, _ := searched(h, Cell{Policy: pol}, most)
	if r == nil {
		return nil, tried, false
	}
	return []Refutation{*r}, tried, true
}
