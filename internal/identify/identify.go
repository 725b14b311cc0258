// Package identify finds out which limit an endpoint has. Hypotheses are policies, and only the judge of
// package check refutes one. What is left of a kind are its policies that are not refuted. The next
// experiment is the one that divides them best. The core is pure: it asks a Sender for the recording of a
// phase. That may be an endpoint or a simulated limiter.
package identify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Options are the budget of a search, and how to use it.
type Options struct {
	Budget
	// Fresh tells that nobody used the quota before.
	Fresh bool
	// Think is how much processor time the judge may use after each phase; 0: as much as it takes.
	Think time.Duration
	// Spent is the processor time of this process so far; nil where Think is 0.
	Spent func() time.Duration
	// Sharp narrows what a recording leaves of each kind too, since no experiment will.
	Sharp bool
	// Cost is how many units each request costs, if it says nothing of it; 0: one. Recorded reads it from the
	// recording.
	Cost int64
	// Alike skips the search for what tells clients apart.
	Alike bool
	// OnPhase is called after each phase with the kinds that are left; may be nil.
	OnPhase func(p Phase, tl *timeline.Timeline, left []string)
}

// wire is what may be sent, and what was seen.
type wire struct {
	o  Options
	s  Sender
	tl *timeline.Timeline
	// asker asks the judge until the search is interrupted.
	asker Asker
	pace  pace
	// made counts the experiments, by family and by the name of the first phase.
	made map[string]int
	// stopped says why the search ended before its budget; empty if it did not.
	stopped string
	// skip counts the observations before the silence that made sure that the quota is whole.
	skip int
	// waits tells that admitted requests seemed to wait in a queue, crowd that they do. Then none is sent
	// after an earlier answer.
	waits, crowd bool
}

// search is the state of one identification: a filter of policies, and what they are asked by.
type search struct {
	wire
	// regions are the kinds that are left, gone those that are refuted, second those that are asked once few
	// are left.
	regions, gone, second []*Region
	// line is the queue that explains the delays; nil for none.
	line *Candidate
	// ticked is what stands of limiters with a clock of whole seconds. widened tells that they were asked.
	// untrue are those that are refuted.
	ticked  []Candidate
	widened bool
	untrue  map[string]bool
	// beside is what was left when a limit was reached that answers state beside it; nil before.
	beside *both
	// left is how much was open when an experiment last told something, idle how many told nothing since.
	left float64
	idle int
	// cut tells that the judge was stopped because it took longer than Options.Think.
	cut bool
}

// Identify finds out what limits the requests of s. The result includes whatever went wrong.
func Identify(ctx context.Context, s Sender, o Options) *Result {
	x := begun(s, o, ctx.Done())
	if x.open(ctx) {
		x.explore(ctx)
	}
	if !o.Fresh && x.line == nil && len(x.regions)+len(x.ticked) == 0 && x.stopped == "" {
		x.afterRest(ctx)
	}
	if x.tl.Counts().Denied > 0 {
		if x.exclude(); x.line == nil && !x.settled(x.regions) { // a busy machine hid it so far
			x.line = x.queue()
		}
	}
	res := answer{x}.result()
	res.Clients = x.apart(ctx, res)
	res.Used = x.s.Now()
	return res.inUnits(o.Cost)
}

// begun returns a search that knows nothing yet.
func begun(s Sender, o Options, asker Asker) *search {
	x := &search{wire: wire{o: o, s: s, tl: &timeline.Timeline{}, asker: asker, made: map[string]int{}}}
	x.begin()
	return x
}

// begin makes x suppose nothing.
func (x *search) begin() {
	x.regions, x.gone, x.line, x.ticked, x.beside = nil, nil, nil, nil, nil
	x.left, x.idle, x.untrue = 0, 0, map[string]bool{}
	for _, k := range Kinds() {
		x.regions = append(x.regions, &Region{Kind: k, Live: []Box{x.widest(k)}})
	}
	x.regions, x.second = x.regions[:simple:simple], x.regions[simple:]
}

// join asks the kinds that wait, which take the judge long: first about growing parts of the recording.
func (x *search) join() {
	if len(x.second) == 0 {
		return
	}
	all, tl := x.second, x.judged()
	x.second = nil
	for n := 100; 3*n <= len(tl.Observations); n *= 4 {
		if part := sample(tl, n); part.Counts().Denied > 0 {
			all = x.judge(part, all, FewAsked)
		}
	}
	x.regions = append(x.regions, all...)
}

// shortest is the shortest window that is looked for.
const shortest = 50 * time.Millisecond

