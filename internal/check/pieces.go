package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// piecePlan is what the pieces of all partitions share. It does not change.
//
// A piece is a stretch of a partition's observations, judged by the bounds as a recording that was cut out of traffic: what came
// before it has left the limiter in some state, and may explain a denial near its beginning; what comes after may explain one
// that may have been decided so late. Both are what edges know of. Pieces overlap, by as long as the limiter remembers and the
// requests in flight last, so that every denial is asked in a piece that has all that may count against it:
//
//	                     from                        until
//	piece k     ..........|============================|         asks of every denial within
//	piece k+1                                  |.......|=================|
//	                                          from    the oldest request in flight when piece k was taken
//
// Every request that may have been decided, or be complete, after `from` is in the piece.
type piecePlan struct {
	c     *caseFile
	whole region
	// bound is that of the only policy where nothing is open; else nil.
	bound bound
	// memory is how long what came before a piece may explain a denial, reach how long a span of admissions is judged at least,
	// both in nanoseconds.
	memory, reach int64
	// full is how many units that are in use for ever explain every denial.
	full int64
	// kinds are those of the histories.
	kinds []kind
	// sweeps bound the admissions of a whole recording, for buckets, whose spans may be long.
	sweeps []*watchPlan
	// size is the least number of observations of a piece; small that where there are many partitions.
	size, small int
	// shared: the regions that survive are those of all partitions.
	shared *survivors
	// upper is the plan for the admissions alone, where a denial proves nothing by itself.
	upper *piecePlan
}

// kind is how the events of a policy are made from observations.
type kind struct {
	widening
	stay
}

// The least numbers of observations of a piece: of a bucket that no sweep over all admissions bounds; of one
// where many partitions are watched. At most farthest are judged again for one slow denial.
const (
	pieceSize   = 1 << 15
	longPiece   = 1 << 17
	smallPiece  = 1 << 11
	farthest    = 1 << 17
	keptWitness = 1 << 16
)

// newPiecePlan returns nil for a limit that no piece but the first can be judged under, as its windows are placed by the requests
// that open them.
func newPiecePlan(h timeline.Header, limit reference.Limit, o Options) *piecePlan {
	if slices.ContainsFunc(limit, func(p reference.Policy) bool { return p.Windowed() && p.Align == reference.AlignFirst }) {
		return nil
	}
	c := newCase(&timeline.Timeline{Header: h}, limit, o)
	c.boundsOnly = true
	w := &piecePlan{c: c, whole: c.wholeRegion(), size: pieceSize, small: smallPiece}
	for _, p := range c.limit {
		w.memory, w.reach = max(w.memory, recalls(p)), max(w.reach, recalls(p), reaches(p))
		_, loose := p.Ends()
		w.full = max(w.full, loose.Full())
		if k := (kind{widen(h, p.Tick, p.TickSet), stayOf(p)}); !slices.Contains(w.kinds, k) {
			w.kinds = append(w.kinds, k)
		}
		if s := sweepPlan(h, p, o); s != nil {
			w.sweeps = append(w.sweeps, s)
		}
		if !wholeRate(p) && (ranged(p) || p.Completes()) {
			w.size = longPiece
		}
	}
	if o.Shared && (o.Conformance == "" || o.Conformance == Exact) {
		o.Conformance = UpperBound
		w.upper = newPiecePlan(h, limit, o)
	}
	if p := c.limit[0]; len(c.limit) == 1 && w.whole.known() && !ranged(p) && p.BanTo == 0 && p.TTLTo == 0 {
		w.bound = newBound(c.limit[0], w.whole.boxes[0].from, w.whole.boxes[0].to)
	}
	return w
}

// recalls returns how long a policy remembers what is decided or, where that is what it counts, complete.
func recalls(p reference.Policy) int64 {
	if p.Algorithm == reference.Concurrency {
		return 0
	}
	p.Charge, p.TTL, p.TTLTo = "", 0, 0
	if p.BurstTo > 0 {
		_, loose := p.Ends()
		p.Burst, p.Queue = loose.Burst, loose.Queue
	}
	p.Rate.Per = p.LongestWindow()
	p.RateTo, p.BurstTo, p.PerTo = 0, 0, 0
	return newBound(p, 0, 0).memory()
}

// reaches returns how long the spans are in which admissions are counted. A bucket that requests which are missing may have used
// up is taken to be empty when the first one that is not was decided, as much as its memory later.
func reaches(p reference.Policy) int64 {
	switch p.Algorithm {
	case reference.SlidingWindowLog:
		return spans * int64(p.LongestWindow())
	case reference.FixedWindow, reference.SlidingWindowCounter:
		return 3 * int64(p.LongestWindow())
	}
	return 2 * recalls(p)
}

