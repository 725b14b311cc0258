package chart

import (
	"container/heap"
	"sort"
	"time"
)

// inPhases computes, for each instant in [from, to] at which windows may begin, how many units the fullest
// window certainly held. A unit counts in one window, or in two neighbours of which the fuller one has at
// least half of the units, rounded up. t of a point is the instant, and v is constant up to the next point.
// It costs O(n log n).
func inPhases(all []admission, w, from, to time.Duration) []point {
	p := phaseSweep{w: w, all: all, from: from, at: make([]place, len(all)), held: map[seat]int64{}}
	turns := make([]turn, 0, 2*len(all))
	for i, a := range all {
		p.move(i, 0)
		for _, t := range []time.Duration{a.s, a.e} {
			turns = append(turns, turn{(t - from) - w*time.Duration(floorDiv(t-from, w)) + 1, i})
		}
	}
	sort.Slice(turns, func(i, j int) bool { return turns[i].at < turns[j].at })
	out := []point{{from, p.fullest()}}
	for i := 0; i < len(turns) && turns[i].at <= to-from; {
		at := turns[i].at
		for ; i < len(turns) && turns[i].at == at; i++ {
			p.move(turns[i].admission, at)
		}
		if v := p.fullest(); v != out[len(out)-1].v {
			out = append(out, point{from + at, out[len(out)-1].v}, point{from + at, v})
		}
	}
	return append(out, point{to, out[len(out)-1].v})
}

// turn is a phase at which an end of an admission moves into the window before.
type turn struct {
	at        time.Duration
	admission int
}

// place has the windows in which an admission begins and ends.
type place struct {
	first, last int64
	set         bool
}

// seat is a window or, with pair, a window and the next one.
type seat struct {
	window int64
	pair   bool
}

// phaseSweep counts the units in each window while the phase ascends.
type phaseSweep struct {
	w, from time.Duration
	all     []admission
	at      []place
	held    map[seat]int64
	// top has an entry for every number that a seat ever held. Stale entries are dropped when they come up.
	top fullest
}

// move places an admission again, for windows that begin at from + phase.
func (p *phaseSweep) move(i int, phase time.Duration) {
	a := &p.all[i]
	if p.at[i].set {
		p.add(p.at[i], -int64(a.cost))
	}
	zero := p.from + phase
	p.at[i] = place{floorDiv(a.s-zero, p.w), floorDiv(a.e-zero, p.w), true}
	p.add(p.at[i], int64(a.cost))
}

// add counts units in the seats that surely hold them.
func (p *phaseSweep) add(at place, units int64) {
	switch at.last - at.first {
	case 0:
		p.put(seat{at.first, false}, units)
		p.put(seat{at.first, true}, units)
		p.put(seat{at.first - 1, true}, units)
	case 1:
		p.put(seat{at.first, true}, units)
	}
}

func (p *phaseSweep) put(s seat, units int64) {
	p.held[s] += units
	heap.Push(&p.top, held{s, p.held[s]})
}

// fullest returns the least that the fullest window holds.
func (p *phaseSweep) fullest() float64 {
	for len(p.top) > 0 && p.held[p.top[0].seat] != p.top[0].units {
		heap.Pop(&p.top)
	}
	if len(p.top) == 0 {
		return 0
	}
	return float64(p.top[0].least())
}

// held is the number of units in a seat.
type held struct {
	seat
	units int64
}

// least returns the least that the fuller window of the seat holds.
func (h held) least() int64 {
	if h.pair {
		return (h.units + 1) / 2
	}
	return h.units
}

// fullest is a heap of seats, with the fullest window on top.
type fullest []held

func (f fullest) Len() int           { return len(f) }
func (f fullest) Less(i, j int) bool { return f[i].least() > f[j].least() }
func (f fullest) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *fullest) Push(x any)        { *f = append(*f, x.(held)) }
func (f *fullest) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}
