package search

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// promise is what is known of the time from the decision d on a request to its completion c. All are scaled:
//
//	d + least <= c <= d + most,  c <= by
//
// most and by are MaxTime where they are not known.
type promise struct{ cost, least, most, by int64 }

// flights is what an exact search knows of the requests in flight: admitted and not complete. A branch has
// two lists of their promises. For each timed request the zone has a variable, the time of its decision.
// These are the last variables of the zone, in the order of the decisions. A loose request may be complete at
// any time up to an instant that does not depend on its decision.
//
// A completion that only gives back a place may as well wait. It comes when an admission needs the place, or
// at its last moment. Until then it is in nobody's way, and the occupied place explains denials. Of several
// requests the one that must be complete first gives back its place, if it can (exchange argument).
type flights struct {
	// promises ascend by cost, then by `by`. The other three slices have indices into promises. of is the
	// promise of each event. loosened is the promise of each event that became loose. atOnce is, for each
	// class of costs, the promise of a request that is complete when it is decided.
	promises             []promise
	of, loosened, atOnce []int32
	// lost are the promises of the kinds of requests without an outcome. lostOf is the kind of each event,
	// lostClass the class of costs of each kind.
	lost, lostOf []int32
	lostClass    []int8
	// lingers: requests of one kind differ in when they must be complete, or be released by a queue.
	lingers bool
}

// newFlights returns the flights of h under limiters that are told of completions. class is the class of
// costs of each event.
func newFlights(h *history.History, scale int64, costs []int64, class []int8) *flights {
	f := &flights{}
	far := history.MaxTime / 8 / scale
	scaled := func(d int64) int64 {
		if d > far {
			return history.MaxTime
		}
		return d * scale
	}
	of := make([]promise, len(h.All))
	for i, ev := range h.All {
		of[i] = promise{cost: ev.Cost, most: history.MaxTime, by: history.MaxTime}
		switch ev.Outcome {
		case timeline.Allowed:
			of[i] = promise{ev.Cost, min(ev.Least(), far) * scale, scaled(ev.Most()),
				scaled(max(ev.By(), ev.End+ev.Least()))}
		case timeline.Unknown:
			of[i].most, of[i].by = scaled(ev.Most()), scaled(ev.By())
		}
	}
	lost := f.loseKinds(h, of, class)
	atOnce := make([]promise, len(costs))
	for c := range atOnce {
		atOnce[c] = promise{cost: costs[c], by: history.MaxTime}
	}
	all := slices.Concat(of, lost, atOnce)
	for _, p := range all {
		all = append(all, p.loose())
	}
	slices.SortFunc(all, func(a, b promise) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.by, b.by), cmp.Compare(a.least, b.least),
			cmp.Compare(a.most, b.most))
	})
	f.promises = slices.Compact(all)
	f.of, f.lost, f.atOnce = f.indices(of), f.indices(lost), f.indices(atOnce)
	loosened := make([]promise, len(f.promises))
	for i, p := range f.promises {
		loosened[i] = p.loose()
		f.lingers = f.lingers || p.by < history.MaxTime
	}
	f.lingers = f.lingers ||
		slices.ContainsFunc(h.All, func(ev history.Event) bool { return ev.Answer() != ev.End })
	f.loosened = f.indices(loosened)
	return f
}

// loseKinds divides the requests without an outcome into kinds: alike in cost and promise, so
// interchangeable. It returns the promise of each kind. Where there are too many kinds, all requests of a
// cost become one kind that promises nothing.
func (f *flights) loseKinds(h *history.History, of []promise, class []int8) []promise {
	f.lostOf = make([]int32, len(h.All))
	for _, vague := range [2]bool{false, true} {
		var kinds []promise
		index := map[promise]int32{}
		f.lostClass = f.lostClass[:0]
		for i, ev := range h.All {
			if ev.Outcome != timeline.Unknown {
				continue
			}
			p := of[i]
			if vague {
				p = p.vague()
			}
			if _, ok := index[p]; !ok {
				index[p] = int32(len(kinds))
				kinds, f.lostClass = append(kinds, p), append(f.lostClass, class[i])
			}
			f.lostOf[i] = index[p]
		}
		if len(kinds) <= classCap {
			return kinds
		}
	}
	panic("check: more kinds than classes of costs")
}

// vague returns the promise of the same cost that says nothing.
func (p promise) vague() promise {
	return promise{cost: p.cost, most: history.MaxTime, by: history.MaxTime}
}