// sweepPlan returns the plan of a sweep over all admissions under the loosest bucket of a policy, or nil where it is none, or may
// be created anew at a low level. An overloaded bucket is never full: only spans from when it was show that it gave too much.
func sweepPlan(h timeline.Header, p reference.Policy, o Options) *watchPlan {
	switch p.Algorithm {
	case reference.SlidingWindowLog, reference.FixedWindow, reference.SlidingWindowCounter, reference.Concurrency:
		return nil
	}
	if p.TTL > 0 && remembersStart(p) || p.Completes() || o.Conformance == LowerBound {
		return nil
	}
	_, p = p.Ends()
	p.Count, p.Ban, p.BanTo, p.TTLTo, o.Conformance = reference.CountAdmitted, 0, 0, 0, UpperBound
	limit := reference.Limit{p}
	return watchPlanOf(h, p, o, phases{}, edgesOf(h, limit))
}

// pieces judge one partition as its observations come.
type pieces struct {
	plan *piecePlan
	name string
	// tape has the observations since `from`, which is 0 as long as that is all of them; taken when there are `full`.
	tape tape
	from int64
	// full and size are numbers of observations: size is the least full.
	full, size int
	end        time.Duration
	left       *survivors
	// sweeps are over all admissions.
	sweeps []*watch
	found  []Finding
	// over and under tell that a side needs no judgement any more, judged that there was something to judge.
	over, under, judged bool
	// exact: it is judged whole, and searched exactly too; finished: all of it was judged.
	exact, finished bool
	// upper are those of plan.upper.
	upper *pieces
	// kept are the observations and events of what refuted the regions that fell, by number.
	kept map[int]witnessed
}

type witnessed struct {
	timeline.Observation
	event
}

func newPieces(plan *piecePlan, name string, crowded bool) *pieces {
	x := &pieces{plan: plan, name: name, left: plan.shared, size: plan.size}
	x.tape.dones = plan.c.limit.Completes()
	if crowded {
		x.size = plan.small
	}
	x.full = x.size
	if x.left == nil {
		x.left = newSurvivors(plan.whole)
	}
	for _, s := range plan.sweeps {
		x.sweeps = append(x.sweeps, newWatch(s, name))
	}
	x.over = plan.c.o.Conformance == LowerBound || len(x.sweeps) > 0 && plan.c.limit[0].TTL == 0
	x.under = plan.c.o.Conformance == UpperBound
	if plan.upper != nil {
		x.upper = newPieces(plan.upper, name, crowded)
	}
	return x
}

// observe takes the next observation; n is the number of those before it.
func (x *pieces) observe(o *timeline.Observation, n int) {
	for _, w := range x.sweeps {
		w.observe(o, n)
	}
	if x.upper != nil {
		x.upper.observe(o, n)
	}
	if x.done() {
		return
	}
	if x.tape.n >= x.full {
		x.take(o.Sent)
	}
	x.end = max(x.end, o.Sent, o.FirstByte, o.Done)
	x.tape.add(o)
}

// done tells that there is nothing left to ask.
func (x *pieces) done() bool {
	return x.left.refuted() || x.over && x.under && x.plan.bound != nil || len(x.plan.c.limit) > 1 && len(x.found) > 0
}

// take judges what is on the tape, where all that comes is sent at or after an instant, and keeps what the next piece needs.
func (x *pieces) take(next time.Duration) {
	obs := make([]timeline.Observation, 0, x.tape.n)
	x.tape.each(func(o *timeline.Observation) { obs = append(obs, *o) })
	until := x.plan.until(next)
	x.judge(obs, until, max(x.end, next))
	x.carry(obs, until)
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
		obs := make([]timeline.Observation, 0, x.tape.n)
		x.tape.each(func(o *timeline.Observation) { obs = append(obs, *o) })
		x.judge(obs, maxTime, end)
	}
	x.tape, x.end = tape{}, end
	var swept []Finding
	for _, w := range x.sweeps {
		w.finish()
		swept = append(swept, w.found...)
	}
	if x.sweeps = nil; len(swept) > 0 {
		x.found = slices.DeleteFunc(x.found, func(f Finding) bool { return f.Kind == OverAdmission })
	}
	x.found = append(swept, x.found...)
}

// edges returns those of a piece that ends at an instant, beside those of the recording.
func (x *pieces) edges(until int64) *edges {
	e := &edges{from: x.from, until: until, memory: x.plan.memory, drop: true}
	for _, p := range x.plan.c.limit {
		e.drop = e.drop && (p.Count == "" || p.Count == reference.CountAdmitted) && p.Ban == 0
	}
	if own := x.plan.c.edges; own != nil {
		e.until = min(e.until, own.until)
		if latest := max(later(own.from, own.memory), x.from+x.plan.memory); own.from > 0 {
			e.from = max(own.from, x.from)
			e.memory = max(latest-e.from, 0)
		}
	}
	return e
}

