package identify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Budget is what may be sent: MaxRequests at most, Every apart or more, within MaxTime.
type Budget struct {
	MaxRequests int
	Every       time.Duration
	MaxTime     time.Duration
}

// Options are the budget, all above 0.
type Options struct {
	Budget
	// Fresh tells that nobody used the quota before.
	Fresh bool
	// Think is how long the judge is asked after each phase, and some of MaxTime is kept for it; 0 for as
	// long as it takes, also beyond MaxTime.
	Think time.Duration
	// Sharp asks what a recording leaves of each kind, not only which kinds: no experiment will narrow it.
	Sharp bool
	// Alike keeps clients that differ from being asked for: what tells them apart is not found.
	Alike bool
	// Told is called after each phase with what is left; may be nil.
	Told func(p Phase, tl *timeline.Timeline, left []string)
}

// search is one identification.
type search struct {
	o  Options
	s  Sender
	tl *timeline.Timeline
	// clock is the time since the start, in which judging counts.
	clock   func() time.Duration
	regions []*region
	// gone are the kinds of which nothing is left.
	gone []*region
	// ended tells that the search was interrupted.
	ended func() bool
	// every is how far requests are apart: as answers take, or where that shows no denial as the budget says.
	// dense is the same in a burst, less than every from far away.
	every, dense time.Duration
	// far tells that answers take longer than requests may be apart.
	far bool
	// made counts the experiments by the name of their first phase.
	made map[string]int
	// stopped says why it ended before its budget; empty if it did not.
	stopped string
	// aside are the kinds that delay no answers, while it is supposed that those here wait in a queue.
	aside []*region
	// soon is how late a request of a queue may have been decided; it only grows. unlike are the queues whose
	// delays were not those that were seen.
	soon   time.Duration
	unlike []*region
	// skip is how many observations came before the silence that made sure that the quota is whole.
	skip int
	// undelayed is how many of a queue do not wait.
	undelayed int64
	// doubting asks for experiments on what is doubtful too.
	doubting bool
	// cut counts how often the judge was stopped as it took longer than Options.Think.
	cut int
	// trail is what was left of the usual kinds when something was; stage is how many stages of rare ones
	// were looked for since.
	trail []*region
	stage int
	// shelf is what was unlikely when something rare was found, nil where none was; spent tells that it was.
	shelf []*region
	spent bool
	// exhausted tells that all that is rare was looked for, hasty that the judge had too little time for it.
	exhausted, hasty bool
	// unfollowed tells that some buckets in batches were neither refuted nor found.
	unfollowed bool
	// overran tells that a quota was asked for that is told beside what was found.
	overran bool
	// usuals is how many of the usual experiments were made.
	usuals int
	// path is what is supposed of the path to the target; nil for nothing.
	path *Steady
	// unsteady says that one was supposed, and that nothing was named so; empty: none was.
	unsteady string
	// late tells that what was found was checked for long enough; nil: it is not checked yet.
	late func() bool
	// confirmed tells that all was asked that could refute the one class that is left; what comes then tells
	// its time better.
	confirmed bool
}

// Identify finds out what limits the requests of s. Whatever goes wrong on the way is part of the result.
func Identify(ctx context.Context, s Sender, o Options) *Result {
	x := begun(s, o, func() bool { return ctx.Err() != nil })
	res := x.answer(ctx)
	res.Clients = x.apart(ctx, res)
	res.Used = x.s.Now()
	return res
}

// begun is a search that knows nothing yet.
func begun(s Sender, o Options, ended func() bool) *search {
	x := &search{o: o, s: s, tl: &timeline.Timeline{}, clock: s.Now, made: map[string]int{}, ended: ended}
	x.begin()
	return x
}

// begin supposes nothing.
func (x *search) begin() {
	x.regions, x.gone, x.aside, x.unlike = nil, nil, nil, nil
	x.trail, x.stage, x.shelf, x.spent, x.exhausted, x.unfollowed = nil, 0, nil, false, false, false
	for _, k := range kinds() {
		x.regions = append(x.regions, &region{kind: k, live: []box{x.widest(k)}})
	}
}

