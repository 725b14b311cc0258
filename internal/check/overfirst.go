package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

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