// widest is the box of all policies of a kind that are looked for.
func (w *wire) widest(k *Kind) Box {
	most := Box{Q1: 1, Q2: int64(w.o.MaxRequests), T1: min(w.o.Every, shortest/5) / 2,
		T2: 2 * w.o.MaxTime}
	if !k.Paced {
		most.T1 = shortest
	}
	return most
}

// afterRest begins anew after a silence, since others may have used the quota before. What was recorded so
// far is not judged any more, unless nothing can be sent after the silence. The silence takes at most half
// of the time that is left.
func (x *search) afterRest(ctx context.Context) {
	before, rest := *x, max(min(2*x.s.Now(), (x.sendUntil()-x.s.Now())/2), time.Second)
	x.skip, x.made = len(x.tl.Observations), map[string]int{}
	x.begin()
	if x.send(ctx, Phase{Name: firstPhase, Rest: rest, Requests: 1}) && x.open(ctx) {
		x.explore(ctx)
	}
	if x.skip == len(x.tl.Observations) {
		*x = before
	}
}

// explore makes the best experiment until one class is left, or none, or the budget is used.
func (x *search) explore(ctx context.Context) {
	for !x.asker.Over() && !x.inLine(ctx) {
		x.narrow(FewAsked)
		if again, over := x.known(ctx); over {
			return
		} else if again {
			continue
		}
		planned := x.s.Now()
		e, ok := x.choose()
		if !ok || x.idles() { // what seems likely may have been asked about too little
			if x.exclude(); len(x.regions) == 0 { // clocks of whole seconds come next
				continue
			}
			if x.idle >= mostIdle { // only a long silence may tell
				if !x.usualExperiment(ctx, ofAny) {
					x.stopped = cmp.Or(x.stopped, unplanned)
					return
				}
				x.idle = mostIdle / 2
				continue
			}
			planned = x.s.Now()
			e, ok = x.planner(false).Best()
		}
		if !ok {
			e, ok = x.planner(true).Best()
		}
		switch {
		case ok:
			if !x.perform(ctx, e, planned) {
				return
			}
		case x.usualExperiment(ctx, ofAny):
		case x.unlikely() && x.tick(ctx):
		default:
			x.stopped = unplanned
			return
		}
	}
}

// mostIdle is how many experiments in a row may tell nothing: the models promise what no clock shows.
const mostIdle = 16

// idles counts experiments that tell nothing, and tells whether these were most.
func (x *search) idles() bool {
	const little = 0.98
	open := openOf(x.regions)
	if x.idle++; x.left == 0 || open < little*x.left {
		x.left, x.idle = open, 0
	}
	return x.idle >= mostIdle
}

// openOf is how much is open of regions, as a sum of logarithms, and one for each.
func openOf(regions []*Region) (size float64) {
	for _, r := range regions {
		size += 1 + r.Hull().Size()
	}
	return size
}

// unplanned is the reason where no experiment fits the budget, or none tells anything.
const unplanned = "no experiment within the budget tells more"

// unlikely tells whether only doubtful usual kinds are left: each policy that was tried is refuted.
func (x *search) unlikely() bool {
	return len(x.regions) > 0 && len(x.likely()) == 0
}

// known asks for what could refute the only class that is left. again tells that it did so, over that there
// is nothing more to ask.
func (x *search) known(ctx context.Context) (again, over bool) {
	one := func(regions []*Region) bool { return x.settled(regions) || x.coarse(regions) }
	if !one(x.likely()) {
		return false, false
	}
	if x.exclude(); !one(x.regions) || x.unlikely() {
		return false, false
	}
	switch {
	case len(x.regions) == 0:
		again = x.tick(ctx)
		return again, !again
	}
	again = x.steady(ctx) || x.usualExperiment(ctx, x.doubts()) || x.overrun(ctx)
	return again, !again
}

// narrow lets the recording refute what it can, by about asked judgements of each kind. Boxes that are not
// judged in time stay.
func (x *search) narrow(asked int) {
	if likely := x.likely(); x.settled(likely) || x.coarse(likely) {
		x.join()
	}
	x.deepen()
	left := x.judge(x.judged(), x.regions, asked)
	if len(left) == 0 && x.revive() {
		x.narrow(asked)
		return
	}
	x.regions = left
	shareTimes(left)
}

// judge lets a recording refute what it can of some kinds and returns what it leaves.
func (x *search) judge(tl *timeline.Timeline, all []*Region, asked int) (left []*Region) {
	const judged = 6000 // requests, of all boxes of a region together
	late := x.late()
	e := effort{Shallow: x.crowded(), Broad: x.pace.far, Sharp: x.o.Sharp, Asker: x.asker, Over: late,
		Parts: max(3, min(MostLive, judged/len(tl.Observations)))}
	if !x.pace.far {
		e.Blur = x.slack()
	}
	for i, r := range all {
		if late() {
			x.cut = true
			return append(left, all[i:]...)
		}
		r.effort = e
		parts, gone := r.Narrowed(tl, x.asks(asked, len(tl.Observations), r))
		left = append(left, parts...)
		if gone != nil {
			x.gone = append(x.gone, gone)
		}
	}
	return left
}

