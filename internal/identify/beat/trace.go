package beat

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Trace is what became of the requests of one client.
type Trace struct {
	all []request
	// origin is when the first one was sent, long the time from there to the last answer.
	origin, long time.Duration
	// slow is the middle of the times in which a request may have been decided.
	slow time.Duration
	// late is how late a beat may come, or a twentieth of the time between two, if that is less.
	late time.Duration
	// full tells that the bucket is full at the origin; else nobody knows.
	full bool
	// states is how many of them are followed.
	states int
	// steps counts the requests that were decided by some box.
	steps int
}

// request is when a request may have been decided, and what became of it.
type request struct {
	from, to time.Duration
	outcome  timeline.Outcome
}

// mostAtOnce is how many requests may be decided in any order.
const mostAtOnce = 60

// NewTrace returns the trace of a recording of one client, of which a request without an answer is decided
// within lost, if it is. A beat may come late.
func NewTrace(tl *timeline.Timeline, full bool, lost, late time.Duration) *Trace {
	t := &Trace{full: full, late: late, states: mostInTurn}
	var slow []time.Duration
	h, end := &tl.Header, time.Duration(0)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		r := request{from: o.Sent, to: o.FirstByte, outcome: o.Outcome}
		if !o.Answered {
			r.to = o.Sent + lost
		}
		r.from -= h.Tick + h.ClockError + h.Drift(r.from)
		r.to = max(r.from, r.to+h.ClockError+h.Drift(r.to))
		t.all, slow = append(t.all, r), append(slow, r.to-r.from)
	}
	slices.SortStableFunc(t.all, func(a, b request) int { return cmp.Compare(a.from, b.from) })
	if slices.Sort(slow); len(slow) > 0 {
		t.origin, t.slow = t.all[0].from, slow[len(slow)/2]
		for _, r := range t.all {
			if end > r.from { // decided in any order
				t.states = mostInAnyOrder
			}
			end = max(end, r.to)
			t.long = max(t.long, r.to-t.origin)
		}
	}
	return t
}

// rounded is more than what products of beats are rounded by.
const rounded = 1e-9

// tardy is how late a beat of b may come, as a share of the time between two.
func (t *Trace) tardy(b Box) float64 {
	const most = 0.05
	return min(most, float64(t.late)*b.G2) + rounded
}

// beats are the least and the most beats since the origin that a timer of b had when a request was decided.
func (t *Trace) beats(b Box, r request) (least, most int64) {
	from, to := float64(r.from-t.origin), float64(r.to-t.origin)
	return int64(math.Floor(from*b.G1 + b.U1 - t.tardy(b))), int64(math.Floor(to*b.G2 + b.U2 + rounded))
}

// state is what is known after some requests: which of the next ones after first were decided out of turn,
// how many beats there were, and the least and the most units that are left.
type state struct {
	first  int
	others uint64
	k      int64
	lo, hi int64
}

// How many states are followed, where requests were decided one after the other, and where in any order.
const (
	mostInTurn     = 12
	mostInAnyOrder = 100
)

// explains tells whether some bucket and timer of b, as far as ranges tell, decide as t says for a time that
// is known: that of all of t, unless it takes too many states.
func (t *Trace) explains(b Box) (known time.Duration, may bool) {
	begin := state{lo: b.Least, hi: b.Most, k: int64(math.Floor(b.U1 - t.tardy(b)))}
	if !t.full {
		begin.lo = 0
	}
	states, next := []state{begin}, []state(nil)
	for i := range t.all {
		next = next[:0]
		t.steps += len(states)
		for _, s := range states {
			var sure bool
			if next, sure = t.decide(b, s, next); !sure || len(next) > t.states {
				return t.all[i].to - t.origin, true
			}
		}
		if states, next = next, states; len(states) == 0 {
			return t.all[i].to - t.origin, false
		}
	}
	return t.long, true
}

// decide adds to next the states after s and one more request: any that may be decided before all others. It
// reports false where those are too many.
func (t *Trace) decide(b Box, s state, next []state) ([]state, bool) {
	waits := func(i int) bool { return s.others>>(i-s.first)&1 == 0 }
	end, i := time.Duration(math.MaxInt64), s.first
	for ; i < len(t.all) && t.all[i].from <= end; i++ {
		if i-s.first >= mostAtOnce {
			return next, false
		}
		if waits(i) {
			end = min(end, t.all[i].to)
		}
	}
	for j := s.first; j < i; j++ {
		if !waits(j) || t.all[j].from > end {
			continue
		}
		least, most := t.beats(b, t.all[j])
		if least = max(least, s.k); most-least > int64(t.states) {
			return next, false
		}
		for k := least; k <= most; k++ {
			next = t.after(b, s, j, k, next)
		}
	}
	return next, true
}

// after adds to next the states after s where request i is decided after k beats.
func (t *Trace) after(b Box, s state, i int, k int64, next []state) []state {
	s.lo, s.hi = min(b.Least, s.lo+(k-s.k)*b.Fill), min(b.Most, s.hi+(k-s.k)*b.Fill)
	s.k = k
	for s.others |= 1 << (i - s.first); s.others&1 > 0; s.first++ {
		s.others >>= 1
	}
	outcome := t.all[i].outcome
	if outcome != timeline.Denied && s.hi > 0 {
		taken := s
		taken.lo, taken.hi = max(s.lo-1, 0), s.hi-1
		next = put(next, taken)
	}
	if outcome == timeline.Unknown {
		next = put(next, s)
	}
	if outcome == timeline.Denied && s.lo <= 0 {
		s.lo, s.hi = 0, 0
		next = put(next, s)
	}
	return next
}

// put adds a state, or joins it with one that differs in its units alone, where they meet.
func put(states []state, s state) []state {
	for i := range states {
		o := &states[i]
		if o.first == s.first && o.others == s.others && o.k == s.k && s.lo <= o.hi+1 && o.lo <= s.hi+1 {
			o.lo, o.hi = min(o.lo, s.lo), max(o.hi, s.hi)
			return states
		}
	}
	return append(states, s)
}

// Origin is when the first request may have been decided at the soonest.
func (t *Trace) Origin() time.Duration { return t.origin }
