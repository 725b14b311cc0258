package check

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// places is the bound of a limit on requests in flight.
//
//	over:   the units with e <= y < since are at most the limit, for all y          all of them are in
//	        flight just after y
//	        an admission needs an instant t of its interval with room beside those with e < t < since
//	under:  units with s <= t and until >= t reach the limit, for some t in the denial's interval
//
// An instant at which one is complete and another decided admits either order, so the places of both may be
// held then, and need not.
type places struct {
	limit int64
	stay
}

func newPlaces(p spec.Policy) places { return places{p.Rate.N, stayOf(p)} }

func (p places) over(h *history) *breach {
	var ends []ending // of the certain stays
	for _, ev := range h.admitted {
		if ev.cost > p.limit {
			return &breach{kind: verdict.OverAdmission, seen: ev.cost, bound: p.limit, span: ev.e - ev.s,
				events: []event{ev}}
		}
		if ev.e < ev.since {
			ends = append(ends, ending{ev.since, ev.cost})
		}
	}
	slices.SortFunc(ends, func(a, b ending) int { return cmp.Compare(a.e, b.e) })
	if br := p.roomless(h, ends); br != nil {
		return br
	}
	var units int64
	gone := 0
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		if ev.e >= ev.since {
			continue
		}
		for ; gone < len(ends) && ends[gone].e <= ev.e; gone++ {
			units -= ends[gone].cost
		}
		if units += ev.cost; units > p.limit {
			return p.breachAt(h, ev.e)
		}
	}
	return nil
}

// roomless returns the breach of an admission that found a place at no instant of its interval. One whose own
// stay is not certain is in the way of no other. Between the ends of two certain stays the load only grows,
// so the instants worth trying are the start of the interval and these.
func (p places) roomless(h *history, ends []ending) *breach {
	gone := newTally(ends)
	var begins []ending
	for _, i := range h.admittedByEnd {
		if ev := h.admitted[i]; ev.e < ev.since {
			begins = append(begins, ending{ev.e, ev.cost})
		}
	}
	come := newTally(begins)
	for _, ev := range h.admitted {
		fits := func(t int64) bool { return come.before(t)-gone.before(t+1)+ev.cost <= p.limit }
		room := fits(ev.s)
		k, _ := slices.BinarySearchFunc(ends, ev.s,
			func(x ending, s int64) int { return cmp.Compare(x.e, s) })
		for ; k < len(ends) && ends[k].e <= ev.e && !room; k++ {
			room = fits(ends[k].e)
		}
		if room {
			continue
		}
		br := &breach{kind: verdict.OverAdmission, seen: ev.cost, bound: p.limit, roomless: true,
			events: []event{ev}}
		for _, other := range h.admitted {
			if other.seq != ev.seq && other.e < ev.e && other.since > ev.s && other.e < other.since {
				br.events = append(br.events, other)
				br.seen += other.cost
			}
		}
		br.span = spanOf(br.events)
		return br
	}
	return nil
}

// breachAt collects what is certainly in flight just after y, the latest first, until it is too much.
func (p places) breachAt(h *history, y int64) *breach {
	br := &breach{kind: verdict.OverAdmission, bound: p.limit}
	for i := len(h.admitted) - 1; i >= 0 && br.seen <= p.limit; i-- {
		if ev := h.admitted[i]; ev.e <= y && y < ev.since {
			br.events = append(br.events, ev)
			br.seen += ev.cost
		}
	}
	br.span = spanOf(br.events)
	return br
}

// placesMeter counts the units that may be in flight at t.
type placesMeter struct {
	limit  int64
	starts []event
	ends   []ending
	i, k   int
	units  int64
}

func (p places) usage(h *history) meter {
	m := &placesMeter{limit: p.limit, starts: h.possible}
	for _, ev := range h.possible {
		m.ends = append(m.ends, ending{ev.until, ev.cost})
	}
	slices.SortFunc(m.ends, func(a, b ending) int { return cmp.Compare(a.e, b.e) })
	return m
}

func (m *placesMeter) unit() int64 { return 1 }

func (m *placesMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	for ; m.k < len(m.ends) && m.ends[m.k].e < t; m.k++ {
		m.units -= m.ends[m.k].cost
	}
	return m.units - m.limit + 1
}

func (p places) scope() scope { return scope{memory: p.most, full: p.limit} }

// placesModel is a limit on requests in flight: its count is the units in flight.
type placesModel struct {
	base
	limit, scale int64
}

func newPlacesModel(p spec.Policy) placesModel { return placesModel{limit: p.Rate.N, scale: 1} }

func (p placesModel) traits() traits { return traits{scale: p.scale} }

func (p placesModel) scaled(k int64) model { return placesModel{limit: p.limit, scale: p.scale * k} }

func (p placesModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 1), zone: newZone(begin)}
}

func (p placesModel) fits(m memoryState, cost int64) bool { return *m.count(0)+cost <= p.limit }

func (p placesModel) admit(m memoryState, a ask) []memoryState {
	if !p.fits(m, a.cost) {
		return nil
	}
	*m.count(0) += a.cost
	return []memoryState{m}
}

func (p placesModel) deny(m memoryState, a ask) []memoryState {
	if p.fits(m, a.cost) {
		return nil
	}
	return []memoryState{m}
}

func (p placesModel) complete(m memoryState, a ask) []memoryState {
	*m.count(0) -= a.cost
	return []memoryState{m}
}

func (p placesModel) short(m memoryState, cost int64) bool {
	return cost <= p.limit && !p.fits(m, cost)
}

func (p placesModel) pass(m memoryState, a ask) []memoryState { return passed(p, m, a) }