// asks is about how many judgements each kind may ask for where asked are wanted. The judge takes longer for
// longer recordings, and for windows that begin anywhere.
func (x *search) asks(asked, requests int, r *Region) int {
	const work, least, anywhere = 150_000, 25, 4
	most := work / max(1, requests)
	if r.Kind.Base.Align == spec.AlignUnknown && len(x.regions) > 1 {
		most, asked = most/anywhere, asked/2
	}
	return max(min(asked, most), least)
}

// revive takes back what was given up of kinds once none is left: a policy that nobody tried may explain all.
// It tells whether there were any.
func (x *search) revive() bool {
	x.regions = nil
	x.gone = slices.DeleteFunc(slices.Clone(x.gone), func(r *Region) bool {
		back := r.Again != nil
		if back {
			x.regions = append(x.regions, r.Again)
		}
		return back
	})
	return len(x.regions) > 0
}

// judged is the recording without what came before skip.
func (w *wire) judged() *timeline.Timeline {
	tl := *w.tl
	tl.Observations = tl.Observations[w.skip:]
	return &tl
}

// exclude asks the judge much more, until no kind is doubtful.
func (x *search) exclude() {
	x.join()
	late, rounds := x.late(), 4
	if len(x.tl.Observations) > 1000 {
		rounds = 2
	}
	for range rounds {
		if x.narrow(ManyAsked); len(x.likely()) == len(x.regions) || late() {
			return
		}
	}
}

// likely are the regions with some policy that is known not to be refuted.
func (x *search) likely() []*Region {
	return slices.DeleteFunc(slices.Clone(x.regions), func(r *Region) bool { return len(r.Live) == 0 })
}

// settled tells whether regions are one class or none, known as exactly as a name must be. No experiment
// tells what comes back within a step of the clock.
func (x *search) settled(regions []*Region) bool {
	return x.alike(regions, func(r *Region) bool {
		h, slack, units := r.Hull(), 5*x.tl.Header.Tick, int64(0)
		if r.Kind.Paced {
			slack, units = slack/time.Duration(h.Q2), int64(2*(x.tl.Header.Tick+x.trip())/h.T1)
		}
		return h.Single(slack, units)
	})
}

// alike tells whether regions are one class or none, and each is known.
func (x *search) alike(regions []*Region, known func(*Region) bool) bool {
	for _, r := range regions {
		if len(r.Kind.Parts) > 0 || !known(r) {
			return false
		}
	}
	return len(classes(regions)) <= 1
}

// planner returns the planner of the next experiment, which may be about doubtful boxes too.
func (x *search) planner(doubtful bool) *Planner {
	x.spaced()
	p := &Planner{Over: x.late(), Made: x.made, Now: x.s.Now(), Trip: x.trip() + x.tl.Header.Tick,
		Every: x.pace.every, Dense: x.pace.dense, Far: x.pace.far, Wait: x.s.Wait(), Requests: x.spare(),
		TimeLeft: x.sendUntil() - x.s.Now()}
	likely, tl := []*Region(nil), x.judged()
	kinds := x.likely()
	if doubtful {
		kinds = x.regions
	}
	for _, class := range classes(kinds) { // the kinds of a class are one limiter
		likely = append(likely, class[0])
	}
	if x.recorded() { // a new client comes next
		tl = &timeline.Timeline{}
	}
	for _, r := range likely {
		n := 8
		if r.Kind.Base.Align == spec.AlignUnknown {
			n = 4
		}
		points := r.Points(n, doubtful || len(likely) == 1)
		parts := []*Kind{r.Kind}
		if x.pace.far { // far away, models of one rounding may not tell some kinds apart
			parts = r.Kind.Each()
		}
		for i, b := range points {
			if p.Over() { // it plans with the models so far
				return p
			}
			if m := NewModel(r, tl, parts[i%len(parts)], b); m != nil {
				m.Weight = 1 / float64(len(points)*len(likely))
				p.Models = append(p.Models, m)
			}
		}
	}
	return p
}

// trip is the median time from a request to its answer, without waiting in a queue.
func (w *wire) trip() time.Duration {
	all := []time.Duration{}
	for o := range w.judged().All() {
		if o.Answered && !(w.crowd && o.FirstByte-o.Sent > slowAfter(w.judged())) {
			all = append(all, o.FirstByte-o.Sent)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (x *search) kindNames() []string {
	var out []string
	for _, r := range x.regions {
		out = append(out, r.Kind.Text)
	}
	return out
}
