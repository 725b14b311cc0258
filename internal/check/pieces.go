package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// pieces judge one partition as its observations come.
type pieces struct {
	plan *piecePlan
	name string
	// obs are the observations since `from`, which is 0 as long as that is all of them; taken when there are
	// `full`.
	obs  []timeline.Observation
	from int64
	// full and size are numbers of observations: size is the least full.
	full, size int
	end        time.Duration
	left       *survivors
	// sweeps are over all admissions; again gives all observations once more.
	sweeps []*overall
	again  func(func(o *timeline.Observation) bool)
	found  []verdict.Finding
	// over and under tell that a side needs no judgement any more, judged that there was something to judge.
	over, under, judged bool
	// lapsed: nothing could be asked of the last piece, as windows were forgotten before and it is not known
	// how they lie since.
	lapsed bool
	// exact: it is judged whole, and searched exactly too; finished: all of it was judged.
	exact, finished bool
	// levels are those of the policies at `from`, histories those of the last piece.
	levels    []*level
	histories []*history
	// placements are what came before `from` of the windows that requests place, for each policy; nil where
	// that is not known.
	placements []*placement
	// stretches are those of windows that follow each other from the first request, else nil.
	stretches *stretches
	// upper are those of plan.upper.
	upper *pieces
	// kept are the observations and events of what refuted the regions that fell, by number.
	kept map[int]witnessed
}

type witnessed struct {
	timeline.Observation
	event
}

// newPieces begins with a partition, one of many where crowded.
func newPieces(plan *piecePlan, name string, crowded bool,
	again func(func(o *timeline.Observation) bool)) *pieces {
	x := &pieces{plan: plan, name: name, left: plan.shared, size: plan.size, again: again}
	if crowded {
		x.size = plan.small
	}
	x.full = x.size
	if x.left == nil {
		x.left = newSurvivors(plan.whole)
	}
	for _, s := range plan.sweeps {
		x.sweeps = append(x.sweeps, newOverall(s, name))
	}
	x.over = plan.c.o.Conformance == verdict.LowerBound || plan.swept
	x.under = plan.c.o.Conformance == verdict.UpperBound
	if len(plan.c.limit) == 1 && anchored(plan.c.limit[0]) {
		x.stretches = newStretches(plan.c.limit[0], plan.c.edges)
	}
	if plan.upper != nil {
		x.upper = newPieces(plan.upper, name, crowded, again)
	}
	return x
}

// observe takes the next observation.
func (x *pieces) observe(o *timeline.Observation) {
	for _, w := range x.sweeps {
		w.observe(o)
	}
	if x.upper != nil {
		x.upper.observe(o)
	}
	if x.done() || x.stretches != nil && x.stretches.outside(o, x.plan.kinds[0].widening) {
		return
	}
	if x.judged = x.judged || x.stretches != nil; len(x.obs) >= x.full {
		x.take(o.Sent)
	}
	x.end = max(x.end, o.Sent, o.FirstByte, o.Done)
	x.obs = append(x.obs, *o)
}

// done tells that there is nothing left to ask.
func (x *pieces) done() bool {
	if x.stretches != nil && (x.stretches.unsure != "" || len(x.found) > 0) {
		return true
	}
	return x.left.refuted() || x.over && x.under && x.plan.bound != nil || len(x.plan.c.limit) > 1 &&
		len(x.found) > 0
}

// take judges the piece, where all that comes is sent at or after an instant, and keeps what the next piece
// needs.
func (x *pieces) take(next time.Duration) {
	until := x.plan.until(next)
	if x.stretches != nil {
		x.stretchwise(x.obs, until, max(x.end, next))
		return
	}
	x.judge(x.obs, until, max(x.end, next))
	x.carry(x.obs, until)
}

// whole judges all observations of a partition at once.
func (x *pieces) whole(obs []timeline.Observation, end time.Duration) {
	x.exact, x.finished = true, true
	if x.upper != nil {
		x.upper.whole(obs, end)
	}
	if !x.done() {
		x.judge(obs, maxTime, end)
	}
}

