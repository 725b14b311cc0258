package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// stay is what a policy says of the time from the decision d on an admitted request to its completion c, at
// which its place is given back or its charge is made:
//
//	d + least <= c <= d + most        c <= done + linger
//	d + least <= done                 the last byte of the answer is not sent before, and is read at done
//
// Of these only d + least <= c is a promise that a place is held, and nothing but such a promise can prove
// that too many were in flight: whatever we see of an answer, the server may have given the place back before
// it wrote it, and it may have decided only just before. What the target does for each request (a route that
// sleeps, or works, for least) is known to whoever declares the policy. The second line then says when it was
// decided at the latest, which is what makes the interval of a slow answer narrow: d lies in [s, min(first
// byte, done - least)].
//
// A request whose answer was whole too early for that, or whose last byte was not seen (it may have been
// given up), may have been complete at any time from its decision on. That is the reading kindest to the
// target, and it makes no accusation out of a promise that does not hold.
//
// Nor does most hold for a request whose last byte came later than most after it was sent: who serves it
// stood still for a while. Such a one may hold its place until most after its last byte.
//
// Without most, and with linger unknown, a place may be held for ever: then no denial proves anything once as
// many were admitted as there are places.
type stay struct {
	told bool
	// least is 0, most and linger are maxTime, where they are not known.
	least, most, linger int64
}

func stayOf(p spec.Policy) stay {
	if !p.Completes() {
		return stay{}
	}
	s := stay{told: true, least: int64(p.HoldLeast), most: maxTime, linger: maxTime}
	if p.HoldMost > 0 {
		s.most = int64(p.HoldMost)
	}
	if p.LingerSet {
		s.linger = int64(p.Linger)
	}
	return s
}

// completions notes when each event of h, whose observations are given, may be complete, as all of some stays
// say. The events are as newHistory made them.
func (h *history) completions(obs []timeline.Observation, w widening, stays ...stay) {
	if !slices.ContainsFunc(stays, func(s stay) bool { return s.told }) {
		return
	}
	for i := range h.all {
		for _, s := range stays {
			if s.told {
				h.all[i].complete(&obs[i], w, s)
			}
		}
	}
	h.split()
}

// complete notes when ev, which is the observation o, may be complete: what a stay says beside what is noted.
func (ev *event) complete(o *timeline.Observation, w widening, s stay) {
	done := maxTime
	if o.Answered && o.Done > 0 {
		done = int64(o.Done) + w.right + w.drift(int64(o.Done))
	}
	if ev.outcome == timeline.Allowed && done < maxTime && done-s.least >= ev.s+w.tick {
		ev.least = max(ev.least, s.least)
		ev.e = min(ev.e, done-s.least)
	}
	ev.since = max(ev.since, ev.s+ev.least)
	by, most, until := later(done, s.linger), s.most, later(ev.e, s.most)
	if done < maxTime && done-ev.s > s.most {
		most, until = maxTime, later(done, s.most)
		by = min(by, until)
	}
	ev.until = min(ev.until, until, max(later(done, s.linger), ev.e+ev.least))
	ev.by, ev.most = min(ev.by, by), min(ev.most, most)
}
