package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// first is the bound of the fixed window that a partition's first request opens: a window begins at the
// decision of the request that finds none open, which is admitted, and lasts for size. When it begins is
// known up to an interval, which is carried from window to window.
type first struct {
	quota int64
	// size is the least and sizeTo the greatest length of a window.
	size, sizeTo int64
	// all: denied requests count too; one that costs more than the quota opens a window. others: so does one
	// that another policy denied.
	all, others bool
}

func newFirst(p spec.Policy) first {
	return first{quota: p.Rate.N, size: int64(p.Rate.Per), sizeTo: int64(p.LongestWindow()),
		all: p.Count == spec.CountAll}
}

// openers returns the events that may open a window, ascending by start, and their ends.
func (f first) openers(h *history) ([]event, []ending) {
	dear := func(ev event) bool { return ev.cost > f.quota && (ev.outcome == timeline.Denied || ev.mute) }
	if f.others || f.all && slices.ContainsFunc(h.all, dear) {
		return h.all, endings(h.all)
	}
	if slices.ContainsFunc(h.possible, func(ev event) bool { return ev.mute }) { // they were denied
		known := slices.DeleteFunc(slices.Clone(h.possible), func(ev event) bool { return ev.mute })
		return known, endings(known)
	}
	return h.possible, h.possibleEnds
}

// openings returns the interval in which window 0, 1, ... begins, ascending at both ends. Only requests that
// may have been admitted open windows; the first of them all opens window 0. The list ends when no later
// window is certain.
func (f first) openings(h *history) []opening {
	openers, ends := f.openers(h)
	w := opener{openers: openers, ends: ends, admitted: h.admitted}
	var out []opening
	switch {
	case h.placed != nil:
		out = w.handed(h.placed, f.sizeTo)
	case len(openers) == 0:
		return nil
	default:
		out = []opening{{openers[0].s, maxTime}}
		if len(h.admittedByEnd) > 0 { // only a sure admission bounds an opening from above
			out[0].to = h.admitted[h.admittedByEnd[0]].e
		}
	}
	for range openers { // every window is opened by a request of its own
		o := out[len(out)-1]
		lowest := w.earliestDecision(o.from + f.size)
		if lowest == maxTime {
			break
		}
		highest := maxTime
		if o.to < maxTime {
			highest = w.earliestEnd(o.to + f.sizeTo)
		}
		out = append(out, opening{lowest, highest})
	}
	return out
}

// opener finds who may open a window, and who surely has, for instants that do not decrease.
type opener struct {
	openers  []event
	ends     []ending
	admitted []event
	// begun, over and sure are the numbers of them that lie before the last instant.
	begun, over, sure int
}

// earliestDecision returns the earliest instant at or after from at which one may be decided, maxTime if none
// may.
func (w *opener) earliestDecision(from int64) int64 {
	for w.begun < len(w.openers) && w.openers[w.begun].s < from {
		w.begun++
	}
	for w.over < len(w.ends) && w.ends[w.over].e < from {
		w.over++
	}
	switch {
	case w.begun > w.over:
		return from // one that began before is still undecided
	case w.begun < len(w.openers):
		return w.openers[w.begun].s
	default:
		return maxTime
	}
}

// earliestEnd returns the smallest end of an admission that starts at or after from, maxTime if there is
// none.
func (w *opener) earliestEnd(from int64) int64 {
	for w.sure < len(w.admitted) && w.admitted[w.sure].s < from {
		w.sure++
	}
	end := maxTime
	for i := w.sure; i < len(w.admitted) && w.admitted[i].s <= end; i++ {
		end = min(end, w.admitted[i].e)
	}
	return end
}

func (f first) over(h *history) *breach {
	if br := tooDear(h, f.quota); br != nil {
		return br
	}
	open, admitted := f.openings(h), h.admitted
	if h.placed != nil { // what may have been decided before may lie in an earlier window
		admitted = admitted[startingBefore(admitted, h.placed.since):]
	}
	return overfull(admitted, func() func(int) seat { return f.seats(admitted, open) }, f.quota)
}

// seats returns the seats of events, ascending by start, of which none ends before the first window begins.
func (f first) seats(evs []event, open []opening) func(i int) seat {
	lo, hi := 0, 0
	return func(i int) seat {
		ev := &evs[i]
		// Not before window lo: the one before has ended for sure when the request is sent.
		for lo < len(open) && open[lo].to < maxTime && ev.s >= open[lo].to+f.sizeTo {
			lo++
		}
		for hi < len(open) && open[hi].from <= ev.e {
			hi++
		}
		for hi > 1 && open[hi-1].from > ev.e {
			hi--
		}
		return seat{int64(min(lo, hi-1)), int64(hi - 1), ev.cost, ev.e}
	}
}

