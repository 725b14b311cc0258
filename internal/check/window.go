package check

import (
	"math/bits"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// windows are the windows [P + k*W, P + (k+1)*W) for every phase P in the closed box [from, to] and every
// length W in the closed box [size, sizeTo]. Whatever is said of them holds for all of these.
type windows struct{ from, to, size, sizeTo int64 }

// newWindows returns the windows of p for a box of phases.
func newWindows(p spec.Policy, from, to int64) windows {
	return windows{from, to, int64(p.Rate.Per), int64(p.LongestWindow())}
}

// first and last return the smallest and the largest window that the closed interval [s,e] may touch.
func (w windows) first(s int64) int64 {
	if s < w.to {
		return floorDiv(s-w.to, w.size)
	}
	return floorDiv(s-w.to, w.sizeTo)
}

func (w windows) last(e int64) int64 {
	if e < w.from {
		return floorDiv(e-w.from, w.sizeTo)
	}
	return floorDiv(e-w.from, w.size)
}

// earliest and latest return when window k begins at the earliest, and the instant before which it ends at
// the latest.
func (w windows) earliest(k int64) int64 {
	if k >= 0 {
		return w.from + k*w.size
	}
	hi, lo := bits.Mul64(uint64(-k), uint64(w.sizeTo))
	if hi > 0 || lo >= uint64(maxTime) { // see latest
		return minTime
	}
	return w.from - int64(lo)
}
func (w windows) latest(k int64) int64 {
	if k < 0 {
		return w.to + (k+1)*w.size
	}
	hi, lo := bits.Mul64(uint64(k+1), uint64(w.sizeTo))
	// as many of the shortest reach an instant, as many of the longest may be beyond all
	if hi > 0 || lo >= uint64(maxTime) {
		return maxTime
	}
	return w.to + int64(lo)
}

// least and most return the length at which k windows that follow the phase (or, for a negative k, come
// before it) reach the earliest and the latest instant.
func (w windows) least(k int64) int64 {
	if k < 0 {
		return w.sizeTo
	}
	return w.size
}

func (w windows) most(k int64) int64 {
	if k < 0 {
		return w.size
	}
	return w.sizeTo
}

// at returns the window in which the present of z lies: the same for the whole of it, and for every phase of
// the box.
func (w windows) at(z zone) int64 { return w.first(-z.bound(0, now)) }

func (w windows) scaled(k int64) windows {
	return windows{w.from * k, w.to * k, w.size * k, w.sizeTo * k}
}

// begins returns the instants of [from, to] at which a window begins, at its earliest: the first 2^16 of
// them.
func (w windows) begins(from, to int64) []int64 {
	var out []int64
	for k := w.last(from); ; k++ {
		begin := w.earliest(k)
		if begin > to || len(out) == windowCap {
			return out
		}
		if begin >= from {
			out = append(out, begin)
		}
	}
}

// seat says that an event of some cost may lie in the windows lo..hi. Of those with the same last window the
// one with the smallest end e goes first, where that is told.
type seat struct{ lo, hi, cost, e int64 }

// after tells whether x goes after y.
func (x seat) after(y seat) bool {
	return x.hi > y.hi || x.hi == y.hi && (x.e > y.e || x.e == y.e && x.cost > y.cost)
}

// seating returns a function that gives the seats of events 0, 1, 2, ..., asked for in this order; lo
// ascends.
type seating func() func(i int) seat

// seatHeap has the events that are not placed yet, that with the smallest last window first: a heap of which
// the children of k are 2k+1 and 2k+2.
type seatHeap []seat

func (q *seatHeap) push(x seat) {
	h := append(*q, x)
	k := len(h) - 1
	for k > 0 && h[(k-1)/2].after(x) {
		h[k] = h[(k-1)/2]
		k = (k - 1) / 2
	}
	h[k] = x
	*q = h
}

// pop drops the first.
func (q *seatHeap) pop() {
	h := (*q)[:len(*q)-1]
	if len(h) > 0 {
		x, k := (*q)[len(h)], 0
		for child := 1; child < len(h); child = 2*k + 1 {
			if child+1 < len(h) && h[child].after(h[child+1]) {
				child++
			}
			if !x.after(h[child]) {
				break
			}
			h[k] = h[child]
			k = child
		}
		h[k] = x
	}
	*q = h
}

// overfull places each event in one of its windows, earliest deadline first, at most quota units a window,
// where an event of several units may be divided. For a set of windows without gaps that is possible exactly
// when Hall's condition holds; where it fails, overfull returns the events that must lie in windows k1..k2
// and are too many.
func overfull(evs []event, seats seating, quota int64) *breach {
	if len(evs) == 0 {
		return nil
	}
	var waiting seatHeap // each may lie in window k, or in a later one
	at, next := seats(), 1
	coming := at(0)
	for k := coming.lo; ; k++ {
		room := quota
		for next <= len(evs) && coming.lo <= k {
			if coming.hi > k {
				waiting.push(coming)
			} else {
				room -= coming.cost
			}
			if next < len(evs) {
				coming = at(next)
			}
			next++
		}
		if room < 0 || !waiting.settle(room, k) {
			return crowd(evs, seats(), next-1, k, quota)
		}
		if len(waiting) == 0 {
			if next > len(evs) {
				return nil
			}
			k = coming.lo - 1
		}
	}
}

// settle fills the rest of window k, earliest deadline first, and returns false where another event must lie
// in window k. An event that costs more than the room left takes that room, and waits on with the units that
// found none: dividing a request is in the target's favour. The first event of the heap stays the first when
// its cost falls.
func (q *seatHeap) settle(room, k int64) bool {
	for room > 0 && len(*q) > 0 {
		placed := min((*q)[0].cost, room)
		room -= placed
		if (*q)[0].cost -= placed; (*q)[0].cost == 0 {
			q.pop()
		}
	}
	return len(*q) == 0 || (*q)[0].hi > k
}

// crowd finds, of the first n events, the latest k1 such that those confined to windows k1..k2 exceed their
// quota, and returns just as many of them as prove it.
func crowd(evs []event, at func(i int) seat, n int, k2, quota int64) *breach {
	seats := make([]seat, n)
	for i := range seats {
		seats[i] = at(i)
	}
	br := &breach{kind: verdict.OverAdmission}
	for i := n - 1; i >= 0; i-- {
		if seats[i].hi > k2 {
			continue
		}
		br.events = append(br.events, evs[i])
		br.seen += evs[i].cost
		if n := k2 - seats[i].lo + 1; br.seen > n*quota {
			br.bound, br.windows = n*quota, n
			br.span = spanOf(br.events)
			return br
		}
	}
	return nil
}

// spanOf returns the time from the first start to the last end of evs.
func spanOf(evs []event) int64 {
	lo, hi := evs[0].s, evs[0].e
	for _, ev := range evs {
		lo, hi = min(lo, ev.s), max(hi, ev.e)
	}
	return hi - lo
}

// windowMeter counts the units that may be in the window that contains an instant, or in it and some before
// it.
type windowMeter struct {
	windows
	// n is the number of windows that count.
	n, quota int64
	starts   []event
	i        int
	units    int64
	gone     tally
}

// newWindowMeter returns the meter of n windows that follow each other; all: denied requests are counted too.
func newWindowMeter(h *history, w windows, n, quota int64, all bool) *windowMeter {
	return &windowMeter{windows: w, n: n, quota: quota, starts: h.counted(all),
		gone: newTally(h.countedEnds(all))}
}

func (m *windowMeter) unit() int64 { return 1 }

func (m *windowMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	// Of the windows that may contain t, the one that began first holds the most, and has the most behind it.
	begin := max(m.earliest(m.first(t)-m.n+1), t-m.n*m.sizeTo+1)
	return m.units - m.gone.before(begin) - m.quota + 1
}
