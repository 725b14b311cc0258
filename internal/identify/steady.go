package identify

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
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

// answer asks until the question is answered or the budget is used. What stays open is asked again on a
// steady path. Where units come back within a round trip, that path is supposed at once: nothing else would
// answer the question.
func (x *search) answer(ctx context.Context) *identity.Result {
	switch {
	case !x.open(ctx):
		if x.tl.Counts().Denied > 0 { // the quota is known at least
			x.exclude()
		}
	case x.brisk() && x.withoutQueue == nil:
		if res := x.steadily(ctx); res != nil {
			return res
		}
		x.excludeBy(space.ManyAsked / 2)
	default:
		x.explore(ctx)
	}
	if !x.o.Fresh && len(x.regions) == 0 && x.stopped == "" {
		x.afterRest(ctx)
	}
	x.lastly(ctx)
	res, sent := x.result(), len(x.tl.Observations)
	if res.Verdict == identity.Open && !x.brisk() { // where x is brisk, that was asked
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
func (x *search) steadily(ctx context.Context) *identity.Result {
	path := trip.SteadyOf(x.tl)
	if !x.far || path == nil || x.ended() || x.tl.Counts().Denied == 0 {
		return nil
	}
	y := *x
	y.path, y.stopped, y.late = path, "", nil
	y.usuals, y.made, y.confirmed = 0, map[string]int{}, false
	y.begin()
	if x.withoutQueue == nil && x.stage == 0 && len(x.regions) > 0 { // refuted on any path means on this one
		y.regions = nil
		for _, r := range x.regions {
			y.regions = append(y.regions, &space.Region{Kind: r.Kind, Live: slices.Clone(r.Live),
				Doubtful: slices.Clone(r.Doubtful), Tried: slices.Clone(r.Tried), Fine: r.Fine})
		}
	}
	if y.every = max(y.o.Every, y.trip()*5/4); x.brisk() { // with wider gaps less is denied
		y.every = y.o.Every
	}
	y.far = x.brisk() || y.every > y.o.Every
	if trip.Waited(y.judged()) {
		y.asQueue()
	}
	if x.brisk() {
		if y.usuals = overloads; y.held(ctx) {
			x.unsteady = "; so it does " + path.Sentence()
			return nil
		}
	}
	y.explore(ctx)
	res := y.result()
	if res.Verdict != identity.Identified || path.Belied(y.tl) {
		x.unsteady = leaves(path, res)
		return nil
	}
	*x, res.Assuming = y, path
	if y.withoutQueue == nil { // a queue is measured by its delays
		within(path, &res.Found[0], y.regions[0])
	}
	return res
}

// leaves returns the reason that says what is left on a steady path, which is often much less than on any
// path.
func leaves(s *trip.Steady, res *identity.Result) string {
	if len(res.Found) == 0 || s.Belied(res.Timeline) {
		return "; no single kind is left either " + s.Sentence()
	}
	return "; " + s.Sentence() + ", what is left is " + strings.ReplaceAll(res.Listed(), "; ", ", ")
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
	dense := plan.Phase{Name: burstPhase, Rest: rest, Requests: x.drained() + surplus, Every: x.o.Every,
		Denials: surplus}
	return x.send(ctx, dense) &&
		x.send(ctx, plan.Phase{Name: burstPhase, Rest: wide, Requests: surplus, Every: wide})
}

// spend asks for the quota after a rest, and once more as soon as all answers are there. If that is denied,
// no other request was in flight:
//
//	a a a a a  .  .  d
func (x *search) spend(ctx context.Context, rest time.Duration) bool {
	use := plan.Phase{Name: spentPhase, Rest: rest, Requests: x.atOnce(), Every: x.o.Every}
	return x.send(ctx, use) && x.send(ctx, plan.Phase{Name: spentPhase, Requests: 1, Every: x.o.Every})
}

// spentPhase is the name of the phases of spend.
const spentPhase = "spent"

// atOnce is the fewest requests of a burst before one was denied.
func (x *search) atOnce() (least int) {
	n, last := 0, time.Duration(math.MinInt64/2)
	for i := range x.tl.Observations {
		o := &x.tl.Observations[i]
		if o.Phase != burstPhase {
			continue
		}
		if o.Sent-last > time.Second { // a rest
			n = 0
		}
		switch last = o.Sent; {
		case o.Outcome != timeline.Denied && n >= 0:
			n++
		case n > 0:
			if least == 0 || n < least {
				least = n
			}
			n = -1
		}
	}
	return least
}

// dry is the longest time in which all requests of a burst were denied.
func (x *search) dry() (longest time.Duration) {
	from := time.Duration(-1)
	for i := range x.tl.Observations {
		switch o := &x.tl.Observations[i]; {
		case o.Phase != burstPhase || o.Outcome != timeline.Denied:
			from = -1
		case from < 0:
			from = o.Sent
		default:
			longest = max(longest, o.Sent-from)
		}
	}
	return longest
}

// held tells whether a limit of requests in flight explains all answers on a steady path too. It sends more
// requests that may refute one. It gives up where none is denied of those that came wider apart.
func (x *search) held(ctx context.Context) bool {
	const trips, spends, tries = 100, 3, 3
	rest := trips * (x.trip() + x.path.Needs())
	for n := range time.Duration(spends) { // at other phases of a window
		if x.dry() < trip.Soonest(x.tl)*3/4 { // units come back before all answers are there
			break
		}
		if x.inFlight() == nil {
			return false
		}
		if !x.spend(ctx, rest+n*x.trip()*3/4) {
			return true
		}
	}
	for n := range tries {
		if x.inFlight() == nil {
			return false
		}
		last := timeline.Timeline{Observations: x.tl.Observations[max(0, len(x.tl.Observations)-surplus):]}
		if n > 0 && last.Counts().Denied == 0 ||
			!x.overload(ctx, rest) {
			return true
		}
	}
	return x.inFlight() != nil
}

// within widens what was measured of the only limit that is left. The path may need less than Floor, by up to
// what the fastest answer took longer. The ends of each window are open by that.
func within(s *trip.Steady, c *identity.Candidate, r *space.Region) {
	h, margin := r.Hull(), s.Fastest-s.Floor
	if r.Kind.Paced {
		margin /= time.Duration(h.Q2)
	}
	h.T1, h.T2 = max(1, h.T1-margin), h.T2+margin
	c.Least, c.Most = h.T1, h.T2
	c.Measured.Rate = (&space.Region{Kind: r.Kind, Live: []space.Box{h}}).Rate(h)
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
