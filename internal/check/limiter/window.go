package limiter

import (
	"math/bits"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Grid are the windows [P + k*W, P + (k+1)*W). Their phase P is any of the closed box [from, to], their
// length W any of the closed box [size, sizeTo], in nanoseconds. What its methods tell holds for all of
// these.
//
//	k = 0 begins within    [from...to]
//	k = 1 begins within           [from+size.............to+sizeTo]
//	k = 2 begins within                  [from+2*size.........................to+2*sizeTo]
type Grid struct{ from, to, size, sizeTo int64 }

// NewGrid returns the windows of p for a box of phases.
func NewGrid(p spec.Policy, from, to int64) Grid {
	return Grid{from, to, int64(p.ShortestWindow()), int64(p.LongestWindow())}
}

// FirstOf returns the smallest window that an interval which starts at s may touch.
func (w Grid) FirstOf(s int64) int64 {
	if s < w.to {
		return history.FloorDiv(s-w.to, w.size)
	}
	return history.FloorDiv(s-w.to, w.sizeTo)
}

// LastOf returns the largest window that an interval which ends at e may touch.
func (w Grid) LastOf(e int64) int64 {
	if e < w.from {
		return history.FloorDiv(e-w.from, w.sizeTo)
	}
	return history.FloorDiv(e-w.from, w.size)
}

// earliest returns the earliest instant at which window k may begin.
func (w Grid) earliest(k int64) int64 {
	if k >= 0 {
		return w.from + k*w.size
	}
	hi, lo := bits.Mul64(uint64(-k), uint64(w.sizeTo))
	if hi > 0 || lo >= uint64(history.MaxTime) { // see latest
		return history.MinTime
	}
	return w.from - int64(lo)
}

// Latest returns the instant before which window k ends at the latest.
func (w Grid) Latest(k int64) int64 {
	if k < 0 {
		return w.to + (k+1)*w.size
	}
	hi, lo := bits.Mul64(uint64(k+1), uint64(w.sizeTo))
	// k+1 of the shortest windows may still reach an instant where k+1 of the longest lie beyond all time
	if hi > 0 || lo >= uint64(history.MaxTime) {
		return history.MaxTime
	}
	return w.to + int64(lo)
}

// least returns the length of windows at which window k begins earliest, most the length at which it begins
// latest. Windows before the phase (k < 0) begin earlier the longer they are.
func (w Grid) least(k int64) int64 {
	if k < 0 {
		return w.sizeTo
	}
	return w.size
}

func (w Grid) most(k int64) int64 {
	if k < 0 {
		return w.size
	}
	return w.sizeTo
}

// at returns the window in which the present of z lies. It is the same for the whole range of the present,
// and for every phase of the box.
func (w Grid) at(z Zone) int64 { return w.FirstOf(-z.Bound(0, ZoneNow)) }

func (w Grid) scaled(k int64) Grid {
	return Grid{w.from * k, w.to * k, w.size * k, w.sizeTo * k}
}

// begins returns the earliest starts of windows that lie in [from, to], ascending. It returns the first
// WindowCap of them.
func (w Grid) begins(from, to int64) []int64 {
	var out []int64
	for k := w.LastOf(from); ; k++ {
		begin := w.earliest(k)
		if begin > to || len(out) == WindowCap {
			return out
		}
		if begin >= from {
			out = append(out, begin)
		}
	}
}

// Seat says that an event may lie in the windows Lo..Hi. Events are placed in the order of Hi. e breaks ties,
// where it is set: the smaller end goes first.
type Seat struct{ Lo, Hi, Cost, e int64 }

func (x Seat) after(y Seat) bool {
	return x.Hi > y.Hi || x.Hi == y.Hi && (x.e > y.e || x.e == y.e && x.Cost > y.Cost)
}

// seating returns a function that gives the seats of events 0, 1, 2, ... It must be asked in this order. Lo
// ascends.
type seating func() func(i int) Seat

// seatHeap has the events that are not placed yet, as a binary heap: the smallest last window is first. The
// children of k are 2k+1 and 2k+2.
type seatHeap []Seat

func (q *seatHeap) push(x Seat) {
	h := append(*q, x)
	k := len(h) - 1
	for k > 0 && h[(k-1)/2].after(x) {
		h[k] = h[(k-1)/2]
		k = (k - 1) / 2
	}
	h[k] = x
	*q = h
}

// pop drops the first element.
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

// Overfull places each event in one of its windows, earliest deadline first, at most quota units a window. An
// event of several units may be divided. That succeeds exactly if Hall's condition holds: for all k1 <= k2,
// the events confined to windows k1..k2 have at most (k2-k1+1)*quota units. Where it fails, Overfull returns
// events confined to k1..k2 that are too many. It returns nil where it succeeds. Cost: O(n log n).
func Overfull(evs []history.Event, seats seating, quota int64) *Breach {
	if history.Volume(evs) <= quota {
		return nil
	}
	var waiting seatHeap // each may lie in window k, or in a later one
	at, next := seats(), 1
	coming := at(0)
	for k := coming.Lo; ; k++ {
		room := quota
		for next <= len(evs) && coming.Lo <= k {
			if coming.Hi > k {
				waiting.push(coming)
			} else {
				room -= coming.Cost
			}
			if next < len(evs) {
				coming = at(next)
			}
			next++
		}
		if room < 0 || !waiting.settle(room, k) {
			return overfullWindows(evs, seats(), next-1, k, quota)
		}
		if len(waiting) == 0 {
			if next > len(evs) {
				return nil
			}
			k = coming.Lo - 1
		}
	}
}

// settle fills the rest of window k, earliest deadline first. false: an event that is left must lie in window
// k. An event that costs more than the room takes the room, and its other units wait. Dividing a request
// favours the target. The first event of the heap stays first when its cost falls.
func (q *seatHeap) settle(room, k int64) bool {
	for room > 0 && len(*q) > 0 {
		placed := min((*q)[0].Cost, room)
		room -= placed
		if (*q)[0].Cost -= placed; (*q)[0].Cost == 0 {
			q.pop()
		}
	}
	return len(*q) == 0 || (*q)[0].Hi > k
}

// overfullWindows takes the first n events. It finds the latest k1 for which the events confined to windows
// k1..k2 exceed their quota. It returns only as many of these events as prove the excess.
func overfullWindows(evs []history.Event, at func(i int) Seat, n int, k2, quota int64) *Breach {
	seats := make([]Seat, n)
	for i := range seats {
		seats[i] = at(i)
	}
	br, confined := &Breach{Kind: result.OverAdmission}, 0
	for i := n - 1; i >= 0; i-- {
		if seats[i].Hi > k2 {
			continue
		}
		confined++
		br.Seen += evs[i].Cost
		if windows := k2 - seats[i].Lo + 1; br.Seen > windows*quota {
			br.Bound, br.Windows = windows*quota, windows
			br.Events = confinedTo(k2, evs[i:n], seats[i:n], confined)
			br.Span = SpanOf(br.Events)
			return br
		}
	}
	return nil
}

// confinedTo returns the events that lie in window k or an earlier one, the latest first. There are n.
func confinedTo(k int64, evs []history.Event, seats []Seat, n int) []history.Event {
	out := make([]history.Event, 0, n)
	for i := len(evs) - 1; i >= 0; i-- {
		if seats[i].Hi <= k {
			out = append(out, evs[i])
		}
	}
	return out
}

// SpanOf returns the time from the first Start to the last End of evs, in nanoseconds. evs is not empty.
func SpanOf(evs []history.Event) int64 {
	lo, hi := evs[0].Start, evs[0].End
	for _, ev := range evs {
		lo, hi = min(lo, ev.Start), max(hi, ev.End)
	}
	return hi - lo
}

// windowMeter counts the units that may be in the window that contains an instant.
type windowMeter struct {
	Grid
	inUse
	quota int64
	gone  history.Tally
}

// newWindowMeter returns the meter of one window. all: denied requests are counted too.
func newWindowMeter(h *history.History, w Grid, quota int64, all bool) *windowMeter {
	return &windowMeter{w, inUse{starts: h.Counted(all)}, quota, history.NewTally(h.CountedEnds(all))}
}

func (m *windowMeter) Excess(t int64) int64 {
	m.begin(t)
	// Of the windows that may contain t, the one that began first has the most in it.
	begin := max(m.earliest(m.FirstOf(t)), t-m.sizeTo+1)
	return m.used - m.gone.Before(begin) - m.quota + 1
}

// loads has the units of some windows, ascending by window.
type loads struct {
	windows, units []int64
	// i is the index at which the last window was found.
	i int
}

// add adds units to window k, which is the last window so far or a later one.
func (l *loads) add(k, units int64) {
	if n := len(l.windows); n == 0 || l.windows[n-1] != k {
		l.windows, l.units = append(l.windows, k), append(l.units, 0)
	}
	l.units[len(l.units)-1] += units
}

func (l *loads) in(k int64) int64 {
	for l.i < len(l.windows) && l.windows[l.i] < k {
		l.i++
	}
	for l.i > 0 && l.windows[l.i-1] >= k {
		l.i--
	}
	if l.i < len(l.windows) && l.windows[l.i] == k {
		return l.units[l.i]
	}
	return 0
}