// loose returns p without what depends on the decision.
func (p promise) loose() promise { return promise{cost: p.cost, most: history.MaxTime, by: p.by} }

// timed tells whether the completion depends on the instant of the decision.
func (p promise) timed() bool { return p.least > 0 || p.most < history.MaxTime }

// before tells whether, with both decided at once, p may be complete whenever q may, and must be no later.
func (p promise) before(q promise) bool {
	return p.cost == q.cost && p.least <= q.least && p.most <= q.most && p.by <= q.by
}

// indices returns the index in f.promises of each promise of list.
func (f *flights) indices(list []promise) []int32 {
	at := make(map[promise]int32, len(f.promises))
	for i, p := range f.promises {
		at[p] = int32(i)
	}
	out := make([]int32, len(list))
	for i, p := range list {
		out[i] = at[p]
	}
	return out
}

// kindsOf divides the events into kinds: alike in cost and promise, so interchangeable but for their ends and
// deadlines. It returns the kind of each event, and how many kinds there are; nil where there are too many.
func (f *flights) kindsOf() (kind []int8, kinds int) {
	kind = make([]int8, len(f.of))
	index := map[promise]int8{}
	for i, k := range f.of {
		p := f.promises[k]
		p.by = 0
		if _, ok := index[p]; !ok {
			if len(index) == classCap {
				return nil, 0
			}
			index[p] = int8(len(index))
		}
		kind[i] = index[p]
	}
	return kind, len(index)
}

// spares is the number of kinds of requests without an outcome; spareOf is the kind of event i.
func (x *Exact) spares() int {
	if x.flights == nil {
		return len(x.costs)
	}
	return len(x.lost)
}

func (x *Exact) spareOf(i int32) int {
	if x.flights == nil {
		return int(x.class[i])
	}
	return int(x.lostOf[i])
}

// use tries a lost request of a kind as an admission. Its completion may have a known deadline `by`. If the
// decision came later than that, the request was complete at once.
func (x *Exact) use(s step, kind int, m limiter.State) {
	if x.flights == nil {
		x.try(s, m)
		return
	}
	s.promise = x.lost[kind]
	by := x.promises[s.promise].by
	if by == history.MaxTime {
		x.roomy(s, m)
		return
	}
	if early := m.Clone(); early.Zone.Limit(zone.Now, 0, by) {
		x.roomy(s, early)
	}
	// others may be decided at this instant before the request is complete
	s.promise = x.atOnce[x.lostClass[kind]]
	x.roomy(s, m)
}

// enter adds an admitted request to those in flight. It tells whether the request is timed.
func (x *Exact) enter(u *undecided, promise int32) (timed bool) {
	if timed = x.promises[promise].timed(); timed {
		u.timed = x.lists.then(u.timed, promise)
	} else {
		u.loose = x.lists.with(u.loose, promise)
	}
	return timed
}

// hold limits the present of a zone: no timed request may be in flight longer than its `most`.
func (x *Exact) hold(z zone.Zone, u undecided) {
	at := x.lists.at[u.timed]
	for k := range len(at) / 4 {
		if p := x.promises[indexAt(at, k)]; p.most < history.MaxTime {
			z.Limit(zone.Now, z.N-len(at)/4+k, p.most+x.lag)
		}
	}
}

// loosen makes a timed request in flight loose once it may be complete at the scaled instant lo, whenever it
// was decided, and has no `most`.
func (x *Exact) loosen(n *branch, lo int64) {
	for k := 0; k < len(x.lists.at[n.timed])/4; k++ {
		at := x.lists.at[n.timed]
		id := indexAt(at, k)
		i := n.Zone.N - len(at)/4 + k
		if p := x.promises[id]; p.most < history.MaxTime || n.Zone.At[i*n.Zone.N] > lo-p.least {
			continue
		}
		n.Zone = n.Zone.Drop(i)
		n.timed = x.lists.without(n.timed, k)
		n.loose = x.lists.with(n.loose, x.loosened[id])
		k--
	}
}

// landing returns the scaled instant by which the first request in flight must be complete; MaxTime: none
// must.
func (x *Exact) landing(u undecided) int64 {
	end := history.MaxTime
	for _, list := range [2]int32{u.timed, u.loose} {
		at := x.lists.at[list]
		for k := range len(at) / 4 {
			end = min(end, x.promises[indexAt(at, k)].by)
		}
	}
	return end
}

// flight is a request in flight: element k of the timed list or of the loose list.
type flight struct {
	k     int
	timed bool
	promise
}

