package history

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Stay is what a policy says of the time from the decision d on an admitted request to its completion c, at
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
// Nor does most hold for a request whose last byte came later than most after it was sent: the server
// stood still for a while. Such a one may hold its place until most after its last byte.
//
// Without most, and with linger unknown, a place may be held for ever: then no denial proves anything once as
// many were admitted as there are places.
type Stay struct {
	Told bool
	// least is 0, most and linger are MaxTime, where they are not known.
	least, Most, linger int64
}

// StayOf returns what p says of completions; the zero value where it says nothing.
func StayOf(p spec.Policy) Stay {
	if !p.Completes() {
		return Stay{}
	}
	s := Stay{Told: true, least: int64(p.HoldLeast), Most: MaxTime, linger: MaxTime}
	if p.HoldMost > 0 {
		s.Most = int64(p.HoldMost)
	}
	if p.LingerSet {
		s.linger = int64(p.Linger)
	}
	return s
}

// Complete notes when ev, which is the observation o, may be complete: a stay adds to what was noted before.
func (ev *Event) Complete(o *timeline.Observation, w Widening, s Stay) {
	done := MaxTime
	if o.Answered && o.Done > 0 {
		done = int64(o.Done) + w.Right + w.Drift(int64(o.Done))
	}
	d := ev.details()
	if ev.Outcome == timeline.Allowed && done < MaxTime && done-s.least >= ev.Start+w.Tick {
		d.least = max(d.least, s.least)
		ev.End = min(ev.End, done-s.least)
	}
	d.told, d.since = true, max(d.since, ev.Start+d.least)
	by, most, until := Later(done, s.linger), s.Most, Later(ev.End, s.Most)
	if done < MaxTime && done-ev.Start > s.Most {
		most, until = MaxTime, Later(done, s.Most)
		by = min(by, until)
	}
	d.until = min(d.until, until, max(Later(done, s.linger), ev.End+d.least))
	d.by, d.most = min(d.by, by), min(d.most, most)
	ev.detail = &d
}
