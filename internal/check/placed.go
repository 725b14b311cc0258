package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// placed tells whether requests place what pol remembers: the first one its windows, or its bucket that is
// not full, and after each time that it was forgotten another one. Left out of a witness they would place it
// elsewhere, and the witness could fail for what is nothing wrong in the recording.
func placed(pol spec.Policy) bool {
	return pol.Windowed() && pol.Align == spec.AlignFirst && !pol.Refreshes() || pol.TTL > 0 &&
		remembersStart(pol)
}

// placedProof returns the proof of a breach of a policy that requests place. Its witness fails alone, and it
// fails too amid all other requests of the recording whatever they were answered, as far as they may matter.
func (c *caseFile) placedProof(p *part, found []*breach, pol spec.Policy) *proof {
	mode := c.proofMode(found, pol)
	pr := &proof{h: p.histories[0], until: minTime, counted: counted(c.limit), tries: proofTries,
		over: mode == UpperBound}
	pr.judge = func(h *history, most int) ([]refutation, int,
		bool) {
		return refutePlaced(h, pol, mode, most)
	}
	if k := pr.h.lastSilence(found, int64(pol.Recovery()+pol.LongestWindow()), pol); k > 0 {
		pr.h = pr.h.from(k)
	}
	// A witness may reach until the last end of those that began before what was found was decided.
	whole := pr.h.before(lastEnd(pr.h.before(lastEnd(eventsOf(found))).all))
	pr.amid = func(events []event) *history { return whole.amid(events, pr.counted) }
	pr.placing = placers(whole, pol)
	pr.tries = fewTries(len(whole.all))
	return pr
}

// refutePlaced judges h under a policy that requests place.
func refutePlaced(h *history, pol spec.Policy, mode Conformance, most int) (found []refutation, tried int,
	ok bool) {
	if !anchored(pol) {
		s := &search{policy: pol, mode: mode, group: &group{parts: []*history{h}}, rough: true, each: most}
		found, ok = s.refute(phases{})
		return found, s.tried(), ok
	}
	for _, br := range refuteAnchored(h, pol, mode, 0).found {
		found = append(found, refutation{breach: br})
	}
	if len(found) > 0 || ranged(pol) || mode != "" && mode != Exact {
		return found, 0, len(found) > 0
	}
	r, tried, _ := searched(h, cell{policy: pol}, most)
	if r == nil {
		return nil, tried, false
	}
	return []refutation{*r}, tried, true
}

// lastSilence returns the index of the first event after the last silence before those of the breaches that
// is so long that nothing from before it is remembered, 0 where there is none.
func (h *history) lastSilence(found []*breach, memory int64, pol spec.Policy) int {
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

// from returns the events from number k on.
func (h *history) from(k int) *history {
	out := &history{all: slices.Clone(h.all[k:]), lag: h.lag}
	out.split()
	return out
}

// amid returns h with nothing known of the answers but those to some events. Denials that change nothing are
// left out.
func (h *history) amid(events []event, counted bool) *history {
	out := &history{all: make([]event, 0, len(h.all)), lag: h.lag}
	next := 0
	for _, ev := range h.all {
		for next < len(events) && events[next].s < ev.s {
			next++
		}
		known := false
		for k := next; k < len(events) && events[k].s == ev.s && !known; k++ {
			if known = events[k].seq == ev.seq; known {
				ev = events[k]
			}
		}
		if !known && ev.outcome == timeline.Denied {
			if !counted {
				continue
			}
			ev.outcome, ev.mute = timeline.Unknown, true
		}
		if !known {
			ev.outcome = timeline.Unknown
		}
		out.all = append(out.all, ev)
	}
	out.split()
	return out
}

// placers returns the requests by which it is known how a policy was placed, but for some that are known by
// others.
func placers(h *history, pol spec.Policy) []event {
	if len(h.all) == 0 {
		return nil
	}
	var out []event
	all := pol.Count == spec.CountAll
	switch {
	case anchored(pol):
		begin := slices.IndexFunc(h.all, func(ev event) bool { return ev.counts(all) })
		if begin < 0 {
			return nil
		}
		out = chain(h.counted(all), int64(pol.Rate.Per))
	case pol.Windowed():
		end := minTime
		f := newFirst(pol)
		for _, o := range f.openings(h) {
			for i := firstAfter(h.admitted, end); i < len(h.admitted) && h.admitted[i].s <= o.to &&
				o.to < maxTime; i++ {
				if h.admitted[i].e == o.to {
					out = append(out, h.admitted[i])
					break
				}
			}
			end = max(end, o.to+f.sizeTo-1)
		}
	}
	if pol.TTL > 0 {
		out = append(out, chain(h.all, int64(pol.TTL))...)
	}
	return historyOf(out).all
}

// chain returns the first event and the one that ends first, and of the others as few as leave no silence
// longer than a time where the whole leaves none.
func chain(events []event, most int64) []event {
	var sure []event
	for _, ev := range events {
		if ev.outcome != timeline.Unknown {
			sure = append(sure, ev)
		}
	}
	if len(sure) == 0 {
		return nil
	}
	first := sure[0]
	for i := 0; i < len(sure) && sure[i].s <= first.e; i++ {
		if sure[i].e < first.e {
			first = sure[i]
		}
	}
	out := []event{sure[0], first}
	l := newLinks(&first, most)
	for i := range sure {
		if before, kept := l.add(&sure[i]); kept {
			out = append(out, before)
		}
	}
	if l.next.s > l.last.s {
		out = append(out, l.next)
	}
	return out
}
