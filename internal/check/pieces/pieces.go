// Package pieces judges a partition that is too large to be judged at once. It judges stretches that overlap
// (pieceplan.go). Where a span of any length may hold too many admissions, it also judges all of them in one
// sweep (overall.go).
package pieces

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Pieces judges one partition as its observations come.
type Pieces struct {
	plan *Plan
	name string
	// Obs are the observations since From, ascending by Sent. From is 0 while these are all of them. The
	// piece is taken when it has `full` of them.
	Obs  []history.Observation
	From int64
	// Most is how many observations come in all. 0: not known.
	Most int
	// full and size are numbers of observations. size is the least value of full.
	full, size int
	end        time.Duration
	left       *survivors
	// sweeps run over all admissions. again gives all observations once more.
	sweeps []*overall
	again  func(func(o *history.Observation) bool)
	Found  []verdict.Finding
	// over and under: this side needs no judgement any more. judged: there was something to judge.
	over, under, judged bool
	// lapsed: nothing could be asked of the last piece. The partition may have been forgotten, and it is not
	// known where the windows lie since.
	lapsed bool
	// exact: the partition is judged whole, and searched exactly too. finished: all of it was judged.
	exact, finished bool
	// levels are those of the policies' buckets at From. histories are those of the last piece.
	levels    []*history.Level
	histories []*history.History
	// placements are what earlier requests tell of the windows that requests place at From, for each policy.
	// nil: nothing is known.
	placements []*history.Placement
	// stretches are those of an anchored counter, whose windows follow from the first counted request.
	// Otherwise nil.
	stretches *stretches
	// upper judges the admissions alone (Plan.upper), or is nil.
	upper *Pieces
	// kept are the requests of the breaches that refuted regions, by Seq.
	kept map[int]witnessed
}

type witnessed struct {
	history.Observation
	history.Event
}

// New begins with a partition. crowded: it is one of many.
func New(plan *Plan, name string, crowded bool,
	again func(func(o *history.Observation) bool)) *Pieces {
	x := &Pieces{plan: plan, name: name, left: plan.Shared, size: plan.size, again: again}
	if crowded {
		x.size = plan.small
	}
	x.full = x.size
	if x.left == nil {
		x.left = newSurvivors(plan.Whole)
	}
	for _, s := range plan.sweeps {
		x.sweeps = append(x.sweeps, newOverall(s, name))
	}
	x.over = plan.C.O.Conformance == verdict.LowerBound || plan.swept
	x.under = plan.C.O.Conformance == verdict.UpperBound
	if len(plan.C.Limit) == 1 && limiter.Anchored(plan.C.Limit[0]) {
		x.stretches = newStretches(plan.C.Limit[0], plan.C.Edges)
	}
	if plan.upper != nil {
		x.upper = New(plan.upper, name, crowded, again)
	}
	return x
}

// Observe takes the next observation.
func (x *Pieces) Observe(o *history.Observation) {
	for _, w := range x.sweeps {
		w.observe(o)
	}
	if x.upper != nil {
		x.upper.Observe(o)
	}
	if x.done() || x.stretches != nil && x.stretches.outside(o, x.plan.kinds[0].Widening) {
		return
	}
	if x.judged = x.judged || x.stretches != nil; len(x.Obs) >= x.full {
		x.take(o.Sent)
	}
	x.end = max(x.end, o.Sent, o.FirstByte, o.Done)
	if len(x.Obs) == cap(x.Obs) {
		x.grow()
	}
	x.Obs = append(x.Obs, *o)
}

// grow makes room for the rest of the piece, and no more. A piece that could not be cut yet will probably be
// all of a partition that is not much larger.
func (x *Pieces) grow() {
	room := min(x.full, x.Most)
	if x.From == 0 && x.full > x.size && x.Most <= 4*x.full {
		room = x.Most
	}
	if room > len(x.Obs) {
		x.Obs = append(make([]history.Observation, 0, room), x.Obs...)
	}
}

// done tells whether there is nothing left to ask.
func (x *Pieces) done() bool {
	if x.stretches != nil && (x.stretches.unsure != "" || len(x.Found) > 0) {
		return true
	}
	return x.left.refuted() || x.over && x.under && x.plan.bound != nil || len(x.plan.C.Limit) > 1 &&
		len(x.Found) > 0
}

// take judges the piece and keeps what the next piece needs. Every later request is sent at or after next.
func (x *Pieces) take(next time.Duration) {
	until := x.plan.until(next)
	if x.stretches != nil {
		x.stretchwise(x.Obs, until, max(x.end, next))
		return
	}
	x.judge(x.Obs, until, max(x.end, next))
	x.carry(x.Obs, until)
}

// Whole judges all observations of a partition at once. end is the end of the recording.
func (x *Pieces) Whole(obs []history.Observation, end time.Duration) {
	x.exact, x.finished = true, true
	if x.upper != nil {
		x.upper.Whole(obs, end)
	}
	if !x.done() {
		x.judge(obs, history.MaxTime, end)
	}
	x.histories = nil
}

