package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// soonest looks for an explanation in which each admission is decided as soon as the limiter has room for it,
// that with the earliest end first, and each denial as soon as it has none. Whoever waits is in waiting, in
// the order of the ends.
type soonest struct {
	h       *history.History
	limiter reference.Limiter
	state   reference.State
	// at is the instant that the limiter has reached, in nanoseconds. next is when it may have room again.
	at, next int64
	waiting  []int32
	// lost: requests without an outcome arrive too, as soon as they can. Else they never do. late is by how
	// much all but denials come later than possible, in nanoseconds.
	lost bool
	late int64
}

// soon tells whether h has such an explanation. It tries a few, from the earliest admissions on: what comes
// back to a full bucket is lost, so later admissions leave less for what should be denied.
func soon(h *history.History, lim reference.Limiter) bool {
	shortest, lost := history.MaxTime, []bool{true}
	for i := range h.All {
		shortest = min(shortest, h.All[i].End-h.All[i].Start-h.Lag)
		if h.All[i].Outcome == timeline.Unknown && len(lost) == 1 {
			lost = append(lost, false)
		}
	}
	for _, late := range []int64{0, shortest >> 6, shortest >> 4, shortest >> 2} {
		for _, lost := range lost {
			if (&soonest{h: h, limiter: lim, lost: lost, late: max(late, 0)}).found() {
				return true
			}
		}
	}
	return false
}

// found tells whether there is such an explanation.
func (s *soonest) found() bool {
	order := make([]int32, len(s.h.All))
	for i := range order {
		order[i] = int32(i)
	}
	if s.late > 0 {
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.begin(a), s.begin(b)) })
	}
	if len(order) == 0 || s.begin(order[0]) < 0 {
		return false
	}
	s.state, s.next = s.limiter.Init(), history.MaxTime
	for _, i := range order {
		ev := &s.h.All[i]
		lost := ev.Outcome == timeline.Unknown
		if lost && !s.lost {
			continue
		}
		if at := s.begin(i); at > s.at {
			s.decide() // all that begin at one instant are there
			if !s.reach(at) {
				return false
			}
		}
		if lost {
			s.state, _ = s.limiter.Step(s.state, time.Duration(s.at), ev.Cost)
		} else {
			k, _ := slices.BinarySearchFunc(s.waiting, ev.End,
				func(x int32, end int64) int { return cmp.Compare(s.h.All[x].End, end) })
			s.waiting = slices.Insert(s.waiting, k, i)
		}
	}
	s.decide()
	return s.reach(history.MaxTime)
}

// begin returns the instant from which on event i may be decided.
func (s *soonest) begin(i int32) int64 {
	ev := &s.h.All[i]
	if ev.Outcome == timeline.Denied {
		return ev.Start + s.h.Lag
	}
	return ev.Start + s.h.Lag + s.late
}

// reach goes on to an instant, and decides what it can before. false: somebody waits for too long.
func (s *soonest) reach(at int64) bool {
	for len(s.waiting) > 0 && s.next < at && s.next <= s.h.All[s.waiting[0]].End {
		s.at = s.next
		s.decide()
	}
	s.at = at
	return len(s.waiting) == 0 || s.h.All[s.waiting[0]].End >= at
}

// decide decides all that it can at this instant.
func (s *soonest) decide() {
	for again := true; again; {
		again, s.next = false, history.MaxTime
		s.waiting = slices.DeleteFunc(s.waiting, func(i int32) bool {
			ev := &s.h.All[i]
			after, d := s.limiter.Step(s.state, time.Duration(s.at), ev.Cost)
			if d.Allow != (ev.Outcome == timeline.Allowed) {
				if !d.Allow && d.RetryAfter < reference.Never {
					s.next = min(s.next, s.at+max(int64(d.RetryAfter), 1))
				}
				return false
			}
			if s.at+int64(d.Delay) > ev.End {
				return false
			}
			s.state, again = after, true
			return true
		})
	}
}
