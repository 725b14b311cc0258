package trip

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Steady is a supposed path to the target. It takes at least Floor of each round trip.
type Steady struct {
	Floor time.Duration
	// Fastest is the fastest of all Answers, from which Floor was derived.
	Fastest time.Duration
	Answers int
}

// SteadyOf returns what may be supposed of the path of a recording. Floor is less than the fastest answer by
// as much as the median answer took longer, and by a tenth at least. Admissions and denials have medians of
// their own, since admitted requests may have waited. It is nil where nothing is left of Floor, or answers
// are few.
func SteadyOf(tl *timeline.Timeline) *Steady {
	const fewest, share = 10, 90
	all := Trips(tl, timeline.Allowed, timeline.Denied)
	if len(all) < 2*fewest {
		return nil
	}
	fastest, spread := all[0], all[len(all)/2]-all[0]
	for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		if some := Trips(tl, o); len(some) >= fewest {
			spread = min(spread, some[len(some)/2]-some[0])
		}
	}
	out := &Steady{min(fastest-spread, fastest*share/100), fastest, len(all)}
	if out.Floor <= 0 {
		return nil
	}
	return out
}

// Decided returns a recording in which requests have the intervals that a steady path leaves, all shifted by
// the same time. It is tl itself where nothing is supposed.
func (s *Steady) Decided(tl *timeline.Timeline) *timeline.Timeline {
	if s == nil {
		return tl
	}
	out, half := *tl, s.Floor/2
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		o := &out.Observations[i]
		o.At, o.Sent = o.At+half, o.Sent+half
		if o.Answered {
			o.FirstByte = max(o.Sent, o.FirstByte-half)
		}
		if o.Done > 0 {
			o.Done = max(o.FirstByte, o.Done-half)
		}
	}
	out.Header.WallError += half
	out.Header.Ended = max(tl.Header.Ended, out.End())
	return &out
}

// Needs is how much of each round trip the path is supposed to need; 0 where nothing is supposed.
func (s *Steady) Needs() time.Duration {
	if s == nil {
		return 0
	}
	return s.Floor
}

// Belied tells whether an answer came sooner than the path allows.
func (s *Steady) Belied(tl *timeline.Timeline) bool { return Soonest(tl) < s.Floor }

// Sentence describes the path for people.
func (s *Steady) Sentence() string {
	return fmt.Sprintf("if the path needs at least %s of each round trip (the fastest of %s took %s)",
		quantity.Brief(s.Floor), quantity.Plural(s.Answers, "answer"), quantity.Brief(s.Fastest))
}