// judge judges observations of which none that may have been decided from x.from until an instant is missing.
func (x *pieces) judge(obs []timeline.Observation, until int64, end time.Duration) {
	c := *x.plan.c
	c.edges, c.end = x.edges(until), int64(end)
	pc := &excerpt{c: &c, p: &part{name: x.name, obs: obs}, exact: x.exact && x.left.steps < stepBudget}
	if c.prepare(pc.p); pc.p.unjudged != "" {
		return
	}
	x.judged = true
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
	for side, done := range map[Conformance]*bool{UpperBound: &x.over, LowerBound: &x.under} {
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
		x.full = max(x.full, 2*x.tape.n)
		return
	}
	x.from = from
	kept := tape{bytes: x.tape.bytes[:0], tapeHead: tapeHead{dones: x.tape.dones}}
	var forever, denied int64 // the units that are in use, or counted, for ever
	for i := range obs {
		switch l := &stays[i]; {
		case l.reach < from:
			continue
		case l.reach >= maxTime && (!l.asked || max(l.e, l.since) < from):
			units := &forever
			if obs[i].Outcome == timeline.Denied { // it was not answered
				units = &denied
			}
			if *units >= x.plan.full { // as many explain every later denial
				continue
			}
			*units += max(obs[i].Cost, 1)
		}
		kept.add(&obs[i])
	}
	x.tape = kept
	x.full = max(x.size, 4*kept.n)
}

// lasts is how long a request matters.
type lasts struct {
	// s and e are when it was decided at the earliest and at the latest, since when it was complete at the earliest, reach
	// until when it matters by itself.
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
	p.search = Search{Visited: x.left.steps}
	if p.search.Visited > 0 {
		p.search.Cap, p.search.Capped = visitCap, x.left.steps >= stepBudget
	}
	if p.unjudged = ""; !x.judged {
		p.unjudged = amidTraffic
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
	case !x.left.refuted(), len(mine) == 0, len(x.found) > 0 && len(c.limit) > 1:
		return
	}
	alone := &part{name: x.name}
	var events []event
	for _, seq := range slices.Sorted(maps.Keys(x.kept)) {
		alone.obs = append(alone.obs, x.kept[seq].Observation)
		events = append(events, x.kept[seq].event)
	}
	slices.SortStableFunc(alone.obs, func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	h := historyOf(events)
	for range c.limit {
		alone.histories = append(alone.histories, h)
	}
	h.lag = x.plan.kinds[0].tick
	f := x.finding(c, alone, mine)
	if c.o.Shared && slices.ContainsFunc(x.left.found, func(f fallen) bool { return f.kind != OverAdmission }) {
		f.Kind = NoExplanation // a denial, perhaps of another partition, is a part of the proof
	}
	p.findings = append(p.findings, f)
}

// fails tells that something was found.
func (x *pieces) fails() bool {
	return len(x.found) > 0 || x.left.refuted() && slices.ContainsFunc(x.left.found, func(f fallen) bool { return f.by == x })
}

// finding makes the finding of breaches that left nothing alive, perhaps together with those of other partitions.
func (x *pieces) finding(c *caseFile, alone *part, mine []*breach) Finding {
	events, box := alone.histories[0].all, x.plan.whole.boxes[0]
	others := map[*pieces]bool{}
	for _, f := range x.left.found {
		others[f.by] = true
	}
	switch {
	case len(c.limit) > 1:
		one := &breach{kind: NoExplanation, events: events, span: spanOf(events), open: len(mine) > 1}
		return c.describe(alone, []*breach{one}, events, c.limit[0], box, 0)
	case len(others) > 1 || len(events) > largeWitness:
		return c.describe(alone, mine, events, c.limit[0], box, len(others)-1)
	}
	return c.finding(alone, mine, box)
}

// sized sets the sizes of the pieces, and shares what survives where all partitions have the same phase.
func (w *piecePlan) sized(caps streamCaps, shared bool) {
	if caps.piece > 0 {
		w.size, w.small = caps.piece, caps.piece
	}
	if shared {
		w.shared = newSurvivors(w.whole)
	}
	if w.upper != nil {
		w.upper.sized(caps, shared)
	}
	for _, s := range w.sweeps {
		s.block, s.last = caps.block, caps.last
	}
}

// beginning returns the edges of the first observations, where those that come were sent at or after an instant.
func (x *pieces) beginning(next time.Duration) *edges {
	x.from = 0
	if next == time.Duration(maxTime) {
		return x.edges(maxTime)
	}
	return x.edges(x.plan.until(next))
}

// until returns the last instant before which all that is sent at or after another one can have been decided.
func (w *piecePlan) until(next time.Duration) int64 {
	until := maxTime
	for _, k := range w.kinds {
		until = min(until, int64(next)-k.left-k.drift(int64(next)))
	}
	return until - 1
}