// next returns the requests in flight that may be the next to be complete. Any other request may as well be
// complete after one of them.
func (x *Exact) next(u undecided) []flight {
	var out []flight
	loose := x.lists.at[u.loose]
	for k := range len(loose) / 4 {
		if p := x.promises[indexAt(loose, k)]; len(out) == 0 || out[len(out)-1].cost != p.cost {
			out = append(out, flight{k, false, p})
		}
	}
	at := x.lists.at[u.timed]
	for k := range len(at) / 4 {
		one := flight{k, true, x.promises[indexAt(at, k)]}
		if !slices.ContainsFunc(out, func(f flight) bool { return f.before(one.promise) }) {
			out = append(out, one)
		}
	}
	return out
}

// landed completes the request f at the present of m. It returns what is undecided after that, and the
// limiter states; none where f cannot be complete then.
func (x *Exact) landed(u undecided, m limiter.State, f flight) (undecided, []limiter.State) {
	m = m.Clone()
	at := m.Zone.N - len(x.lists.at[u.timed])/4 + f.k
	if f.timed && !m.Zone.Limit(at, zone.Now, x.lag-f.least) {
		return u, nil
	}
	states := x.Model.Complete(m, limiter.Request{Cost: f.cost, End: history.MaxTime})
	if !f.timed {
		u.loose = x.lists.without(u.loose, f.k)
		return u, states
	}
	for i := range states {
		states[i].Zone = states[i].Zone.Drop(at)
	}
	u.timed = x.lists.without(u.timed, f.k)
	return u, states
}

// land adds the branches that n leads to by one completion.
func (x *Exact) land(n *branch, m limiter.State) {
	for _, f := range x.next(n.undecided) {
		for _, last := range x.moments(n.undecided, m, f) {
			u, states := x.landed(n.undecided, last, f)
			x.keep(step{to: u, absorbed: n.absorbed}, states)
		}
	}
}

// moments returns m with the present limited to when f may be complete of its own accord. With Eager that is
// any time. Otherwise it is the last moment only, as a place that nobody needs may be held until then.
func (x *Exact) moments(u undecided, m limiter.State, f flight) []limiter.State {
	if x.Eager {
		return []limiter.State{m}
	}
	var out []limiter.State
	if last := m.Clone(); f.by < history.MaxTime && last.Zone.Limit(0, zone.Now, -f.by) {
		out = append(out, last)
	}
	if f.most < history.MaxTime {
		at := m.Zone.N - len(x.lists.at[u.timed])/4 + f.k
		if last := m.Clone(); last.Zone.Limit(at, zone.Now, -f.most-x.lag) {
			out = append(out, last)
		}
	}
	return out
}

// roomy tries an admission. Where places are short it tries each way to free them: which requests in flight
// are complete just before.
func (x *Exact) roomy(s step, m limiter.State) {
	if x.flights == nil || x.Eager || !x.Model.Short(m, s.Cost) {
		x.try(s, m)
		return
	}
	for _, f := range x.next(s.to) {
		left, states := x.landed(s.to, m, f)
		for _, after := range states {
			to := s
			to.to = left
			x.roomy(to, after)
		}
	}
}

// sooner tells whether event i must be complete, or released, before every request of its kind in ahead.
// These requests end earlier than event i.
func (x *Exact) sooner(ahead string, i int32) bool {
	for k := range len(ahead) / 4 {
		if j := x.order[indexAt(ahead, k)]; x.kind[j] == x.kind[i] && x.stays(i, j) {
			return false
		}
	}
	return true
}

// mostAbreast is the largest number that abreast returns.
const mostAbreast = 256

// stays tells whether event i may be complete, and released, as late as event j.
func (x *Exact) stays(i, j int32) bool {
	return x.promises[x.of[i]].by >= x.promises[x.of[j]].by && x.h.All[i].Answer() >= x.h.All[j].Answer()
}

// abreast returns the most timed requests that may be in flight at once: variables of the zone.
func (x *Exact) abreast() int {
	if x.flights == nil {
		return 0
	}
	var ends []int64
	most := 0
	for i, ev := range x.h.All { // ascending by start
		if p := x.promises[x.of[i]]; !p.timed() || ev.Outcome == timeline.Denied {
			continue
		}
		ends = slices.DeleteFunc(ends, func(end int64) bool { return end < ev.Start })
		end := ev.Until()
		if x.promises[x.of[i]].most == history.MaxTime {
			end = ev.End + ev.Least()
		}
		if ends = append(ends, end); len(ends) > most {
			most = len(ends)
		}
		if most == mostAbreast {
			break
		}
	}
	return most
}