// widest is all that is looked for of a kind.
func (x *search) widest(k *kind) box {
	most := box{q1: 1, q2: int64(x.o.MaxRequests), t1: x.o.Every / 2, t2: 2 * x.o.MaxTime}
	if !k.paced { // nothing that is sent could show a shorter window
		most.t1 = 5 * x.o.Every / 2
	}
	return most
}

// afterRest begins anew after a silence, as others may have used the quota before: what was recorded so far
// is judged no more. Where nothing can be sent after it, what was recorded is what there is.
func (x *search) afterRest(ctx context.Context) {
	before, rest := *x, max(2*x.s.Now(), time.Second)
	x.skip, x.usuals, x.made = len(x.tl.Observations), 0, map[string]int{}
	x.begin()
	if x.send(ctx, Phase{Name: firstPhase, Rest: rest, Requests: 1}) && x.open(ctx) {
		x.explore(ctx)
	}
	if x.skip == len(x.tl.Observations) {
		*x = before
	}
}

// The first phases.
const (
	firstPhase    = "first"
	quotaPhase    = "quota"
	fasterPhase   = "quota-faster"
	comebackPhase = "comeback"
)

// open asks once, then for the quota, then for when it comes back. It reports false where there is no more
// to do.
func (x *search) open(ctx context.Context) bool {
	for x.skip == 0 && x.tl.Counts().Unknown == len(x.tl.Observations) { // a lost answer tells nothing
		if !x.send(ctx, Phase{Name: firstPhase, Requests: 1}) {
			return false
		}
	}
	quota := Phase{Name: quotaPhase, Rest: x.o.Every, Requests: x.o.MaxRequests * 6 / 10, Every: x.o.Every,
		Denials: 3}
	x.every = max(x.o.Every, x.trip()*5/4)
	if x.far = x.every > x.o.Every; x.far { // one after the other tells more, where a few are denied
		quota.Every, quota.Requests = x.every, x.o.MaxRequests/10
		if !x.send(ctx, quota) {
			return false
		}
		quota.Name, quota.Requests = fasterPhase, x.o.MaxRequests*4/10
		x.nearer()
	}
	if x.shown().Counts().Denied == 0 {
		x.every, quota.Every = x.o.Every, x.o.Every
		ask := x.askQuota
		if x.far { // none waits for an answer: in parts, a short window would begin anew
			ask = x.send
		}
		if !ask(ctx, quota) {
			return false
		}
	}
	if queued(x.shown(), x.tl.Observations[len(x.tl.Observations)-1].Phase) {
		x.asQueue()
		if quota.Rest = x.trip(); x.shown().Counts().Denied == 0 && !x.send(ctx, quota) {
			return false
		}
	}
	if x.shown().Counts().Denied == 0 {
		x.stopped = undenied
		return false
	}
	return x.comeback(ctx) && (!x.far || x.bursts(ctx))
}

// askQuota sends a phase of which each request waits for the answer to the one before, until some are denied.
// It ends early where all answers come late, as of a queue: one at a time, it denies none.
func (x *search) askQuota(ctx context.Context, p Phase) bool {
	const some = 12
	for n := some; p.Requests > 0; n *= 2 {
		part, before := p, len(x.tl.Observations)
		part.Requests = min(n, p.Requests)
		if !x.send(ctx, part) {
			return false
		}
		seen := timeline.Timeline{Observations: x.tl.Observations[before:]}
		late := x.s.Now()+p.Every >= x.sendUntil()
		if late || seen.Counts().Denied > 0 ||
			queued(x.shown(), p.Name) && x.waiting(some-2) {
			break
		}
		p.Requests -= part.Requests
		p.Rest = p.Every
	}
	return true
}