// Finish judges the rest of a recording that ended at end.
func (x *Pieces) Finish(end time.Duration) {
	if x.finished {
		return
	}
	x.finished = true
	if x.upper != nil {
		x.upper.Finish(end)
	}
	if !x.done() {
		if x.stretches != nil {
			x.stretchwise(x.Obs, history.MaxTime, end)
		} else {
			x.judge(x.Obs, history.MaxTime, end)
		}
	}
	x.Obs, x.end, x.histories = nil, end, nil
	var swept []verdict.Finding
	for _, w := range x.sweeps {
		x.judged = x.judged || w.judged
		if f := w.finding(x.again); f != nil {
			swept = append(swept, *f)
		}
	}
	if x.sweeps = nil; len(swept) > 0 {
		x.Found = slices.DeleteFunc(x.Found,
			func(f verdict.Finding) bool { return f.Kind == verdict.OverAdmission })
	}
	x.Found = append(swept, x.Found...)
}

// edges returns the edges of a piece that ends at until, inside those of the recording.
func (x *Pieces) edges(until int64) *history.Edges {
	e := &history.Edges{From: x.From, Until: until, Begun: history.MaxTime, Memory: x.plan.memory, Drop: true,
		Placed: x.From > 0 && x.placements != nil}
	for _, p := range x.plan.C.Limit {
		e.Drop = e.Drop && limiter.ChangesNothing(p)
		e.Opened = e.Opened || limiter.NeedsPlacement(p)
	}
	if own := x.plan.C.Edges; own != nil {
		e.Until, e.Renews = min(e.Until, own.Until), x.exact && own.Renews
		e.Begun, e.Again = own.Begun, own.Again
		if latest := max(history.Later(own.From, own.Memory), x.From+x.plan.memory); own.From > 0 &&
			x.stretches == nil {
			e.From = max(own.From, x.From)
			e.Memory = max(latest-e.From, 0)
		}
	}
	// Only a silence helps, after which nothing is in flight either.
	if e.Opened && !e.Placed {
		e.Memory = max(e.Memory, x.plan.silence)
	}
	return e
}

// judge judges observations. No request is missing that may have been decided from x.From to until.
func (x *Pieces) judge(obs []history.Observation, until int64, end time.Duration) {
	c := *x.plan.C
	c.Edges, c.End = x.edges(until), int64(end)
	pc := &excerpt{c: &c, p: &judge.Part{Name: x.name, Obs: obs},
		exact: x.exact && x.left.steps < phases.StepBudget}
	c.Prepare(pc.p)
	x.handOver(pc.p)
	x.histories = pc.p.Histories
	if pc.p.Unjudged != "" {
		x.lapsed = x.judged && len(obs) > 0 && int64(obs[0].Sent) <= c.Edges.Until
		return
	}
	x.lapsed = false
	if !x.judged && x.plan.low {
		h := pc.p.Histories[0]
		x.remember(pc, &limiter.Breach{Events: h.Before(h.FirstEnd()).All})
	}
	x.judged = x.judged || x.plan.C.Edges == nil || x.histories[0].Known()
	if x.stretches != nil {
		pc.p.Histories[0] = x.stretches.within(pc.p.Histories[0])
		if x.firstDenied(pc); len(x.Found) > 0 {
			return
		}
	}
	if x.plan.bound != nil {
		x.sides(pc)
		return
	}
	stands := x.left.stands(pc)
	if !stands && len(c.Limit) > 1 {
		if c.BoundSeveral(pc.p); len(pc.p.Findings) > 0 {
			x.Found = pc.p.Findings
			return
		}
	}
	x.left.take(pc, x, stands)
}

// handOver puts into the histories of a piece what is known of earlier requests.
func (x *Pieces) handOver(p *judge.Part) {
	tell := func(i int, what func(h *history.History)) {
		h := *p.Histories[i]
		what(&h)
		p.Histories[i] = &h
	}
	for i, l := range x.levels {
		if l != nil {
			tell(i, func(h *history.History) { h.Level = l })
		}
	}
	for i, w := range x.placements {
		if w != nil {
			tell(i, func(h *history.History) { h.Placed = w })
		}
	}
}

// sides asks the two questions of the only bound, each until a breach is found.
func (x *Pieces) sides(pc *excerpt) {
	for _, side := range []verdict.Conformance{verdict.UpperBound, verdict.LowerBound} {
		done := &x.over
		if side == verdict.LowerBound {
			done = &x.under
		}
		if *done {
			continue
		}
		if br := phases.JudgeOne(pc.p.Histories[0], x.plan.bound, side); br != nil {
			*done = true
			x.Found = append(x.Found, pc.c.Finding(pc.p, []*limiter.Breach{br}, x.plan.Whole.boxes[0]))
		}
	}
}

