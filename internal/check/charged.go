package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// charged is the bound of a policy that counts an admitted request when it is complete. The charge of each is
// an event of its own: it falls into [since, until].
//
//	over:   an admission needs an instant of its interval at which the charges that were certainly made
//	        leave room for it
//	under:  a denial needs an instant of its interval at which the charges that may have been made leave
//	        none
//
// Limiters are monotone in charges as they are in admissions (see bound), so the charges that are not certain
// are left out of the one question, and placed as the embedded bound places admissions in the other. No
// number of admissions is too many by itself: all that come before the first charge are right.
type charged struct {
	counting
	stay
}

// counting is a bound that asks of each admission of a history whether what was certainly counted, when it
// was, leaves room for it.
type counting interface {
	bound
	overCounting(h *history, counted []event) *breach
}

// chargesOf returns the charges of h as a history of admissions, under the numbers of their requests.
func chargesOf(h *history) *history {
	events := slices.Clone(h.possible)
	for i := range events {
		ev := &events[i]
		ev.s, ev.e = ev.since, max(ev.until, ev.since)
	}
	return historyOf(events)
}

func (c charged) over(h *history) *breach {
	if br := tooDear(h, c.scope().full); br != nil {
		return br
	}
	br := c.overCounting(h, chargesOf(h).admitted)
	if br == nil {
		return nil
	}
	// The first event is the admission that found no room, the others are charges: their requests are the
	// witness.
	named := map[int]bool{}
	for _, ev := range br.events[1:] {
		named[ev.seq] = true
	}
	br.events = br.events[:1]
	for _, ev := range h.admitted {
		if named[ev.seq] {
			br.events = append(br.events, ev)
		}
	}
	return br
}

func (c charged) usage(h *history) meter { return c.counting.usage(chargesOf(h)) }

func (c charged) scope() scope {
	of := c.counting.scope()
	of.memory, of.late = later(of.memory, c.most), true
	return of
}

// overCounting asks of each admission whether some instant of its interval finds room beside the charges that
// were certainly made before it, each at its earliest. Between the ends of two charges the level only falls,
// so the instants worth trying are these, at which a charge may still come after, and the ends of the
// interval.
func (b bucket) overCounting(h *history, certain []event) *breach {
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		var before []event
		fits := func(t int64) bool {
			tat := minTime
			before = before[:0]
			for k := firstAfter(certain, t-b.memory()); k < len(certain) && certain[k].s < t; k++ {
				if c := &certain[k]; c.e < t && c.seq != ev.seq {
					tat = min(max(tat, c.s*b.n)+c.cost*b.per, c.s*b.n+b.burst*b.per)
					before = append(before, *c)
				}
			}
			return max(tat, t*b.n)+ev.cost*b.per <= t*b.n+b.burst*b.per
		}
		room := fits(ev.s)
		for k := firstAfter(certain, ev.s-b.memory()); k < len(certain) && certain[k].s < ev.e && !room; k++ {
			room = certain[k].e > ev.s && certain[k].e < ev.e && fits(certain[k].e)
		}
		if room || fits(ev.e) {
			continue
		}
		return &breach{kind: verdict.OverAdmission, seen: volume(before) + ev.cost, bound: b.burst,
			span: ev.e - ev.s, events: append([]event{ev}, before...)}
	}
	return nil
}

// chargedModel is a limiter that counts an admitted request when it is complete: the one inside is asked what
// it would do, and charging, which counts denied requests too, is told of the completions.
type chargedModel struct {
	model
	charging model
}

func (c chargedModel) scaled(k int64) model {
	return chargedModel{c.model.scaled(k), c.charging.scaled(k)}
}

func (c chargedModel) admit(m memoryState, a ask) []memoryState { return c.model.pass(m, a) }

func (c chargedModel) complete(m memoryState, a ask) []memoryState {
	return append(c.charging.admit(m.clone(), a), c.charging.deny(m, a)...)
}

func (c chargedModel) pass(m memoryState, a ask) []memoryState { return passed(c, m, a) }

func (c chargedModel) traits() traits {
	t := c.model.traits()
	t.eager = true
	return t
}