// finish judges the rest of a recording that ended at an instant.
func (x *pieces) finish(end time.Duration) {
	if x.finished {
		return
	}
	x.finished = true
	if x.upper != nil {
		x.upper.finish(end)
	}
	if !x.done() {
		if x.stretches != nil {
			x.stretchwise(x.obs, maxTime, end)
		} else {
			x.judge(x.obs, maxTime, end)
		}
	}
	x.obs, x.end, x.histories = nil, end, nil
	var swept []verdict.Finding
	for _, w := range x.sweeps {
		x.judged = x.judged || w.judged
		if f := w.finding(x.again); f != nil {
			swept = append(swept, *f)
		}
	}
	if x.sweeps = nil; len(swept) > 0 {
		x.found = slices.DeleteFunc(x.found,
			func(f verdict.Finding) bool { return f.Kind == verdict.OverAdmission })
	}
	x.found = append(swept, x.found...)
}

// edges returns those of a piece that ends at an instant, beside those of the recording.
func (x *pieces) edges(until int64) *edges {
	e := &edges{from: x.from, until: until, begun: maxTime, memory: x.plan.memory, drop: true,
		placed: x.from > 0 && x.placements != nil}
	for _, p := range x.plan.c.limit {
		e.drop = e.drop && changesNothing(p)
		e.opened = e.opened || needsPlacement(p)
	}
	if own := x.plan.c.edges; own != nil {
		e.until, e.renews = min(e.until, own.until), x.exact && own.renews
		e.begun, e.again = own.begun, own.again
		if latest := max(later(own.from, own.memory), x.from+x.plan.memory); own.from > 0 &&
			x.stretches == nil {
			e.from = max(own.from, x.from)
			e.memory = max(latest-e.from, 0)
		}
	}
	if e.opened && !e.placed { // then only a silence helps, after which nothing is in flight either
		e.memory = max(e.memory, x.plan.silence)
	}
	return e
}

// judge judges observations of which none that may have been decided from x.from until an instant is missing.
func (x *pieces) judge(obs []timeline.Observation, until int64, end time.Duration) {
	c := *x.plan.c
	c.edges, c.end = x.edges(until), int64(end)
	pc := &excerpt{c: &c, p: &part{name: x.name, obs: obs}, exact: x.exact && x.left.steps < stepBudget}
	c.prepare(pc.p)
	for i, l := range x.levels {
		if l != nil {
			h := *pc.p.histories[i]
			h.level = l
			pc.p.histories[i] = &h
		}
	}
	for i, w := range x.placements {
		if w != nil {
			h := *pc.p.histories[i]
			h.placed = w
			pc.p.histories[i] = &h
		}
	}
	x.histories = pc.p.histories
	if pc.p.unjudged != "" {
		x.lapsed = x.judged && len(obs) > 0 && int64(obs[0].Sent) <= c.edges.until
		return
	}
	x.lapsed = false
	if !x.judged && x.plan.low {
		h := pc.p.histories[0]
		x.remember(pc, &breach{events: h.before(h.firstEnd()).all})
	}
	x.judged = x.judged || x.plan.c.edges == nil || x.histories[0].known()
	if x.stretches != nil {
		pc.p.histories[0] = x.stretches.within(pc.p.histories[0])
		if x.firstDenied(pc); len(x.found) > 0 {
			return
		}
	}
	if x.plan.bound != nil {
		x.sides(pc)
		return
	}
	stands := x.left.stands(pc)
	if !stands && len(c.limit) > 1 {
		if c.boundSeveral(pc.p); len(pc.p.findings) > 0 {
			x.found = pc.p.findings
			return
		}
	}
	x.left.take(pc, x, stands)
}

// sides asks the two questions of the only bound, each until it is answered.
func (x *pieces) sides(pc *excerpt) {
	for _, side := range []verdict.Conformance{verdict.UpperBound, verdict.LowerBound} {
		done := &x.over
		if side == verdict.LowerBound {
			done = &x.under
		}
		if *done {
			continue
		}
		if br := judgeOne(pc.p.histories[0], x.plan.bound, side); br != nil {
			*done = true
			x.found = append(x.found, pc.c.finding(pc.p, []*breach{br}, x.plan.whole.boxes[0]))
		}
	}
}

