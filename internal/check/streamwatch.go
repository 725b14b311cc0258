package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// watchPlan is what the watches of all partitions share. It does not change.
type watchPlan struct {
	header timeline.Header
	limit  spec.Limit
	o      Options
	box    phases
	bound  bound
	// edges are those of a recording that began or ended amid traffic, else nil.
	edges *edges
	widen widening
	// reach is how far back, in nanoseconds, the witness of a breach goes at least.
	reach int64
	// block is the least that a watch takes at once, last the least that it keeps of the last observations.
	block, last int
}

// newWatchPlan returns nil for a limit that is judged in pieces, or whole: several policies, ranges, completions, a ban, a time to
// live, denied requests counted, another start than a full one, slots, a phase that is not one value, and clocks that come apart.
func newWatchPlan(h timeline.Header, limit spec.Limit, o Options) *watchPlan {
	limit = lasting(ticked(limit, h))
	edges := edgesOf(h, limit)
	if len(limit) != 1 || h.DriftPPM != 0 || edges != nil && (!edges.drop || edges.opened) {
		return nil
	}
	p := limit[0]
	box, _ := phasesOf(p, h)
	counts := p.Count == "" || p.Count == spec.CountAdmitted || p.Count == spec.CountOwn
	switch {
	case ranged(p), p.Completes(), p.Ban > 0, p.TTL > 0, !counts, p.Start != "" && p.Start != spec.StartFull,
		anchored(p), p.Refreshes(), p.Slots > 1, box.from != box.to:
		return nil
	}
	p.Count = spec.CountAdmitted // there is no other policy to deny what it admits
	return watchPlanOf(h, p, o, box, edges)
}

func watchPlanOf(h timeline.Header, p spec.Policy, o Options, box phases, edges *edges) *watchPlan {
	w := &watchPlan{header: h, limit: spec.Limit{p}, o: o, box: box, edges: edges, widen: widen(h, p.Tick, p.TickSet)}
	w.bound = newBound(p, box.from, box.to)
	w.reach = w.bound.memory()
	switch p.Algorithm {
	case spec.SlidingWindowLog:
		w.reach *= spans
	case spec.FixedWindow:
		w.reach *= 2 // a window is judged when the next one has begun
	}
	return w
}

// asked tells whether a side is judged.
func (w *watchPlan) asked(side Conformance) bool {
	return w.o.Conformance == "" || w.o.Conformance == Exact || w.o.Conformance == side
}

// watch judges one partition as its observations come. Its memory follows the limiter and the requests in flight: an
// admission is judged when no later one can end before it, a denial when no later request can explain it.
type watch struct {
	plan *watchPlan
	name string
	// over and under are nil where nothing is asked, or a breach was found.
	over  overSweep
	under *underSweep
	found []verdict.Finding
	// block has first `carried` admissions, taken already, that are in flight, and then the events to take; it is taken
	// when it has `full` events.
	block         []event
	carried, full int
	admissions    int32
	// older and newer are the last observations, for the witness; lost those without an answer, as far as they matter.
	older, newer tape
	lost         []timeline.Observation
	lostUnits    int64
	end          time.Duration
	// chain are the requests that place the windows, where requests do.
	chain []event
	// judged tells that there was something to judge.
	judged bool
	// ended, sorting and order are memory that take uses again and again.
	ended, sorting []event
	order          []int32
}

// The most that a watch keeps of the last observations, and takes at once.
const (
	mostKept  = 1 << 14
	mostBlock = 1 << 10
)

func newWatch(plan *watchPlan, name string) *watch {
	w := &watch{plan: plan, name: name, full: plan.block}
	if plan.asked(UpperBound) {
		w.over = newOverSweep(plan.bound)
	}
	if plan.asked(LowerBound) {
		w.under = newUnderSweep(plan.bound)
	}
	return w
}

