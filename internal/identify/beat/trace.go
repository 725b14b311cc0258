package beat

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Trace is the requests of one client with their outcomes.
type Trace struct {
	all []request
	// origin is the earliest instant at which the first request was decided, long the time from there to the
	// last answer.
	origin, long time.Duration
	// slow is the median of the times within which requests were decided.
	slow time.Duration
	// late is how late a beat may come, though at most a twentieth of the time between two beats.
	late time.Duration
	// full tells that the bucket was full at the origin; else its level is unknown.
	full bool
	// states is how many states are followed at once.
	states int
	// steps counts the states that were brought past a request.
	steps int
}

// request is the closed interval in which a request was decided, and its outcome.
type request struct {
	from, to time.Duration
	outcome  timeline.Outcome
}

// mostAtOnce is how many requests may be decided in any order: state.others has a bit for each.
const mostAtOnce = 60

// NewTrace returns the trace of a recording of one client. A request without an answer was decided within
// lost, or never. A beat may come late.
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
			if end > r.from { // these may be decided in any order
				t.states = mostInAnyOrder
			}
			end = max(end, r.to)
			t.long = max(t.long, r.to-t.origin)
		}
	}
	return t
}

// rounded exceeds the rounding errors in a count of beats.
const rounded = 1e-9

// tardy is how late a beat of b may come, as a share of the time between two beats.
func (t *Trace) tardy(b Box) float64 {
	const most = 0.05
	return min(most, float64(t.late)*b.G2) + rounded
}

// beats are the least and the most beats between the origin and the decision on r, for the timers of b.
func (t *Trace) beats(b Box, r request) (least, most int64) {
	from, to := float64(r.from-t.origin), float64(r.to-t.origin)
	return int64(math.Floor(from*b.G1 + b.U1 - t.tardy(b))), int64(math.Floor(to*b.G2 + b.U2 + rounded))
}

// state is what is known after some requests. All before first were decided, and those whose bits are set in
// others, which counts from first. k is the number of beats. lo and hi bound the units that are left.
type state struct {
	first  int
	others uint64
	k      int64
	lo, hi int64
}

// How many states are followed where requests were decided in turn, and where in any order.
const (
	mostInTurn     = 12
	mostInAnyOrder = 100
)

// explains tells whether some bucket and timer of b may have decided as recorded. Ranges of units are joined,
// so it may say yes of a box in which no point does. known is how long it followed the recording, from the
// origin on: to its end, unless b was refuted or there were too many states.
func (t *Trace) explains(b Box) (known time.Duration, may bool) {
	begin := state{lo: b.Least, hi: b.Most, k: int64(math.Floor(b.U1 - t.tardy(b)))}
	states, next := []state{begin}, []state(nil)
	if !t.full { // a beat that is due at the origin may have come before
		states = states[:0]
		for begin.lo = 0; begin.k <= int64(math.Floor(b.U2+rounded)); begin.k++ {
			states = append(states, begin)
		}
	}
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

// decide adds to next the states after s and one more request: any that may come before all the others. It
// reports false where these are too many.
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

// put adds a state. If another state differs only in its units and the ranges touch, it joins the two.
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

// Origin is the earliest instant at which the first request may have been decided.
func (t *Trace) Origin() time.Duration { return t.origin }
