package claim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// opening is the first phase of the partitions of one side: how fresh partitions answer a burst.
type opening struct {
	// denials are those that state a wait.
	denials []*timeline.Observation
	// span is the longest time that the opening of one partition took, from its first Sent to its last
	// FirstByte.
	span time.Duration
	cost int64
}

// apart finds a wait in the opening of a partition through the proxy that is shorter or longer than every
// wait in openings at the origin. In a fresh partition a denial waits for the admissions of its own opening.
// So two true waits differ by at most the spans of the openings. The notation adds less than a second, a Date
// that is cut to the second adds another, and an old one adds a third.
//
// The waits must follow from the burst alone: not from when it was sent, and not from which of several
// policies denies. Nobody else may have used the partitions.
func (j *comparison) apart(limit spec.Limit) {
	if j.r.Shared || j.r.Used || len(limit) != 1 || byTheClock(limit[0]) {
		return
	}
	at, ok := openingOf(j.r, true, limit)
	through, ok2 := openingOf(j.r, false, limit)
	if !ok || !ok2 || at.cost != through.cost {
		return
	}
	noise := at.span + through.span + 2*time.Second + 2*j.r.Header.ClockError
	noise += 2 * max(limit[0].Tick, j.r.Header.Tick)
	if slices.ContainsFunc(slices.Concat(at.denials, through.denials), countsFromDate) {
		noise += StaleDate
	}
	short, long := waitRange(at.denials)
	if wait(long)-wait(short) > noise {
		j.note("the origin tells one burst waits from %s to %s, so the waits are not compared",
			Seconds(wait(short), time.Second), Seconds(wait(long), time.Second))
		return
	}
	report := func(than string, o *timeline.Observation, changed []*timeline.Observation) {
		if len(changed) == 0 {
			return
		}
		a, _ := Told(o)
		b, _ := Told(changed[0])
		j.find(result.FieldChanged, o, changed,
			fmt.Sprintf("no denial of the origin's bursts states a %s wait than #%d: %s; through the "+
				"proxy %d of %d do: #%d has %s, and noise explains at most %s",
				than, o.Seq, a, len(changed), len(through.denials), changed[0].Seq, b,
				Seconds(noise, time.Millisecond)))
	}
	report("shorter", short, Only(through.denials,
		func(o *timeline.Observation) bool { return wait(short)-wait(o) > noise }))
	report("longer", long, Only(through.denials,
		func(o *timeline.Observation) bool { return wait(o)-wait(long) > noise }))
}

// byTheClock tells whether the waits of p depend on when a burst is sent, or on what came before it.
func byTheClock(p spec.Policy) bool {
	return p.Windowed() && p.Align != spec.AlignFirst || p.Refill == spec.RefillInterval ||
		p.Start == spec.StartUnknown || p.LevelTo > 0
}

func countsFromDate(o *timeline.Observation) bool { t, _ := Told(o); return t.IsDate }

// wait returns the wait that o states. It must state one.
func wait(o *timeline.Observation) time.Duration { t, _ := Told(o); return t.For }

// waitRange returns the observations with the shortest and the longest wait. obs is not empty.
func waitRange(obs []*timeline.Observation) (short, long *timeline.Observation) {
	short, long = obs[0], obs[0]
	for _, o := range obs {
		if wait(o) < wait(short) {
			short = o
		}
		if wait(o) > wait(long) {
			long = o
		}
	}
	return short, long
}

// openingOf returns the openings of the partitions that only one side used and only limit counts. It leaves
// out partitions with an answer missing or unknown in the opening. ok=false: the requests differ in cost, or
// there is no denial.
func openingOf(r *Recording, origin bool, limit spec.Limit) (out opening, ok bool) {
	type side struct {
		phase         string
		first, last   time.Duration
		denials       []*timeline.Observation
		mixed, closed bool
	}
	sides := map[string]*side{}
	var order []*side
	for i := range r.Observations {
		o := &r.Observations[i]
		s := sides[o.Partition]
		if s == nil {
			s = &side{phase: o.Phase, first: o.Sent}
			sides[o.Partition], order = s, append(order, s)
		}
		s.mixed = s.mixed || o.Origin != origin || !slices.Equal(r.LimitOf(o), limit)
		if s.closed = s.closed || o.Phase != s.phase; s.closed {
			s.mixed = s.mixed || o.Sent <= s.last
			continue
		}
		s.mixed = s.mixed || !o.Answered || o.Outcome == timeline.Unknown
		s.last = max(s.last, DecidedBy(o))
		if out.cost == 0 && o.Origin == origin {
			out.cost = o.Cost
		}
		s.mixed = s.mixed || o.Cost != out.cost
		if o.Outcome == timeline.Denied && tells(o) {
			s.denials = append(s.denials, o)
		}
	}
	for _, s := range order {
		if s.mixed || len(s.denials) == 0 {
			continue
		}
		out.denials = append(out.denials, s.denials...)
		out.span = max(out.span, s.last-s.first)
	}
	return out, len(out.denials) > 0
}