// observe takes the next observation; n is the number of those before it.
func (w *watch) observe(o *timeline.Observation, n int) {
	if w.over == nil && w.under == nil {
		return
	}
	w.end = max(w.end, o.Sent, o.FirstByte, o.Done)
	ev := newEvent(o, w.plan.widen, maxTime)
	f, opened := w.over.(*firstOver)
	switch {
	case ev.e < maxTime:
		w.newer.add(o)
	case ev.outcome == timeline.Denied: // it may be decided at any time to come: it proves nothing, and may only open a window
		if !opened || !f.others && !f.all {
			return
		}
	default: // it may explain
		ev.outcome = timeline.Unknown
		if w.lostUnits < w.plan.bound.full() { // as many explain every later denial
			w.lost = append(w.lost, *o)
			w.lostUnits += ev.cost
		}
	}
	if w.plan.edges != nil && !w.plan.edges.proves(&ev) {
		return
	}
	w.judged = w.judged || w.plan.edges == nil || ev.outcome != timeline.Unknown
	if ev.outcome == timeline.Allowed {
		ev.order = w.admissions
		w.admissions++
	}
	if w.block = append(w.block, ev); len(w.block) >= w.full {
		w.take(ev.s)
		w.full = 2*w.carried + min(max(n/64, w.plan.block), mostBlock)
		w.full = max(w.full, 2*len(w.block))
		w.turn(n)
	}
}

// turn forgets the older half of what is kept for witnesses, where the newer one reaches back far enough from the oldest
// request in flight.
func (w *watch) turn(n int) {
	oldest := w.block[0].s
	if w.under != nil && len(w.under.pending) > 0 {
		oldest = min(oldest, w.under.pending[0].s)
	}
	if f, ok := w.over.(*firstOver); ok {
		oldest = min(oldest, f.unplaced())
	}
	enough := min(max(n/8, w.plan.last), mostKept)
	if w.newer.n >= enough && int64(w.newer.first) < oldest-w.plan.reach {
		w.older, w.newer = w.newer, tape{bytes: w.older.bytes[:0]}
	}
}

// take judges what lies before the horizon: no later observation begins before it.
func (w *watch) take(horizon int64) {
	cut := len(w.block)
	for cut > w.carried && w.block[cut-1].s >= horizon {
		cut--
	}
	fresh := w.block[w.carried:cut]
	if len(fresh) == 0 && horizon < maxTime {
		return
	}
	oldest := horizon
	ended := w.ended[:0]
	for i := cut - 1; i >= 0; i-- {
		switch ev := &w.block[i]; {
		case ev.outcome != timeline.Allowed:
		case ev.e < horizon:
			ended = append(ended, *ev)
		default:
			oldest = ev.s
		}
	}
	slices.Reverse(ended)
	w.sortByEnd(ended)
	w.ended = ended
	w.sweep(fresh, ended, oldest, horizon)
	keep := w.block[:0]
	for _, ev := range w.block[:cut] {
		if ev.outcome == timeline.Allowed && ev.e >= horizon {
			keep = append(keep, ev)
		}
	}
	w.carried = len(keep)
	w.block = append(keep, w.block[cut:]...)
}

func (w *watch) sweep(fresh, ended []event, oldest, horizon int64) {
	if w.over != nil {
		a := tooDearAmong(ended, w.plan.bound.full())
		if a == nil {
			a = w.over.advance(fresh, ended, oldest, horizon)
		}
		if a != nil {
			switch over := w.over.(type) {
			case *firstOver:
				w.chain = over.chain
			case *expiringOver:
				w.chain = over.witness()
			}
			w.over = nil
			w.found = append([]verdict.Finding{w.overFinding(a)}, w.found...)
		}
	}
	if w.under != nil {
		if d := w.under.advance(fresh, ended, horizon); d != nil {
			if m, ok := w.under.m.(*firstMeter); ok {
				w.chain = m.sweep.chain
			}
			w.found = append(w.found, w.underFinding(*d))
			w.under = nil
		}
	}
}

// sortByEnd sorts events, which are nearly in order, by their ends.
func (w *watch) sortByEnd(evs []event) {
	sorted := true
	for i := 1; i < len(evs) && sorted; i++ {
		sorted = evs[i-1].e <= evs[i].e
	}
	if sorted {
		return
	}
	w.order = orderInto(w.order, evs)
	w.sorting = append(w.sorting[:0], evs...)
	for k, i := range w.order {
		evs[k] = w.sorting[i]
	}
}