// comeback asks when a request is admitted again, ever more seldom, but densely about the time that a denial
// states. It reports false where the budget ends before.
func (x *search) comeback(ctx context.Context) bool {
	once := Phase{Name: comebackPhase, Rest: 2 * x.every, Requests: 1}
	for believed := false; ; once.Rest *= 2 {
		last := &x.tl.Observations[len(x.tl.Observations)-1]
		if last.Outcome == timeline.Allowed {
			return true
		}
		ask := once
		if about, told := x.toldReturn(last); told && !believed && about.Rest > once.Rest {
			believed, ask, once.Rest = true, about, x.every
		}
		if !x.send(ctx, ask) {
			return false
		}
	}
}

// explore makes the best experiment until one class is left, or none, or the budget is used.
func (x *search) explore(ctx context.Context) {
	for !x.ended() {
		x.narrow(fewAsked)
		if x.hopeless() {
			x.stopped = "from here the requests that were sent refute too little"
			return
		}
		if again, over := x.known(ctx); over && !x.otherwise(ctx) {
			return
		} else if again || over {
			continue
		}
		planned := x.s.Now()
		e, ok := x.choose()
		if !ok { // what is likely may be what was asked too little
			if x.exclude(); len(x.regions) == 0 { // what is rare comes next
				continue
			}
			planned = x.s.Now()
			e, ok = x.planner().best()
		}
		if !ok && x.rather(ctx, x.bySecond) {
			continue
		}
		if !ok {
			x.doubting = true
			e, ok = x.planner().best()
			x.doubting = false
		}
		if !ok && (x.usual(ctx, ofAny) || x.rather(ctx, x.widen) || x.otherwise(ctx)) {
			continue
		}
		if !ok && x.usedBefore() {
			x.regions = nil
			return
		}
		if !ok {
			x.stopped = cmp.Or(x.stopped, "no experiment within the budget tells more")
			return
		}
		if !x.perform(ctx, e, planned) {
			return
		}
	}
}

// usedBefore tells whether others may have used the quota before, and enough is left to begin anew.
func (x *search) usedBefore() bool {
	return x.unlikely() && !x.o.Fresh && x.skip == 0 && 3*x.spare() > x.o.MaxRequests
}

