package limiter

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

var placesKind = kind{
	bound: func(p spec.Policy, _ history.Interval, _ bool) Bound {
		return newPlaces(p)
	},
}

// places is the bound of a limit on requests in flight. Since and until are those of history.Event.
//
//	over:   the units with e <= y < since are at most the limit, for all y          all of them are in
//	        flight just after y
//	        an admission needs an instant t of its interval with room beside those with e < t < since
//	under:  units with s <= t and until >= t reach the limit, for some t in the denial's interval
//
// Completions and decisions at the same instant may come in either order. So a place may be held at that
// instant, and need not be.
type places struct {
	limit int64
	history.Stay
}

func newPlaces(p spec.Policy) places { return places{p.Rate.N, history.StayOf(p)} }

func (p places) Over(h *history.History) *Breach {
	var ends []history.Ending // of the stays that are certain
	for _, ev := range h.Admitted {
		if ev.Cost > p.limit {
			return &Breach{Kind: result.OverAdmission, Seen: ev.Cost, Bound: p.limit,
				Span:   ev.End - ev.Start,
				Events: []history.Event{ev}}
		}
		if ev.End < ev.Since() {
			ends = append(ends, history.Ending{End: ev.Since(), Cost: ev.Cost})
		}
	}
	slices.SortFunc(ends, func(a, b history.Ending) int { return cmp.Compare(a.End, b.End) })
	if br := p.roomless(h, ends); br != nil {
		return br
	}
	var units int64
	gone := 0
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		if ev.End >= ev.Since() {
			continue
		}
		for ; gone < len(ends) && ends[gone].End <= ev.End; gone++ {
			units -= ends[gone].Cost
		}
		if units += ev.Cost; units > p.limit {
			return p.breachAt(h, ev.End)
		}
	}
	return nil
}

// roomless returns the breach of an admission that found a place at no instant of its interval. An admission
// with no certain stay of its own takes no place from others. Between the ends of two certain stays the load
// only grows. So the instants worth trying are the start of the interval and these ends.
func (p places) roomless(h *history.History, ends []history.Ending) *Breach {
	gone := history.NewTally(ends)
	var begins []history.Ending
	for _, i := range h.AdmittedByEnd {
		if ev := h.Admitted[i]; ev.End < ev.Since() {
			begins = append(begins, history.Ending{End: ev.End, Cost: ev.Cost})
		}
	}
	come := history.NewTally(begins)
	for _, ev := range h.Admitted {
		fits := func(t int64) bool { return come.Before(t)-gone.Before(t+1)+ev.Cost <= p.limit }
		room := fits(ev.Start)
		k, _ := slices.BinarySearchFunc(ends, ev.Start,
			func(x history.Ending, s int64) int { return cmp.Compare(x.End, s) })
		for ; k < len(ends) && ends[k].End <= ev.End && !room; k++ {
			room = fits(ends[k].End)
		}
		if room {
			continue
		}
		br := &Breach{Kind: result.OverAdmission, Seen: ev.Cost, Bound: p.limit, Roomless: true,
			Events: []history.Event{ev}}
		for _, other := range h.Admitted {
			if other.Seq != ev.Seq && other.End < ev.End && other.Since() > ev.Start &&
				other.End < other.Since() {
				br.Events = append(br.Events, other)
				br.Seen += other.Cost
			}
		}
		br.Span = SpanOf(br.Events)
		return br
	}
	return nil
}

// breachAt lists the requests certainly in flight just after y, latest first, until they exceed the limit.
func (p places) breachAt(h *history.History, y int64) *Breach {
	br := &Breach{Kind: result.OverAdmission, Bound: p.limit}
	for i := len(h.Admitted) - 1; i >= 0 && br.Seen <= p.limit; i-- {
		if ev := h.Admitted[i]; ev.End <= y && y < ev.Since() {
			br.Events = append(br.Events, ev)
			br.Seen += ev.Cost
		}
	}
	br.Span = SpanOf(br.Events)
	return br
}

// placesMeter counts the units that may be in flight at t.
type placesMeter struct {
	limit int64
	inUse
}

func (p places) Usage(h *history.History) Meter {
	m := &placesMeter{p.limit, inUse{starts: h.Possible}}
	for _, ev := range h.Possible {
		m.ends = append(m.ends, history.Ending{End: ev.Until(), Cost: ev.Cost})
	}
	slices.SortFunc(m.ends, func(a, b history.Ending) int { return cmp.Compare(a.End, b.End) })
	return m
}

func (m *placesMeter) Excess(t int64) int64 {
	m.begin(t)
	m.end(t)
	return m.used - m.limit + 1
}

func (p places) Scope() Scope { return Scope{Memory: p.Most, Full: p.limit} }
