package identify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Every request needs some time to reach the limiter, and every answer some to come back. A request was
// decided in between:
//
//	sent ---- there ----[ decided ]---- back ---- first byte
//
// The fastest answer shows how long both ways together take, but not how long each takes. That does not
// matter, since it shifts all decisions by the same time. So half of it is cut from each end of an interval.
// Nothing proves how much the path needs. So the judge never supposes it, and a name that rests on it says
// so.

// Steady is a supposed path to the target. It takes at least Floor of each round trip.
type Steady struct {
	Floor time.Duration
	// Fastest is the fastest of all Answers, from which Floor was derived.
	Fastest time.Duration
	Answers int
}

// steady returns what may be supposed of the path of a recording. Floor is less than the fastest answer by as
// much as the median answer took longer, and by a tenth at least. Admissions and denials have medians of
// their own, since admitted requests may have waited. It is nil where nothing is left of Floor, or answers
// are few.
func steady(tl *timeline.Timeline) *Steady {
	const fewest, share = 10, 90
	all := trips(tl, timeline.Allowed, timeline.Denied)
	if len(all) < 2*fewest {
		return nil
	}
	fastest, spread := all[0], all[len(all)/2]-all[0]
	for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		if some := trips(tl, o); len(some) >= fewest {
			spread = min(spread, some[len(some)/2]-some[0])
		}
	}
	out := &Steady{min(fastest-spread, fastest*share/100), fastest, len(all)}
	if out.Floor <= 0 {
		return nil
	}
	return out
}

// waited tells whether many admissions took longer than every one of some denials, as in a queue.
func waited(tl *timeline.Timeline) bool {
	const fewest = 5
	denied, admitted := trips(tl, timeline.Denied), trips(tl, timeline.Allowed)
	if len(denied) < fewest {
		return false
	}
	at, _ := slices.BinarySearch(admitted, denied[len(denied)-1]+1)
	return 3*(len(admitted)-at) >= len(admitted)
}

