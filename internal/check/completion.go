package check

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// stay is what a policy says of the time from the decision d on an admitted request to its completion c, at
// which its place is given back or its charge is made:
//
//	d + least <= c <= d + most        c <= done + linger
//	d + least <= done                 the last byte of the answer is not sent before, and is read at done
//
// Of these only d + least <= c is a promise that a place is held, and nothing but such a promise can prove
// that too many were in flight: whatever we see of an answer, the server may have given the place back before
// it wrote it, and it may have decided only just before. What the target does for each request (a route that
// sleeps, or works, for least) is known to whoever declares the policy. The second line then says when it was
// decided at the latest, which is what makes the interval of a slow answer narrow: d lies in [s, min(first
// byte, done - least)].
//
// A request whose answer was whole too early for that, or whose last byte was not seen (it may have been
// given up), may have been complete at any time from its decision on. That is the reading kindest to the
// target, and it makes no accusation out of a promise that does not hold.
//
// Nor does most hold for a request whose last byte came later than most after it was sent: who serves it
// stood still for a while. Such a one may hold its place until most after its last byte.
//
// Without most, and with linger unknown, a place may be held for ever: then no denial proves anything once as
// many were admitted as there are places.
type stay struct {
	told bool
	// least is 0, most and linger are maxTime, where they are not known.
	least, most, linger int64
}

func stayOf(p spec.Policy) stay {
	if !p.Completes() {
		return stay{}
	}
	s := stay{told: true, least: int64(p.HoldLeast), most: maxTime, linger: maxTime}
	if p.HoldMost > 0 {
		s.most = int64(p.HoldMost)
	}
	if p.LingerSet {
		s.linger = int64(p.Linger)
	}
	return s
}

// completions notes when each event of h, whose observations are given, may be complete, as all of some stays
// say. The events are as newHistory made them.
func (h *history) completions(obs []timeline.Observation, w widening, stays ...stay) {
	if !slices.ContainsFunc(stays, func(s stay) bool { return s.told }) {
		return
	}
	for i := range h.all {
		for _, s := range stays {
			if s.told {
				h.all[i].complete(&obs[i], w, s)
			}
		}
	}
	h.split()
}

// complete notes when ev, which is the observation o, may be complete: what a stay says beside what is noted.
func (ev *event) complete(o *timeline.Observation, w widening, s stay) {
	done := maxTime
	if o.Answered && o.Done > 0 {
		done = int64(o.Done) + w.right + w.drift(int64(o.Done))
	}
	if ev.outcome == timeline.Allowed && done < maxTime && done-s.least >= ev.s+w.tick {
		ev.least = max(ev.least, s.least)
		ev.e = min(ev.e, done-s.least)
	}
	ev.since = max(ev.since, ev.s+ev.least)
	by, most, until := later(done, s.linger), s.most, later(ev.e, s.most)
	if done < maxTime && done-ev.s > s.most {
		most, until = maxTime, later(done, s.most)
		by = min(by, until)
	}
	ev.until = min(ev.until, until, max(later(done, s.linger), ev.e+ev.least))
	ev.by, ev.most = min(ev.by, by), min(ev.most, most)
}

// later adds two times of which either may be maxTime.
func later(t, d int64) int64 {
	if t == maxTime || d == maxTime {
		return maxTime
	}
	return min(t+d, maxTime)
}

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

func (p places) scope() scope { return scope{memory: p.most, full: p.limit} }
