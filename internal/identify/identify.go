package identify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Options are the budget of a search, and how to use it.
type Options struct {
	identity.Budget
	// Fresh tells that nobody used the quota before.
	Fresh bool
	// Think is how long the judge is asked after each phase. A part of MaxTime is kept for it. 0: as long as
	// it takes, even beyond MaxTime.
	Think time.Duration
	// Sharp narrows what a recording leaves of each kind too, since no experiment will.
	Sharp bool
	// Alike skips the search for what tells clients apart.
	Alike bool
	// Told is called after each phase with the kinds that are left; may be nil.
	OnPhase func(p plan.Phase, tl *timeline.Timeline, left []string)
}

// search is the state of one identification.
type search struct {
	o  Options
	s  Sender
	tl *timeline.Timeline
	// clock is the time since the start, including that for judging.
	clock func() time.Duration
	// asker asks the judge until the search is interrupted.
	asker   refute.Asker
	regions []*space.Region
	// gone are the kinds that are refuted.
	gone []*space.Region
	// ended tells that the search was interrupted.
	ended func() bool
	// every is the gap between requests: the time of an answer or, where that shows no denial, Options.Every.
	// dense is the gap in a burst, shorter than every far away.
	every, dense time.Duration
	// far tells that answers take longer than the shortest gap between requests.
	far bool
	// made counts the experiments, by family and by the name of the first phase.
	made map[string]int
	// stopped says why the search ended before its budget; empty if it did not.
	stopped string
	// withoutQueue are the kinds that delay no answers, while admitted requests are supposed to wait in a
	// queue.
	withoutQueue []*space.Region
	// queueWithin is the latest time after which a queue may have decided; it only grows. unlike are the
	// queues that did not explain the delays.
	queueWithin time.Duration
	unlike      []*space.Region
	// skip counts the observations before the silence that made sure that the quota is whole.
	skip int
	// passing is how many requests pass a queue without waiting.
	passing int64
	// cut counts how often the judge was stopped because it took longer than Options.Think.
	cut int
	// trail is what was left of the usual kinds when something was. stage is how many stages of rare kinds
	// were looked for since.
	trail []*space.Region
	stage int
	// shelf are the unlikely kinds in whose place a rare one was found; nil for none. shelvedOnce tells that
	// this was done.
	shelf       []*space.Region
	shelvedOnce bool
	// exhausted tells that all rare kinds were looked for, hasty that the judge had too little time for them.
	exhausted, hasty bool
	// unfollowed tells that some buckets in batches were neither refuted nor found.
	unfollowed bool
	// usuals counts the usual experiments.
	usuals int
	// path is what is supposed of the path to the target; nil for nothing.
	path *trip.Steady
	// unsteady says that a steady path was supposed, but nothing was named; empty: none was.
	unsteady string
	// late tells that the time to check the result is over; nil: the result is not due yet.
	late func() bool
	// confirmed tells that all experiments that could refute the only class were made. Further ones narrow
	// its time.
	confirmed bool
	// dear tells that requests which are kept for what tells clients apart are for the name too.
	dear bool
}

// Identify finds out what limits the requests of s. The result includes whatever went wrong.
func Identify(ctx context.Context, s Sender, o Options) *identity.Result {
	x := begun(s, o, func() bool { return ctx.Err() != nil })
	x.asker = ctx.Done()
	res := x.answer(ctx)
	res.Clients = x.apart(ctx, res)
	res.Used = x.s.Now()
	return res
}

// begun returns a search that knows nothing yet.
func begun(s Sender, o Options, ended func() bool) *search {
	x := &search{o: o, s: s, tl: &timeline.Timeline{}, clock: s.Now, made: map[string]int{}, ended: ended}
	x.begin()
	return x
}

// begin makes x suppose nothing.
func (x *search) begin() {
	x.regions, x.gone, x.withoutQueue, x.unlike = nil, nil, nil, nil
	x.trail, x.stage, x.shelf, x.shelvedOnce, x.exhausted, x.unfollowed = nil, 0, nil, false, false, false
	for _, k := range space.Kinds() {
		x.regions = append(x.regions, &space.Region{Kind: k, Live: []space.Box{x.widest(k)}})
	}
}

// widest is the box of all policies of a kind that are looked for.
func (x *search) widest(k *space.Kind) space.Box {
	most := space.Box{Q1: 1, Q2: int64(x.o.MaxRequests), T1: x.o.Every / 2, T2: 2 * x.o.MaxTime}
	if !k.Paced { // no request could show a shorter window
		most.T1 = 5 * x.o.Every / 2
	}
	return most
}