// carry keeps what the next piece needs, where what is not known yet is decided after an instant.
func (x *pieces) carry(obs []timeline.Observation, until int64) {
	stays := make([]lasts, len(obs))
	oldest := until
	for i := range obs {
		stays[i] = x.lasts(&obs[i])
		if l := &stays[i]; l.asked && l.e > until && i >= len(obs)-farthest {
			oldest = min(oldest, l.s)
		}
	}
	from := oldest - max(x.plan.memory, x.plan.reach) - 1
	if from = max(from, x.from); from <= 0 { // the beginning may still matter
		x.full = max(x.full, 2*len(x.obs))
		return
	}
	x.levelsAt(from)
	x.placementsAt(from, until)
	if w := x.stretches; w != nil && w.pol.TTL > 0 && forgottenBy(w.pol, x.histories[0], from, until) {
		w.unsure = unsureSilence
	}
	x.histories = nil
	x.from = from
	kept := obs[:0]
	// the units that are in use, may come at any time, or are counted, for ever
	var forever, lost, denied int64
	for i := range obs {
		switch l := &stays[i]; {
		case l.reach < from:
			continue
		case l.reach >= maxTime && (!l.asked || max(l.e, l.since) < from):
			units := &forever
			switch {
			case obs[i].Outcome == timeline.Denied: // it was not answered
				units = &denied
			case !l.asked:
				units = &lost
			}
			if *units >= x.plan.full { // as many explain every later denial
				continue
			}
			*units += max(obs[i].Cost, 1)
		}
		kept = append(kept, obs[i])
	}
	x.obs = kept
	x.full = max(x.size, 4*len(kept))
}

// levelsAt notes the levels at an instant inside of the last piece, where that misses nothing.
func (x *pieces) levelsAt(t int64) {
	x.levels = nil
	if own := x.plan.c.edges; own == nil || own.from == 0 || x.from >= own.from {
		for i, p := range x.plan.c.limit {
			x.levels = append(x.levels, levelAt(p, x.histories[i], t))
		}
	}
}

// lasts is how long a request matters.
type lasts struct {
	// s and e are when it was decided at the earliest and at the latest, since when it was complete at the
	// earliest, reach until when it matters by itself.
	s, e, since, reach int64
	// asked tells that it may be asked for an explanation before the recording ends.
	asked bool
}

func (x *pieces) lasts(o *timeline.Observation) lasts {
	out := lasts{s: maxTime, e: minTime, since: minTime, reach: minTime}
	for _, k := range x.plan.kinds {
		ev := newEvent(o, k.widening, maxTime)
		reach := ev.e
		if k.told && o.Outcome != timeline.Denied {
			ev.complete(o, k.widening, k.stay)
			reach, out.since = max(reach, ev.until), max(out.since, ev.since)
		}
		out.s, out.e, out.reach = min(out.s, ev.s), max(out.e, ev.e), max(out.reach, reach)
	}
	out.asked = out.e < maxTime && o.Outcome != timeline.Unknown
	return out
}

// remember keeps the requests of a breach.
func (x *pieces) remember(pc *excerpt, br *breach) {
	if x.kept == nil {
		x.kept = map[int]witnessed{}
	}
	fresh := map[int]event{}
	for _, ev := range br.events {
		if _, ok := x.kept[ev.seq]; !ok && len(x.kept)+len(fresh) < keptWitness {
			fresh[ev.seq] = ev
		}
	}
	if len(fresh) == 0 {
		return
	}
	for i := range pc.p.obs {
		if ev, ok := fresh[pc.p.obs[i].Seq]; ok {
			x.kept[ev.seq] = witnessed{pc.p.obs[i], ev}
		}
	}
}

// largeWitness is the largest witness that is made smaller.
const largeWitness = 1 << 12