// carry keeps what the next piece needs. Every later request is decided after until.
func (x *Pieces) carry(obs []history.Observation, until int64) {
	stays := make([]lasts, len(obs))
	oldest := until
	for i := range obs {
		stays[i] = x.lasts(&obs[i])
		if l := &stays[i]; l.asked && l.e > until && i >= len(obs)-farthest {
			oldest = min(oldest, l.s)
		}
	}
	from := oldest - max(x.plan.memory, x.plan.reach) - 1
	if from = max(from, x.From); from <= 0 { // the beginning may still matter
		x.full, x.histories = max(x.full, 2*len(x.Obs)), nil
		return
	}
	x.levelsAt(from)
	x.placementsAt(from, until)
	if w := x.stretches; w != nil && w.pol.TTL > 0 &&
		limiter.ForgottenBy(w.pol, x.histories[0], from, until) {
		w.unsure = judge.UnsureSilence
	}
	x.histories = nil
	x.From = from
	x.Obs = x.stillMatter(obs, stays, from)
	x.full = max(x.size, 4*len(x.Obs))
}

// stillMatter returns the observations that matter from an instant on. Of those that matter for ever, it
// keeps as many as explain every later denial.
func (x *Pieces) stillMatter(obs []history.Observation, stays []lasts, from int64) []history.Observation {
	kept := obs[:0]
	// Units that matter for ever: those in use, those of requests without an answer, and those of unanswered
	// denials.
	var forever, lost, denied int64
	for i := range obs {
		l := &stays[i]
		if l.reach < from {
			continue
		}
		if l.reach >= history.MaxTime && (!l.asked || max(l.e, l.since) < from) {
			units := &forever
			switch {
			case obs[i].Outcome == timeline.Denied:
				units = &denied
			case !l.asked:
				units = &lost
			}
			if *units >= x.plan.full {
				continue
			}
			*units += max(obs[i].Cost, 1)
		}
		kept = append(kept, obs[i])
	}
	return kept
}

// levelsAt notes the levels at an instant inside the last piece. It notes none where the recording began amid
// traffic and its edge lies inside the piece.
func (x *Pieces) levelsAt(t int64) {
	x.levels = nil
	if own := x.plan.C.Edges; own == nil || own.From == 0 || x.From >= own.From {
		for i, p := range x.plan.C.Limit {
			x.levels = append(x.levels, limiter.LevelAt(p, x.histories[i], t))
		}
	}
}

// lasts is how long a request matters, in nanoseconds.
type lasts struct {
	// s is the earliest decision, e the latest. since is the earliest completion. reach is until when the
	// request matters by itself.
	s, e, since, reach int64
	// asked: an explanation of it may be asked for before the recording ends.
	asked bool
}

func (x *Pieces) lasts(o *history.Observation) lasts {
	out := lasts{s: history.MaxTime, e: history.MinTime, since: history.MinTime, reach: history.MinTime}
	for _, k := range x.plan.kinds {
		ev := history.NewEvent(o, k.Widening, history.MaxTime)
		reach := ev.End
		if k.Told && o.Outcome != timeline.Denied {
			ev.Complete(o, k.Widening, k.Stay)
			reach, out.since = max(reach, ev.Until()), max(out.since, ev.Since())
		}
		out.s, out.e, out.reach = min(out.s, ev.Start), max(out.e, ev.End), max(out.reach, reach)
	}
	out.asked = out.e < history.MaxTime && o.Outcome != timeline.Unknown
	return out
}

// Beginning returns the edges of the first observations. Later ones were sent at or after next.
func (x *Pieces) Beginning(next time.Duration) *history.Edges {
	until := history.MaxTime
	if next < time.Duration(history.MaxTime) {
		until = x.plan.until(next)
	}
	if own := x.plan.C.Edges; own != nil && x.stretches != nil {
		begun := *own
		begun.Until = min(own.Until, until)
		return &begun
	}
	x.From = 0
	return x.edges(until)
}

// placementsAt notes what is known, at the instant t inside the last piece, of the windows that requests
// place. Nothing is known if the partition may have been forgotten, or was in use when its recording began.
// The next piece then begins after a silence.
func (x *Pieces) placementsAt(t, until int64) {
	e := x.edges(until)
	x.placements = nil
	if !e.Opened {
		return
	}
	for _, h := range x.histories {
		if e.From > 0 && !e.Placed && (len(h.All) == 0 || max(e.From, h.All[0].Start-e.Memory) > t) {
			return // the next piece has all since that silence
		}
	}
	placements := make([]*history.Placement, len(x.histories))
	for i, p := range x.plan.C.Limit {
		if !limiter.NeedsPlacement(p) {
			continue
		}
		if placements[i] = limiter.PlacementAt(p, len(x.histories) > 1, x.histories[i], t,
			e.Until); placements[i] == nil {
			return
		}
	}
	x.placements = placements
}