// afterRest begins anew after a silence, since others may have used the quota before. What was recorded so
// far is not judged any more, unless nothing can be sent after the silence. The silence takes at most half
// of the time that is left.
func (x *search) afterRest(ctx context.Context) {
	before, rest := *x, max(min(2*x.s.Now(), (x.sendUntil()-x.s.Now())/2), time.Second)
	x.skip, x.usuals, x.made = len(x.tl.Observations), 0, map[string]int{}
	x.begin()
	if x.send(ctx, plan.Phase{Name: firstPhase, Rest: rest, Requests: 1}) && x.open(ctx) {
		x.explore(ctx)
	}
	if x.skip == len(x.tl.Observations) {
		*x = before
	}
}

// explore makes the best experiment until one class is left, or none, or the budget is used.
func (x *search) explore(ctx context.Context) {
	for !x.ended() {
		x.narrow(space.FewAsked)
		if x.hopeless() {
			x.stopped = "from here the requests that were sent refute too little"
			return
		}
		if again, over := x.known(ctx); over && !x.inWholeSeconds(ctx) {
			return
		} else if again || over {
			continue
		}
		planned := x.s.Now()
		e, ok := x.choose()
		if !ok { // what seems likely may have been asked about too little
			if x.exclude(); len(x.regions) == 0 { // rare kinds come next
				continue
			}
			x.guess()
			planned = x.s.Now()
			e, ok = x.planner(false).Best()
		}
		if !ok && x.insteadOfUnlikely(ctx, x.bySecond) {
			continue
		}
		if !ok {
			e, ok = x.planner(true).Best()
		}
		switch {
		case ok:
			if !x.perform(ctx, e, planned) {
				return
			}
		case x.usualExperiment(ctx, ofAny) || x.insteadOfUnlikely(ctx, x.widen) || x.inWholeSeconds(ctx):
		case x.usedBefore():
			x.regions = nil
			return
		default:
			x.stopped = cmp.Or(x.stopped, unplanned)
			return
		}
	}
}

// usedBefore tells whether others may have used the quota before, and enough budget is left to begin anew.
func (x *search) usedBefore() bool {
	return x.unlikely() && !x.o.Fresh && x.skip == 0 && 3*x.spare() > x.o.MaxRequests && !x.asker.Over()
}

// known asks for what could refute the only class that is left. again tells that it did so, over that there
// is nothing more to ask. Far away, further experiments may narrow the time after that.
func (x *search) known(ctx context.Context) (again, over bool) {
	one := func(regions []*space.Region) bool {
		return x.settled(regions) || !x.confirmed && x.coarse(regions)
	}
	if !one(x.likely()) {
		return false, false
	}
	if x.path != nil { // experiments follow that soon refute most of what is left
		x.narrow(3 * space.FewAsked)
	} else {
		x.exclude()
	}
	if !one(x.regions) || x.unlikely() {
		return false, false
	}
	if x.confirm(ctx) {
		return true, false
	}
	x.confirmed = true
	return false, x.settled(x.regions) || x.stopped != ""
}

// narrow lets the recording refute what it can. Each kind has an equal share of the time that is left. Boxes
// that are not judged by then stay.
func (x *search) narrow(asked int) {
	var left []*space.Region
	x.later()
	tl, cut := x.shown(), false
	until, tooLate := x.think(x.judgeUntil())
	x.deepen()
	shallow := x.crowded()
	for i, r := range x.regions {
		if tooLate() {
			left, cut = append(left, x.regions[i:]...), true
			break
		}
		now := x.clock()
		share := now + (until-now)/time.Duration(len(x.regions)-i)
		late := func() bool { return x.clock() > share }
		r.Shallow, r.Broad, r.Steady = shallow, x.far || x.path != nil, x.path != nil
		r.Asker, r.Sharp, r.Late = x.asker, x.o.Sharp, tooLate
		r.Over = func() bool { return x.ended() || late() }
		parts, gone := r.Narrowed(tl, asked)
		left = append(left, parts...)
		if gone != nil {
			x.gone = append(x.gone, gone)
		}
		cut = cut || late()
	}
	if cut && !x.asker.Over() && (x.recorded() || until < x.judgeUntil()) { // otherwise all the time is over
		x.cut++
		x.hasty = x.hasty || x.stage > 0
	}
	if len(left) == 0 && x.withoutQueue == nil && x.revive() {
		x.narrow(asked)
		return
	}
	x.regions = left
	shareTimes(left)
	if len(left) == 0 && x.withoutQueue != nil {
		if x.queueWithin = max(4*x.queueWithin, time.Millisecond); x.queueWithin <= trip.Slowest(x.judged()) {
			x.regions, x.gone = queues(x.withoutQueue), nil
		} else {
			x.noQueue()
		}
		x.narrow(asked)
	}
	if x.dropQueue() {
		x.narrow(asked)
	}
	x.recall()
}