// firstMeter counts the units that may lie in an open window that contains t.
type firstMeter struct {
	first
	open   []opening
	starts []event
	i, k   int
	units  int64
	gone   tally
}

func (f first) usage(h *history) meter {
	return &firstMeter{first: f, open: f.openings(h), starts: h.counted(f.all),
		gone: newTally(h.countedEnds(f.all))}
}

func (m *firstMeter) unit() int64 { return 1 }

func (m *firstMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	for m.k < len(m.open) && m.open[m.k].to < maxTime && m.open[m.k].to+m.sizeTo <= t {
		m.k++
	}
	if m.k == len(m.open) || m.open[m.k].from > t {
		return 1 - m.quota // no window can be open, and nothing is in use
	}
	begin := max(m.open[m.k].from, t-m.sizeTo+1)
	return m.units - m.gone.before(begin) - m.quota + 1
}

func (f first) scope() scope { return scope{memory: f.sizeTo, full: f.quota, all: f.all} }

// opened is the index of the time at which the open window of a firstModel began. Its counts are wasOpened, 1
// while a window was ever open, and inWindow.
const (
	opened    = firstVariable
	wasOpened = 0
	inWindow  = 1
)

// firstModel is a fixed window that a request opens: one that is counted.
type firstModel struct {
	base
	first
	scale int64
}

func (f firstModel) traits() traits { return traits{scale: f.scale, counted: f.all} }

func (f firstModel) scaled(k int64) model {
	f.scale *= k
	f.size *= k
	return f
}

func (f firstModel) pass(m memoryState, a ask) []memoryState { return passed(f, m, a) }

func (f firstModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 2), zone: newZone(begin, begin)}
}

func (f firstModel) admit(m memoryState, a ask) []memoryState {
	if a.cost > f.quota {
		return nil
	}
	var out []memoryState
	if *m.count(wasOpened) == 1 && *m.count(inWindow)+a.cost <= f.quota {
		in := m.clone()
		if in.zone.limit(now, opened, f.size-f.scale) {
			*in.count(inWindow) += a.cost
			out = append(out, in)
		}
	}
	if *m.count(wasOpened) == 0 || m.zone.limit(opened, now, -f.size) {
		m.zone.set(opened, now, 0)
		*m.count(wasOpened), *m.count(inWindow) = 1, a.cost
		out = append(out, m)
	}
	return out
}

func (f firstModel) deny(m memoryState, a ask) []memoryState {
	if a.cost > f.quota {
		return f.denyDear(m)
	}
	if *m.count(wasOpened) == 0 || *m.count(inWindow)+a.cost <= f.quota ||
		!m.zone.limit(now, opened, f.size-f.scale) {
		return nil
	}
	if f.all {
		*m.count(inWindow) = f.quota
	}
	return []memoryState{m}
}

// denyDear denies a request that costs more than the quota, which fills the window where it is counted.
func (f firstModel) denyDear(m memoryState) []memoryState {
	if !f.all {
		return []memoryState{m}
	}
	var out []memoryState
	if in := m.clone(); *m.count(wasOpened) == 1 && in.zone.limit(now, opened, f.size-f.scale) {
		*in.count(inWindow) = f.quota
		out = append(out, in)
	}
	if *m.count(wasOpened) == 0 || m.zone.limit(opened, now, -f.size) {
		m.zone.set(opened, now, 0)
		*m.count(wasOpened), *m.count(inWindow) = 1, f.quota
		out = append(out, m)
	}
	return out
}

// forget: a window that has ended at lo is as good as none.
func (f firstModel) forget(m memoryState, lo int64) {
	if m.zone.bound(opened, 0) <= lo-f.size {
		m.zone.free(opened, lo-f.size)
		*m.count(wasOpened), *m.count(inWindow) = 0, 0
	}
}

// openingSweep is first.openings of a history that comes block by block.
type openingSweep struct {
	first
	// open are the openings that may still matter; the first `settled` are known at both ends, of the others
	// the later end is not known yet, and maxTime.
	open    []opening
	settled int
	// may are the requests that may open the next window, sure the admissions that begin at or after `after`:
	// the one of them that ends first bounds the first opening that is not settled.
	may, sure []event
	after     int64
	// lost is the first of those that may open any window to come, since no answer came: the others of them,
	// which are not in may, began later.
	lost *event
	// begun are the requests that may have opened a window, made the openings: no more.
	begun, made int
	// chain are the admissions that bound the openings, from the first on, as far as they are kept.
	chain []event
}

// mostChain is the most admissions of a chain that are kept.
const mostChain = 1 << 16