// conclude fills the findings of a partition: those of its pieces, or its part of what left nothing alive.
func (x *pieces) conclude(c *caseFile, p *part) {
	p.findings, p.limited = x.found, x.left.limited && !x.left.refuted() && len(x.found) == 0
	p.search = verdict.Search{Visited: x.left.steps}
	if p.search.Visited > 0 {
		p.search.Cap, p.search.Capped = visitCap, x.left.steps >= stepBudget
	}
	switch p.unjudged = ""; {
	case !x.judged:
		p.unjudged = x.plan.c.edges.unjudged()
	case x.lapsed:
		p.unjudged = unsureForgotten
	}
	var mine []*breach
	for _, f := range x.left.found {
		if f.by == x {
			mine = append(mine, f.breach)
		}
	}
	switch {
	case x.upper != nil && x.upper.fails():
		x.upper.conclude(c, p)
		return
	case x.stretches != nil && len(mine) == 0 && x.judged:
		p.unjudged, p.limited = x.stretches.unsure, p.limited || x.stretches.limited
		return
	case !x.left.refuted(), len(mine) == 0, len(x.found) > 0 && len(c.limit) > 1:
		return
	}
	alone := &part{name: x.name}
	var events []event
	for _, seq := range slices.Sorted(maps.Keys(x.kept)) {
		alone.obs = append(alone.obs, x.kept[seq].Observation)
		events = append(events, x.kept[seq].event)
	}
	alone.obs, events = x.placing(alone.obs, events)
	slices.SortStableFunc(alone.obs,
		func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	h := historyOf(events)
	for range c.limit {
		alone.histories = append(alone.histories, h)
	}
	h.lag = x.plan.kinds[0].tick
	f := x.finding(c, alone, mine)
	if c.o.Shared && slices.ContainsFunc(x.left.found,
		func(f fallen) bool { return f.kind != verdict.OverAdmission }) {
		f.Kind = verdict.NoExplanation // a denial, perhaps of another partition, is a part of the proof
	}
	p.findings = append(p.findings, f)
}

// fails tells that something was found.
func (x *pieces) fails() bool {
	return len(x.found) > 0 || x.left.refuted() &&
		slices.ContainsFunc(x.left.found, func(f fallen) bool { return f.by == x })
}

// finding makes the finding of breaches that left nothing alive, perhaps together with those of other
// partitions.
func (x *pieces) finding(c *caseFile, alone *part, mine []*breach) verdict.Finding {
	events, box := alone.histories[0].all, x.plan.whole.boxes[0]
	if x.stretches != nil {
		box = x.stretches.whole.boxes[0]
	}
	others := map[*pieces]bool{}
	for _, f := range x.left.found {
		others[f.by] = true
	}
	switch {
	case len(c.limit) > 1:
		one := &breach{kind: verdict.NoExplanation, events: events, span: spanOf(events), open: len(mine) > 1}
		return c.describe(alone, []*breach{one}, events, c.limit[0], box, 0)
	case len(others) > 1 || len(events) > largeWitness:
		return c.describe(alone, mine, events, c.limit[0], box, len(others)-1)
	}
	return c.finding(alone, mine, box)
}

// beginning returns the edges of the first observations, where those that come were sent at or after an
// instant.
func (x *pieces) beginning(next time.Duration) *edges {
	until := maxTime
	if next < time.Duration(maxTime) {
		until = x.plan.until(next)
	}
	if own := x.plan.c.edges; own != nil && x.stretches != nil {
		begun := *own
		begun.until = min(own.until, until)
		return &begun
	}
	x.from = 0
	return x.edges(until)
}

// placementsAt notes what is known at an instant inside of the last piece of the windows that requests place.
// It is nothing where a partition may have been forgotten, or was in use when its recording began: then the
// next piece begins after a silence.
func (x *pieces) placementsAt(t, until int64) {
	e := x.edges(until)
	x.placements = nil
	if !e.opened {
		return
	}
	for _, h := range x.histories {
		if e.from > 0 && !e.placed && (len(h.all) == 0 || max(e.from, h.all[0].s-e.memory) > t) {
			return // what came before the silence is a part of the next piece
		}
	}
	placements := make([]*placement, len(x.histories))
	for i, p := range x.plan.c.limit {
		if !needsPlacement(p) {
			continue
		}
		if placements[i] = placementAt(p, len(x.histories) > 1, x.histories[i], t,
			e.until); placements[i] == nil {
			return
		}
	}
	x.placements = placements
}
