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

// Every request needs some time to reach the limiter, and every answer some to come back, which no luck
// shortens. A request was decided in between:
//
//	sent ---- there ----[ decided ]---- back ---- first byte
//
// How long both take together is seen in the fastest answer, but not how much of it is the way there. That
// does not matter, as all decisions are moved by the same time: half of it is taken from each end. Nothing
// proves how much the path needs, so the judge never supposes it, and what is named so says what it rests on.

// Steady is what is supposed of a path: the time that it takes of each round trip at least.
type Steady struct {
	Floor time.Duration
	// Fastest is the soonest of so many Answers, from which that was taken.
	Fastest time.Duration
	Answers int
}

// steady returns what may be supposed of the path of a recording: as much less than the fastest answer took
// as the middle one took longer, and some. That is asked of admissions and denials apart, as those that were
// admitted may have waited. It is nil where that is nothing, or answers are few.
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

// waited tells whether many admissions took longer than each of some denials, as in a queue.
func waited(tl *timeline.Timeline) bool {
	const fewest = 5
	denied, admitted := trips(tl, timeline.Denied), trips(tl, timeline.Allowed)
	if len(denied) < fewest {
		return false
	}
	at, _ := slices.BinarySearch(admitted, denied[len(denied)-1]+1)
	return 3*(len(admitted)-at) >= len(admitted)
}

// decided is a recording with the times in which requests were decided on a steady path, as the limiter saw
// them, give or take the same time for all. It is tl itself where nothing is supposed.
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

// floor is how much of each round trip the path needs, as is supposed; 0 where nothing is.
func (s *Steady) floor() time.Duration {
	if s == nil {
		return 0
	}
	return s.Floor
}

// belied tells whether an answer came sooner than the path lets it.
func (s *Steady) belied(tl *timeline.Timeline) bool { return soonest(tl) < s.Floor }

// sentence says it.
func (s *Steady) sentence() string {
	return fmt.Sprintf("if the path needs at least %s of each round trip (the fastest of %s took %s)",
		quantity.Brief(s.Floor), quantity.Plural(s.Answers, "answer"), quantity.Brief(s.Fastest))
}

// answer asks until the question is answered, or the budget used. What stays open is asked on a steady path.
// Where units come back within a round trip that is asked at once, as it is open on any path.
func (x *search) answer(ctx context.Context) *Result {
	switch {
	case !x.open(ctx):
		if x.tl.Counts().Denied > 0 { // at least the quota is known
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
	res, sent := x.result(), len(x.tl.Observations)
	if res.Verdict == Open && !x.brisk() { // else it was asked
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

// steadily asks the question that is open once more of the same recording, and of what comes, on a steady
// path. It returns nil where that names nothing: x is then as it was, with what was sent meanwhile.
func (x *search) steadily(ctx context.Context) *Result {
	path := steady(x.tl)
	if !x.far || path == nil || x.ended() || x.tl.Counts().Denied == 0 {
		return nil
	}
	y := *x
	y.path, y.stopped, y.late = path, "", nil
	y.usuals, y.made, y.doubting, y.confirmed = 0, map[string]int{}, false, false
	y.begin()
	if x.aside == nil && x.stage == 0 && len(x.regions) > 0 { // what is refuted on any path is so on this one
		y.regions = nil
		for _, r := range x.regions {
			y.regions = append(y.regions, &region{kind: r.kind, live: slices.Clone(r.live),
				doubtful: slices.Clone(r.doubtful), tried: slices.Clone(r.tried), fine: r.fine})
		}
	}
	if y.every = max(y.o.Every, y.trip()*5/4); x.brisk() { // further apart less is denied
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

// leaves is a reason that says what is left on a steady path, which is often much less than on any.
func leaves(s *Steady, res *Result) string {
	if len(res.Found) == 0 || s.belied(res.Timeline) {
		return "; no single kind is left either " + s.sentence()
	}
	return "; " + s.sentence() + ", what is left is " + strings.ReplaceAll(res.listed(), "; ", ", ")
}

// overloads is how often a quota is overloaded of which units come back within a round trip. Each is as good
// as a usual experiment.
const overloads = 2

// surplus is how many requests come on top of a quota, and then further apart.
const surplus = 10

// overload asks for the quota after a rest, and then on and on: how often what comes too soon is admitted
// tells the rate. Then it asks wider apart: of a limit of requests in flight few are under way then.
func (x *search) overload(ctx context.Context, rest time.Duration) bool {
	wide := x.o.Every * 7 / 2
	dense := Phase{Name: burstPhase, Rest: rest, Requests: x.drained() + surplus, Every: x.o.Every,
		Denials: surplus}
	return x.send(ctx, dense) &&
		x.send(ctx, Phase{Name: burstPhase, Rest: wide, Requests: surplus, Every: wide})
}

// held tells whether a limit of requests in flight explains all answers on a steady path too, also after some
// more that are to refute it: each may do so, unless none of what came wider apart is denied.
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

// within widens what was measured of the only limit that is left by as much as the fastest answer took longer
// than the path is supposed to: so much later or sooner may each window end if the path needs as much less.
func within(s *Steady, c *Candidate, r *region) {
	h, margin := r.hull(), s.Fastest-s.Floor
	if r.kind.paced {
		margin /= time.Duration(h.q2)
	}
	h.t1, h.t2 = max(1, h.t1-margin), h.t2+margin
	c.least, c.most = h.t1, h.t2
	c.Measured.Rate = (&region{kind: r.kind, live: []box{h}}).rate(h)
}

// trips are the times from requests with some outcomes to their answers, ascending.
func trips(tl *timeline.Timeline, of ...timeline.Outcome) (out []time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered && slices.Contains(of, o.Outcome) {
			out = append(out, o.FirstByte-o.Sent)
		}
	}
	slices.Sort(out)
	return out
}
