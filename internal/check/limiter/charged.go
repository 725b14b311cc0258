package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
)

// charged is the bound of a policy that counts an admitted request when it is complete. The charge of each
// request is an event of its own. It falls into [since, until]; see history.Stay.
//
//	over:   an admission needs an instant of its interval at which the charges that were certainly made
//	        leave room for it
//	under:  a denial needs an instant of its interval at which the charges that may have been made leave
//	        none
//
// Limiters are monotone in charges as they are in admissions (docs/theory.md, section 2). So Over leaves out
// the charges that are not certain. The embedded bound places charges as it places admissions. No number of
// admissions is too many by itself: before the first charge every admission is right.
type charged struct {
	counting
	history.Stay
}

// counting is a bound that can count other events than admissions. overCounting asks of each admission of a
// history whether the certainly counted events leave room for it.
type counting interface {
	Bound
	overCounting(h *history.History, counted *history.Certain) *Breach
}

// chargesOf returns the charges of h as a history of admissions, with the Seq of their requests.
func chargesOf(h *history.History) *history.History {
	events := slices.Clone(h.Possible)
	for i := range events {
		ev := &events[i]
		ev.Start, ev.End = ev.Since(), max(ev.Until(), ev.Since())
	}
	return history.Of(events)
}

func (c charged) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, c.Scope().Full); br != nil {
		return br
	}
	br := c.overCounting(h, history.NewCertain(chargesOf(h).Admitted))
	if br == nil {
		return nil
	}
	// The first event is the admission that found no room. The others are charges, whose requests are the
	// witness.
	named := map[int]bool{}
	for _, ev := range br.Events[1:] {
		named[ev.Seq] = true
	}
	br.Events = br.Events[:1]
	for _, ev := range h.Admitted {
		if named[ev.Seq] {
			br.Events = append(br.Events, ev)
		}
	}
	return br
}

func (c charged) Usage(h *history.History) Meter { return c.counting.Usage(chargesOf(h)) }

func (c charged) Scope() Scope {
	of := c.counting.Scope()
	of.Memory, of.Late = history.Later(of.Memory, c.Most), true
	return of
}

// overCounting asks of each admission whether some instant of its interval has room beside the charges that
// were certainly made before it. Each charge is placed at its earliest. Between the ends of two charges the
// level only falls. So it tries the ends of charges, at which the charge itself may come after, and the ends
// of the interval.
func (b Bucket) overCounting(h *history.History, counted *history.Certain) *Breach {
	certain := counted.Events()
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		var before []history.Event
		fits := func(t int64) bool {
			tat := history.MinTime
			before = before[:0]
			for k := history.FirstAfter(certain, t-b.memory()); k < len(certain) &&
				certain[k].Start < t; k++ {
				if c := &certain[k]; c.End < t && c.Seq != ev.Seq {
					tat = min(max(tat, c.Start*b.N)+c.Cost*b.Per, c.Start*b.N+b.Burst*b.Per)
					before = append(before, *c)
				}
			}
			return max(tat, t*b.N)+ev.Cost*b.Per <= t*b.N+b.Burst*b.Per
		}
		room := fits(ev.Start)
		for k := history.FirstAfter(certain, ev.Start-b.memory()); k < len(certain) &&
			certain[k].Start < ev.End && !room; k++ {
			room = certain[k].End > ev.Start && certain[k].End < ev.End && fits(certain[k].End)
		}
		if room || fits(ev.End) {
			continue
		}
		return &Breach{Kind: result.OverAdmission, Seen: history.Volume(before) + ev.Cost, Bound: b.Burst,
			Span: ev.End - ev.Start, Events: append([]history.Event{ev}, before...)}
	}
	return nil
}