// decided returns a recording in which requests have the intervals that a steady path leaves, all shifted by
// the same time. It is tl itself where nothing is supposed.
func (s *Steady) decided(tl *timeline.Timeline) *timeline.Timeline {
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

// floor is how much of each round trip the path is supposed to need; 0 where nothing is supposed.
func (s *Steady) floor() time.Duration {
	if s == nil {
		return 0
	}
	return s.Floor
}

// belied tells whether an answer came sooner than the path allows.
func (s *Steady) belied(tl *timeline.Timeline) bool { return soonest(tl) < s.Floor }

// sentence describes the path for people.
func (s *Steady) sentence() string {
	return fmt.Sprintf("if the path needs at least %s of each round trip (the fastest of %s took %s)",
		quantity.Brief(s.Floor), quantity.Plural(s.Answers, "answer"), quantity.Brief(s.Fastest))
}

// answer asks until the question is answered or the budget is used. What stays open is asked again on a
// steady path. Where units come back within a round trip, that path is supposed at once: nothing else would
// answer the question.
func (x *search) answer(ctx context.Context) *Result {
	switch {
	case !x.open(ctx):
		if x.tl.Counts().Denied > 0 { // the quota is known at least
			x.exclude()
		}
	case x.brisk() && x.aside == nil:
		if res := x.steadily(ctx); res != nil {
			return res
		}
		x.excludeBy(manyAsked / 2)
	default:
		x.explore(ctx)
	}
	if !x.o.Fresh && len(x.regions) == 0 && x.stopped == "" {
		x.afterRest(ctx)
	}
	x.lastly(ctx)
	res, sent := x.result(), len(x.tl.Observations)
	if res.Verdict == Open && !x.brisk() { // where x is brisk, that was asked
		if steady := x.steadily(ctx); steady != nil {
			return steady
		}
	}
	if len(x.tl.Observations) > sent {
		x.exclude()
		res = x.result()
	}
	return res
}

// steadily asks the open question again, on a steady path, of the same recording and of further requests. It
// returns nil where that names nothing. Then x is as before, with the further requests.
func (x *search) steadily(ctx context.Context) *Result {
	path := steady(x.tl)
	if !x.far || path == nil || x.ended() || x.tl.Counts().Denied == 0 {
		return nil
	}
	y := *x
	y.path, y.stopped, y.late = path, "", nil
	y.usuals, y.made, y.doubting, y.confirmed = 0, map[string]int{}, false, false
	y.begin()
	if x.aside == nil && x.stage == 0 && len(x.regions) > 0 { // refuted on any path means on this one
		y.regions = nil
		for _, r := range x.regions {
			y.regions = append(y.regions, &region{kind: r.kind, live: slices.Clone(r.live),
				doubtful: slices.Clone(r.doubtful), tried: slices.Clone(r.tried), fine: r.fine})
		}
	}
	if y.every = max(y.o.Every, y.trip()*5/4); x.brisk() { // with wider gaps less is denied
		y.every = y.o.Every
	}
	y.far = x.brisk() || y.every > y.o.Every
	if waited(y.judged()) {
		y.asQueue()
	}
	if x.brisk() {
		if y.usuals = overloads; y.held(ctx) {
			x.unsteady = "; so it does " + path.sentence()
			return nil
		}
	}
	y.explore(ctx)
	res := y.result()
	if res.Verdict != Identified || path.belied(y.tl) {
		x.unsteady = leaves(path, res)
		return nil
	}
	*x, res.Assuming = y, path
	if y.aside == nil { // a queue is measured by its delays
		within(path, &res.Found[0], y.regions[0])
	}
	return res
}

// leaves returns the reason that says what is left on a steady path, which is often much less than on any
// path.
func leaves(s *Steady, res *Result) string {
	if len(res.Found) == 0 || s.belied(res.Timeline) {
		return "; no single kind is left either " + s.sentence()
	}
	return "; " + s.sentence() + ", what is left is " + strings.ReplaceAll(res.listed(), "; ", ", ")
}

// overloads is how often a quota is overloaded whose units come back within a round trip. Each time is as
// good as a usual experiment.
const overloads = 2

// surplus is how many requests come on top of a quota, and how many come wider apart after that.
const surplus = 10

// overload asks for the quota after a rest, and for more: the share that is admitted tells the rate. Then it
// asks wider apart, so that few requests are in flight: a limit of those then admits all.
func (x *search) overload(ctx context.Context, rest time.Duration) bool {
	wide := x.o.Every * 7 / 2
	dense := Phase{Name: burstPhase, Rest: rest, Requests: x.drained() + surplus, Every: x.o.Every,
		Denials: surplus}
	return x.send(ctx, dense) &&
		x.send(ctx, Phase{Name: burstPhase, Rest: wide, Requests: surplus, Every: wide})
}

// held tells whether a limit of requests in flight explains all answers on a steady path too. It sends more
// requests that may refute one. It gives up where none is denied of those that came wider apart.
func (x *search) held(ctx context.Context) bool {
	const trips, tries = 100, 3
	for n := range tries {
		if x.inFlight() == nil {
			return false
		}
		last := timeline.Timeline{Observations: x.tl.Observations[max(0, len(x.tl.Observations)-surplus):]}
		if n > 0 && last.Counts().Denied == 0 ||
			!x.overload(ctx, trips*(x.trip()+x.path.floor())) {
			return true
		}
	}
	return x.inFlight() != nil
}

// within widens what was measured of the only limit that is left. The path may need less than Floor, by up to
// what the fastest answer took longer. The ends of each window are open by that.
func within(s *Steady, c *Candidate, r *region) {
	h, margin := r.hull(), s.Fastest-s.Floor
	if r.kind.paced {
		margin /= time.Duration(h.q2)
	}
	h.t1, h.t2 = max(1, h.t1-margin), h.t2+margin
	c.least, c.most = h.t1, h.t2
	c.Measured.Rate = (&region{kind: r.kind, live: []box{h}}).rate(h)
}

// crowded tells whether so many requests were under way at once that an exact search would take long. On a
// steady path requests are short, and one late answer beside few others is no crowd.
func (x *search) crowded() bool {
	const most = 8
	all := x.judged().Observations
	for i := range all {
		if j := i + most; j < len(all) && all[i].FirstByte > all[j].Sent &&
			(x.path == nil || underWay(all[:j], all[j].Sent) > 2*most) {
			return true
		}
	}
	return false
}

// underWay counts the requests of before that had no answer yet at an instant.
func underWay(before []timeline.Observation, at time.Duration) (n int) {
	for i := range before {
		if before[i].FirstByte > at {
			n++
		}
	}
	return n
}

// trips are the times from requests with given outcomes to their answers, ascending.
func trips(tl *timeline.Timeline, of ...timeline.Outcome) (out []time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered && slices.Contains(of, o.Outcome) {
			out = append(out, o.FirstByte-o.Sent)
		}
	}
	slices.Sort(out)
	return out
}