// finish judges the rest.
func (w *watch) finish() {
	if w.over != nil || w.under != nil {
		w.take(maxTime)
	}
	w.block, w.over, w.under = nil, nil, nil
	w.ended, w.sorting, w.order = nil, nil, nil
	w.older, w.newer, w.lost = tape{}, tape{}, nil
}

// kept returns the last answered observations that pass, ascending by Sent.
func (w *watch) kept(pass func(ev *event) bool) []timeline.Observation {
	var out []timeline.Observation
	for _, t := range []*tape{&w.older, &w.newer} {
		t.each(func(o *timeline.Observation) {
			if ev := newEvent(o, w.plan.widen, maxTime); pass(&ev) {
				out = append(out, *o)
				out[len(out)-1].Partition = w.name
			}
		})
	}
	return out
}

// caseOf returns a case of some observations of the partition, and its only part.
func (w *watch) caseOf(obs []timeline.Observation) (*caseFile, *part) {
	c := &caseFile{tl: &timeline.Timeline{Header: w.plan.header}, limit: w.plan.limit, o: w.plan.o, end: int64(w.end)}
	h := newHistory(obs, w.plan.widen, c.end)
	if w.plan.edges != nil {
		h.all = w.plan.edges.trim(h.all)
		h.split()
	}
	return c, &part{name: w.name, obs: obs, histories: []*history{h}}
}

// overFinding makes the finding of an over-admission from what is kept; where that does not reach back far enough to be
// too much on its own, from the numbers alone.
func (w *watch) overFinding(a *alarm) verdict.Finding {
	obs := w.kept(func(ev *event) bool { return ev.outcome == timeline.Allowed && ev.e <= a.to })
	obs = joined(obs, w.placing())
	c, p := w.caseOf(obs)
	if br := w.plan.bound.over(p.histories[0]); br != nil {
		return c.finding(p, []*breach{br}, w.plan.box)
	}
	f := verdict.Finding{Kind: verdict.OverAdmission, Partition: w.name, Seen: a.seen, Bound: a.bound,
		From: time.Duration(a.from + w.plan.widen.left + w.plan.widen.drift(a.from)), To: time.Duration(a.to - w.plan.widen.right - w.plan.widen.drift(a.to))}
	for _, whole := range []bool{true, false} { // else those that may have been decided since
		if len(f.Observations) > 0 {
			break
		}
		for i := range obs {
			if ev := newEvent(&obs[i], w.plan.widen, maxTime); ev.s >= a.from || !whole && ev.e >= a.from {
				f.Observations = append(f.Observations, obs[i].Seq)
			}
		}
	}
	slices.Sort(f.Observations)
	s := sentence{pol: w.plan.limit[0], header: w.plan.header, witness: obs, end: w.end}
	f.Text = s.over(f, &a.breach)
	return f
}

// underFinding makes the finding of a denial that nothing explains, with what is kept of the admissions that may have
// counted against it. There may have been earlier ones that do not change that.
func (w *watch) underFinding(d event) verdict.Finding {
	obs := w.kept(func(ev *event) bool {
		return ev.outcome == timeline.Allowed && ev.s <= d.e && ev.e >= d.s-w.plan.reach
	})
	obs = joined(obs, w.placing())
	denial := timeline.Observation{Sent: time.Duration(d.s + w.plan.widen.left), FirstByte: time.Duration(d.e - w.plan.widen.right),
		Answered: true, Outcome: timeline.Denied}
	denial.Seq, denial.Partition, denial.Cost = d.seq, w.name, d.cost
	obs = append(append(obs, w.lost...), denial)
	slices.SortStableFunc(obs, func(a, b timeline.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
	c, p := w.caseOf(obs)
	br := underBreach(p.histories[0], w.plan.bound, 0)
	return c.finding(p, []*breach{br}, w.plan.box)
}