// extend takes the events that begin before the horizon and were not taken yet, ascending by s.
func (w *openingSweep) extend(fresh []event, horizon int64) {
	for i := range fresh {
		if fresh[i].outcome == timeline.Denied && !w.others && !(w.all && fresh[i].cost > w.quota) {
			continue
		}
		if w.begun++; fresh[i].e < maxTime {
			w.may = append(w.may, fresh[i])
		} else if w.lost == nil {
			lost := fresh[i]
			w.lost = &lost
		}
		if fresh[i].outcome == timeline.Allowed && fresh[i].s >= w.after {
			w.sure = append(w.sure, fresh[i])
		}
	}
	if from := w.earliest(); w.made == 0 && from < maxTime {
		w.add(from)
	}
	for w.settle(horizon); w.made > 0 && w.next(horizon); {
		w.settle(horizon)
	}
}

func (w *openingSweep) add(from int64) {
	w.open = append(w.open, opening{from, maxTime})
	w.made++
}

// next adds the next opening, if it is known when that may be at the earliest.
func (w *openingSweep) next(horizon int64) bool {
	x := w.open[len(w.open)-1].from + w.size
	if x >= horizon || w.made >= w.begun {
		return false
	}
	w.may = slices.DeleteFunc(w.may, func(ev event) bool { return ev.e < x })
	from := w.earliest()
	if from == maxTime {
		return false
	}
	w.add(max(x, from))
	return true
}

// earliest returns when the first request began that may open the next window, maxTime where there is none.
func (w *openingSweep) earliest() int64 {
	from := maxTime
	if len(w.may) > 0 {
		from = w.may[0].s
	}
	if w.lost != nil {
		from = min(from, w.lost.s)
	}
	return from
}

// settle finds the later ends of openings.
func (w *openingSweep) settle(horizon int64) {
	for w.settled < len(w.open) {
		first := -1
		for i := range w.sure {
			if first < 0 || w.sure[i].e < w.sure[first].e {
				first = i
			}
		}
		if first < 0 || w.sure[first].e >= horizon {
			return
		}
		if len(w.chain) < mostChain {
			w.chain = append(w.chain, w.sure[first])
		}
		w.open[w.settled].to = w.sure[first].e
		w.after = w.sure[first].e + w.sizeTo
		w.settled++
		w.sure = slices.DeleteFunc(w.sure, func(ev event) bool { return ev.s < w.after })
	}
}

// forget drops the first k openings, which are settled, when they are many, but for the last one, which the
// next one follows; it returns how many it dropped.
func (w *openingSweep) forget(k int) int {
	k = min(k, len(w.open)-1)
	if k < 64 || 2*k < len(w.open) {
		return 0
	}
	w.open = append(w.open[:0], w.open[k:]...)
	w.settled -= k
	return k
}

func (f first) swept() overSweep {
	return &firstOver{openingSweep: openingSweep{first: f, after: minTime}}
}

// firstOver is first.over: it places the admissions of each window once no further one can lie in it.
type firstOver struct {
	openingSweep
	// queue are the admissions from number next on that are not placed yet; waiting those that may lie in
	// window k or in a later one, by their ends.
	queue   []event
	next    int
	waiting seatHeap
	k       int
	// latest is the last end of those that were placed, or wait.
	latest int64
}

func (f *firstOver) advance(fresh, _ []event, _, horizon int64) *alarm {
	f.extend(fresh, horizon)
	f.queue, f.next = refill(f.queue, f.next, nil)
	for i := range fresh {
		if fresh[i].outcome == timeline.Allowed {
			f.queue = append(f.queue, fresh[i])
		}
	}
	for ; f.k < len(f.open); f.k++ {
		o, last := f.open[f.k], f.k+1 == len(f.open)
		if horizon < maxTime && (f.k >= f.settled || o.to+f.sizeTo >= horizon) {
			break
		}
		end := horizon - 1 // the next one begins at the horizon or later
		if !last {
			end = f.open[f.k+1].from - 1
		} else if horizon < maxTime &&
			(f.lost != nil || slices.ContainsFunc(f.may,
				func(ev event) bool { return ev.e >= o.from+f.size })) {
			break // it may have begun before
		}
		if !f.fill(o, last, end) {
			br := breach{kind: verdict.OverAdmission, bound: f.quota, seen: f.quota + 1, span: f.size,
				windows: 1}
			return &alarm{breach: br, from: o.from, to: min(end, f.latest), placing: f.chain}
		}
	}
	f.k -= f.forget(f.k)
	return nil
}

// fill places what must lie in a window, or in one before the next that begins after an instant.
func (f *firstOver) fill(o opening, last bool, end int64) bool {
	room := f.quota
	for ; f.next < len(f.queue) &&
		(last && end == maxTime-1 || o.to == maxTime || f.queue[f.next].s < o.to+f.sizeTo); f.next++ {
		ev := &f.queue[f.next]
		if f.latest = max(f.latest, ev.e); ev.e > end {
			f.waiting.push(seat{hi: ev.e, cost: ev.cost, e: ev.e})
		} else {
			room -= ev.cost
		}
	}
	return room >= 0 && f.waiting.settle(room, end)
}