// known asks for what could refute the one class that is left. It tells whether that was done again, or there
// is no more to ask. From far away what is left of a time may be narrowed after it.
func (x *search) known(ctx context.Context) (again, over bool) {
	one := func(regions []*region) bool {
		return x.settled(regions) || !x.confirmed && x.coarse(regions)
	}
	if !one(x.likely()) {
		return false, false
	}
	if x.path != nil { // experiments come, which soon refute most of what is left
		x.narrow(3 * fewAsked)
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

// narrow lets the recording refute what it can. Each kind has an equal share of the time that is left; what
// is not judged when that is over stays.
func (x *search) narrow(asked int) {
	var left []*region
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
		r.shallow, r.broad, r.steady = shallow, x.far || x.path != nil, x.path != nil
		r.sharp, r.late, r.over = x.o.Sharp, tooLate, func() bool { return x.ended() || late() }
		parts, gone := r.narrowed(tl, asked)
		left = append(left, parts...)
		if gone != nil {
			x.gone = append(x.gone, gone)
		}
		cut = cut || late()
	}
	if cut && (x.recorded() || until < x.judgeUntil()) { // else it is the time that is over
		x.cut++
		x.hasty = x.hasty || x.stage > 0
	}
	if len(left) == 0 && x.aside == nil && x.revive() {
		x.narrow(asked)
		return
	}
	x.regions = left
	shareTimes(left)
	if len(left) == 0 && x.aside != nil {
		if x.soon = max(4*x.soon, time.Millisecond); x.soon <= slowest(x.judged()) {
			x.regions, x.gone = queues(x.aside), nil
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

// revive takes back what was given up of kinds, where none is left: a policy that nobody tried may explain
// all. Those are usual ones until what is rare is looked for, and then rare. It tells whether there is any.
func (x *search) revive() bool {
	x.regions = nil
	x.gone = slices.DeleteFunc(slices.Clone(x.gone), func(r *region) bool {
		back := r.again != nil && r.again.rare() == (x.stage > 0)
		if back {
			x.regions = append(x.regions, r.again)
		}
		return back
	})
	return len(x.regions) > 0
}

// shown is the recording as kinds are refuted by it.
func (x *search) shown() *timeline.Timeline {
	if x.aside == nil {
		return x.judged()
	}
	return undelayed(x.judged(), x.soon)
}

// judged is the recording as it is judged, with the delays that a queue must explain.
func (x *search) judged() *timeline.Timeline {
	tl := *x.tl
	tl.Observations = tl.Observations[x.skip:]
	return x.path.decided(&tl)
}

// exclude asks much more of the judge, until no kind is doubtful.
func (x *search) exclude() { x.excludeBy(manyAsked) }

// excludeBy asks it so many times for each kind.
func (x *search) excludeBy(asked int) {
	if x.stage > 0 { // of rare kinds there are many, and the judge takes longer for each
		asked /= 2
	}
	_, late := x.think(x.judgeUntil())
	for range 4 {
		if x.narrow(asked); len(x.likely()) == len(x.regions) || late() {
			return
		}
	}
}

// likely are the regions of which some policy is known not to be refuted.
func (x *search) likely() []*region {
	return slices.DeleteFunc(slices.Clone(x.regions), func(r *region) bool { return len(r.live) == 0 })
}

// settled tells whether regions are one class or none, known as exactly as it must be.
func (x *search) settled(regions []*region) bool {
	return x.alike(regions, func(r *region) bool {
		h, slack := r.hull(), 5*x.tl.Header.Tick
		if r.kind.paced {
			slack /= time.Duration(h.q2)
		}
		return h.single(slack)
	})
}

// alike tells whether regions are one class or none, of which each is known.
func (x *search) alike(regions []*region, known func(*region) bool) bool {
	for _, r := range slices.Concat(regions, besides(regions)) {
		if len(r.kind.parts) > 0 || !known(r) {
			return false
		}
	}
	return len(classes(regions)) <= 1
}

// planner returns what chooses the next experiment.
func (x *search) planner() *planner {
	x.spaced()
	_, late := x.think(x.judgeUntil())
	p := &planner{over: late,
		made: x.made, now: x.s.Now() - x.path.floor()/2, trip: x.trip(), every: x.every, dense: x.dense,
		far: x.far, wait: max(x.s.Wait(), x.path.floor()),
		requests: x.spare(), left: x.sendUntil() - x.s.Now()}
	likely, tl := []*region(nil), x.shown()
	for _, class := range classes(x.likely()) { // kinds of a class are one limiter
		likely = append(likely, class[0])
	}
	if x.recorded() { // what comes next is of a new client
		tl = &timeline.Timeline{}
	}
	for _, r := range likely {
		n := 8
		if r.kind.base.Align == spec.AlignUnknown {
			n = 4
		}
		points := r.points(n, x.doubting || len(likely) == 1)
		parts := []*kind{r.kind}
		if x.far { // with one rounding alone nothing there tells some apart
			parts = r.kind.each()
		}
		for i, b := range points {
			if late() { // it plans with what it has
				return p
			}
			if m := newModel(r, tl, parts[i%len(parts)], b); m != nil {
				m.weight = 1 / float64(len(points)*len(likely))
				p.models = append(p.models, m)
			}
		}
	}
	return p
}

// trip is the middle time from a request to its answer, which waits in no queue.
func (x *search) trip() time.Duration {
	all := trips(x.shown(), timeline.Allowed, timeline.Denied, timeline.Unknown)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

// left names the kinds that are left.
func (x *search) left() []string {
	var out []string
	for _, r := range x.regions {
		out = append(out, r.text())
	}
	return out
}