// revive takes back what was given up of kinds once none is left: a policy that nobody tried may explain all.
// It takes usual kinds until rare ones are looked for, and then rare ones. It tells whether there were any.
func (x *search) revive() bool {
	x.regions = nil
	x.gone = slices.DeleteFunc(slices.Clone(x.gone), func(r *space.Region) bool {
		back := r.Again != nil && r.Again.Rare() == (x.stage > 0)
		if back {
			x.regions = append(x.regions, r.Again)
		}
		return back
	})
	return len(x.regions) > 0
}

// shown is the recording that kinds are judged by.
func (x *search) shown() *timeline.Timeline {
	if x.withoutQueue == nil {
		return x.judged()
	}
	return trip.Undelayed(x.judged(), x.queueWithin)
}

// judged is the recording without what came before skip, with the delays that a queue must explain.
func (x *search) judged() *timeline.Timeline {
	tl := *x.tl
	tl.Observations = tl.Observations[x.skip:]
	return x.path.Decided(&tl)
}

// exclude asks the judge much more, until no kind is doubtful.
func (x *search) exclude() { x.excludeBy(space.ManyAsked) }

// excludeBy does so with about asked judgements for each kind.
func (x *search) excludeBy(asked int) {
	if x.stage > 0 { // there are many rare kinds, and each takes the judge longer
		asked /= 2
	}
	_, late := x.think(x.judgeUntil())
	for range 4 {
		if x.narrow(asked); len(x.likely()) == len(x.regions) || late() {
			return
		}
	}
}

// likely are the regions with some policy that is known not to be refuted.
func (x *search) likely() []*space.Region {
	return slices.DeleteFunc(slices.Clone(x.regions), func(r *space.Region) bool { return len(r.Live) == 0 })
}

// settled tells whether regions are one class or none, known as exactly as a name must be.
func (x *search) settled(regions []*space.Region) bool {
	return x.alike(regions, func(r *space.Region) bool {
		h, slack := r.Hull(), 5*x.tl.Header.Tick
		if r.Kind.Paced {
			slack /= time.Duration(h.Q2)
		}
		return h.Single(slack)
	})
}

// alike tells whether regions are one class or none, and each is known.
func (x *search) alike(regions []*space.Region, known func(*space.Region) bool) bool {
	for _, r := range slices.Concat(regions, space.Besides(regions)) {
		if len(r.Kind.Parts) > 0 || !known(r) {
			return false
		}
	}
	return len(classes(regions)) <= 1
}

// planner returns the planner of the next experiment, which may be about doubtful boxes too.
func (x *search) planner(doubtful bool) *plan.Planner {
	x.spaced()
	_, late := x.think(x.judgeUntil())
	p := &plan.Planner{Over: late,
		Made: x.made, Now: x.s.Now() - x.path.Needs()/2, Trip: x.trip(), Every: x.every, Dense: x.dense,
		Far: x.far, Wait: max(x.s.Wait(), x.path.Needs()),
		Requests: x.spare(), TimeLeft: x.sendUntil() - x.s.Now()}
	likely, tl := []*space.Region(nil), x.shown()
	for _, class := range classes(x.likely()) { // the kinds of a class are one limiter
		likely = append(likely, class[0])
	}
	if x.recorded() { // a new client comes next
		tl = &timeline.Timeline{}
	}
	for _, r := range likely {
		n, h, clocked := 8, r.Hull(), r.Kind.Base.Align == spec.AlignUnknown
		few := x.fewFit(r.Back(h.Q1, h.T1))
		if clocked && (!few || len(likely) > 1) {
			n = 4
		}
		p.Few = p.Few || few
		points := r.Points(n, doubtful || len(likely) == 1)
		parts := []*space.Kind{r.Kind}
		if x.far { // far away, models of one rounding may not tell some kinds apart
			parts = r.Kind.Each()
		}
		first := len(p.Models)
		for i, b := range points {
			if late() { // it plans with the models so far
				return p
			}
			if few && clocked { // it stands; any other length has no phase, and its prediction leads astray
				b = b.Point()
			}
			if m := plan.NewModel(r, tl, parts[i%len(parts)], b); m != nil {
				m.Weight = 1 / float64(len(points)*len(likely))
				p.Models = append(p.Models, m)
			}
		}
		if few && clocked && r.Kind.Base.Fixed() && !doubtful {
			p.Prune(first)
		}
	}
	return p
}

// fewFit tells whether few windows of a length fit the budget of time: then each must tell much.
func (x *search) fewFit(window time.Duration) bool {
	const few = 20
	return window > x.o.MaxTime/few
}

// trip is the median time from a request to its answer, without waiting in a queue.
func (x *search) trip() time.Duration {
	all := trip.Trips(x.shown(), timeline.Allowed, timeline.Denied, timeline.Unknown)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

// kindNames names the kinds that are left.
func (x *search) kindNames() []string {
	var out []string
	for _, r := range x.regions {
		out = append(out, r.Text())
	}
	return out
}
