package check

import (
	"encoding/binary"
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// exact decides by a sweep whether some decision times, and an order along them, give every outcome of a history, for
// requests of one cost. Requests of equal cost are interchangeable, so that few orders need to be tried:
//
//   - of the admissions that wait for their decision, the one whose interval ends first may as well be decided first;
//   - a denial changes nothing, so all that wait may as well be decided as soon as the limiter would deny one; where denied
//     requests are counted, they too are decided in the order of their ends.
//
// The sweep goes through the instants at which intervals begin and end. Between two of them it closes the set of states
// under "decide the next admission" and "decide the denials"; at an end it drops the states in which that request is still
// undecided. No state left is a proof. Where the set outgrows its cap, states that differ in their times alone are merged
// into a zone that holds them all, which keeps the proof sound.
type exact struct {
	m model
	traits
	h *history
	// gap is by how much a range stops short of the next instant: a nanosecond where windows begin at instants, else none.
	gap int64
	// front are the states, by all that is not time.
	front map[place][]memoryState
	// begun counts the denials that were sent.
	begun int32
	// visited counts the decisions that were tried; limited tells that their cap was reached.
	visited int
	limited bool
	// work and tries are memory that close and steps use again and again.
	work  []pendingState
	tries []step
}

// place is all of a state that is not time.
type place struct {
	// waiting and refused hold the indices of the undecided admissions and, where they are counted, denials, in the order
	// of their ends, four bytes each.
	waiting, refused string
	// absorbed is the number of denials, in the order of their starts, that were decided, where they are not counted.
	absorbed int32
	// spare is the number of unknown requests that were sent and are not used as admissions.
	spare int32
	// counts are those of the limiter, eight bytes each.
	counts string
}

func countsKey(counts []int64) string {
	if len(counts) == 0 {
		return ""
	}
	b := make([]byte, 0, 64)
	for _, c := range counts {
		b = binary.BigEndian.AppendUint64(b, uint64(c))
	}
	return string(b)
}

// The caps of a search.
const (
	windowCap = 1 << 16
	frontCap  = 1 << 10
	stateCap  = 1 << 13
	visitCap  = 1 << 19
)

// deadEnd is the instant at which no state was left.
type deadEnd struct{ at int64 }

// search returns the instant at which every explanation has ended, or nil where one is left or the cap was reached.
func (x *exact) search() *deadEnd {
	points := x.points()
	first := x.m.start(points[0] * x.scale)
	first.zone.elapse()
	x.front = map[place][]memoryState{{counts: countsKey(first.counts)}: {first}}
	next, open := 0, 0
	ends := orderByEnd(x.h.all)
	done := 0
	for k, p := range points {
		for ; next < len(x.h.all) && x.h.all[next].s == p; next++ {
			x.begin(int32(next))
			open++
		}
		if open == 0 {
			continue
		}
		p *= x.scale
		x.close(p, p)
		for ; done < len(ends) && x.h.all[ends[done]].e*x.scale == p; done++ {
			if x.end(ends[done]); len(x.front) == 0 {
				return &deadEnd{points[k]}
			}
			open--
		}
		if open > 0 && k+1 < len(points) {
			x.between(p, points[k+1]*x.scale)
		}
		if x.limited {
			return nil
		}
	}
	return nil
}

// between closes the states over the instants between two points, window by window. Where there are too many windows it
// gives up: a request without an answer may wait through years of them.
func (x *exact) between(from, to int64) {
	begins := x.m.boundaries(from+1, to-1)
	if len(begins) == windowCap {
		x.limited = true
		return
	}
	for _, begin := range begins {
		x.close(from, begin-x.gap)
		if x.visited += len(x.front); x.visited > visitCap {
			x.limited = true
			return
		}
		from = begin
	}
	x.close(from, to-x.gap)
}

// points returns the instants at which intervals begin or end, ascending.
func (x *exact) points() []int64 {
	out := make([]int64, 0, 2*len(x.h.all))
	for _, ev := range x.h.all {
		out = append(out, ev.s, ev.e)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// begin adds the request h.all[i] to what waits, in every state.
func (x *exact) begin(i int32) {
	if x.h.all[i].outcome == timeline.Denied && !x.counted {
		x.begun++ // pending in every state that absorbed no more than those before
		return
	}
	front := make(map[place][]memoryState, len(x.front))
	for at, states := range x.front {
		switch x.h.all[i].outcome {
		case timeline.Allowed:
			at.waiting = x.insert(at.waiting, i)
		case timeline.Denied:
			at.refused = x.insert(at.refused, i)
		default:
			at.spare++
		}
		front[at] = states
	}
	x.front = front
}

// insert puts index i into a list ordered by end.
func (x *exact) insert(list string, i int32) string {
	k := len(list)
	for k > 0 && x.h.all[indexAt(list, k-4)].e > x.h.all[i].e {
		k -= 4
	}
	return list[:k] + string([]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}) + list[k:]
}

func indexAt(list string, k int) int32 {
	return int32(list[k])<<24 | int32(list[k+1])<<16 | int32(list[k+2])<<8 | int32(list[k+3])
}

// end drops the states in which the request h.all[i], whose interval ends, is undecided.
func (x *exact) end(i int32) {
	ev := x.h.all[i]
	for at := range x.front {
		undecided := false
		switch {
		case ev.outcome == timeline.Allowed:
			undecided = contains(at.waiting, i)
		case ev.outcome == timeline.Denied && x.counted:
			undecided = contains(at.refused, i)
		case ev.outcome == timeline.Denied:
			undecided = at.absorbed <= x.rank(i)
		}
		if undecided {
			delete(x.front, at)
		}
	}
}

// rank returns the number of denials that were sent before the denial h.all[i].
func (x *exact) rank(i int32) int32 {
	n, _ := slices.BinarySearchFunc(x.h.denied, i, func(d event, i int32) int {
		if d.order < i {
			return -1
		}
		return 1
	})
	return int32(n)
}

func contains(list string, i int32) bool {
	for k := 0; k < len(list); k += 4 {
		if indexAt(list, k) == i {
			return true
		}
	}
	return false
}

// close adds every state that decisions between the scaled instants lo and hi lead to.
func (x *exact) close(lo, hi int64) {
	if hi < lo {
		return
	}
	work := x.work[:0]
	for at, states := range x.front {
		for _, m := range states {
			work = append(work, pendingState{at, m})
		}
	}
	defer func() { x.work = work[:0] }()
	for len(work) > 0 && !x.limited {
		it := work[len(work)-1]
		work = work[:len(work)-1]
		for _, step := range x.steps(it.at) {
			m := it.m.clone()
			if !m.zone.limit(0, now, -lo) || !m.zone.limit(now, 0, hi) {
				continue
			}
			if x.visited++; x.visited > visitCap {
				x.limited = true
				return
			}
			decide := x.m.admit
			if step.deny {
				decide = x.m.deny
			}
			for _, after := range decide(m, step.ask) {
				after.zone.elapse()
				to := step.to
				to.counts = countsKey(after.counts)
				if x.add(to, after) {
					work = append(work, pendingState{to, after})
				}
			}
		}
	}
}

// step is one decision that a state may take.
type step struct {
	to   place
	deny bool
	ask
}

// pendingState is a state from which no decision was tried yet.
type pendingState struct {
	at place
	m  memoryState
}

// steps returns the decisions that are worth trying at a place, until it is called again.
func (x *exact) steps(at place) []step {
	cost := x.h.all[0].cost
	out := x.tries[:0]
	if len(at.waiting) > 0 {
		to := at
		to.waiting = at.waiting[4:]
		out = append(out, step{to, false, ask{cost, x.h.all[indexAt(at.waiting, 0)].e * x.scale}})
	}
	if at.spare > 0 {
		to := at
		to.spare--
		out = append(out, step{to, false, ask{cost, maxTime}})
		if x.counted { // what was lost may have been denied, and counted
			out = append(out, step{to, true, ask{cost, maxTime}})
		}
	}
	if len(at.refused) > 0 {
		to := at
		to.refused = at.refused[4:]
		out = append(out, step{to, true, ask{cost, x.h.all[indexAt(at.refused, 0)].e * x.scale}})
	}
	if at.absorbed < x.begun {
		to := at
		to.absorbed = x.begun
		out = append(out, step{to, true, ask{cost, maxTime}})
	}
	x.tries = out
	return out
}

// add keeps a state unless one that holds it is there, and tells whether it is new.
func (x *exact) add(at place, m memoryState) bool {
	states := x.front[at]
	for _, old := range states {
		if m.zone.within(old.zone) {
			return false
		}
	}
	kept := states[:0:0]
	for _, old := range states {
		if !old.zone.within(m.zone) {
			kept = append(kept, old)
		}
	}
	if len(kept) >= 16 || len(x.front) > frontCap && len(kept) > 0 {
		wide := m.clone()
		for _, old := range kept {
			wide.zone.join(old.zone)
		}
		copy(m.zone.at, wide.zone.at)
		kept = nil
	}
	x.front[at] = append(kept, m)
	if len(x.front) > stateCap {
		x.limited = true
	}
	return true
}
