package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// stretches are what pieces of a sliding window counter hand on whose windows begin at the first counted
// request, and anew after two windows without one. Within a stretch it is a counter with one phase, known up
// to the interval of that request.
//
//	stretch 1                             stretch 2
//	[   W   )[   W   )[   W   )  ......   [   W   )[   W   )
//	^ box of phases            until the one that finds two windows over; where that is not sure, the rest
//	                           is not judged
type stretches struct {
	pol spec.Policy
	all bool
	// now follows the windows of the stretch, and whole is its region; nil until it is known when it began.
	now   *follower
	whole region
	// taken is the number of observations of the piece that were followed.
	taken int
	// banned and bans are by when what was denied before the stretch, and up to now, has explained all that
	// it can.
	banned, bans int64
	// chain are the requests that place the windows, as far as they are kept, by links; next is the last one
	// seen.
	chain []timeline.Observation
	links links
	next  timeline.Observation
	// amid are the edges of a recording that was cut out of traffic, else nil; before waits for the silence
	// after which all that may count is in it, nil where there is nothing to wait for any more.
	amid   *edges
	before *lull
	// unsure says why the rest is not judged; limited tells that the search of a phase reached its budget in
	// some stretch.
	unsure  string
	limited bool
}

func newStretches(pol spec.Policy, amid *edges) *stretches {
	w := &stretches{pol: pol, all: pol.Count == spec.CountAll, banned: minTime, bans: minTime, amid: amid}
	if amid != nil && amid.from > 0 {
		silence := amid.lull()
		w.before = &silence
	}
	if w.all && pol.Ban > 0 {
		w.unsure = unsureBanned
	}
	return w
}

// outside tells whether an observation is left out: nothing is known of the windows yet, or what came before
// it may be missing. One that may have been decided after the end is not: as long as it is sure that the
// windows go on it is in one of them, and what is missing leaves less room. One that is missing may have read
// a clock that stood still for a tick.
func (w *stretches) outside(o *timeline.Observation, widen widening) bool {
	if w.amid == nil {
		return false
	}
	ev := newEvent(o, widen, maxTime)
	if w.before != nil && w.before.ends(&ev) {
		w.before = nil
	}
	return w.before != nil || ev.s > w.amid.until-widen.tick
}

// stretchwise judges observations, of which none is missing that may have been decided until an instant,
// stretch by stretch, and keeps what the next piece needs.
func (x *pieces) stretchwise(obs []timeline.Observation, until int64, end time.Duration) {
	w := x.stretches
	for !x.done() {
		if w.now == nil && !x.place(obs, until, end) {
			x.uncounted(obs, until, end)
			x.hold(obs, until)
			return
		}
		n, from, sure := w.follow(obs, x.plan.kinds[0].widening)
		x.judge(obs[:n], min(until, from-1), end)
		switch {
		case from == maxTime && until < maxTime:
			x.carry(obs, until)
			w.taken = len(x.obs)
			return
		case from == maxTime || x.done():
			return
		case !sure || w.pol.TTL > 0: // where it was forgotten before, the windows begin elsewhere
			w.unsure, x.obs = unsureSilence, nil
			return
		}
		obs = obs[n:]
		x.obs = obs
		w.limited = w.limited || x.left.limited
		w.now, w.taken, w.chain, w.banned = nil, 0, w.chain[:0], w.bans
		x.from, x.kept = 0, nil
	}
}

// place finds when the windows of a new stretch begin; ok=false where that is not known yet.
func (x *pieces) place(obs []timeline.Observation, until int64, end time.Duration) (ok bool) {
	w, widen := x.stretches, x.plan.kinds[0].widening
	if until < maxTime {
		end = time.Duration(maxTime)
	}
	var events []event
	for i := range obs {
		if ev := newEvent(&obs[i], widen, int64(end)); len(events) > 0 || ev.counts(w.all) {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return false
	}
	box := anchor(events, w.all)
	if box.to > until && until < maxTime {
		return false
	}
	f := follow(events[0], w.all, newWindows(w.pol, box.from, box.to), maxTime)
	w.now, w.whole = &f, region{[]phases{box}, spec.Limit{divisible(w.pol)}}
	x.left = newSurvivors(w.whole)
	counted := slices.DeleteFunc(events, func(ev event) bool { return !ev.counts(w.all) })
	placing := chain(counted, int64(w.pol.Rate.Per))
	for i := range obs {
		at := slices.IndexFunc(placing[:min(2, len(placing))],
			func(ev event) bool { return ev.seq == obs[i].Seq })
		if at >= 0 {
			w.chain = append(w.chain, obs[i])
			w.links, w.next = newLinks(&placing[at], int64(w.pol.Rate.Per)), obs[i]
		}
	}
	return true
}

// uncounted judges the denials that were decided until an instant and before any request that may be counted.
func (x *pieces) uncounted(obs []timeline.Observation, until int64, end time.Duration) {
	w, widen := x.stretches, x.plan.kinds[0].widening
	if w.amid != nil {
		until = min(until, w.amid.until)
	}
	n := 0
	for ; n < len(obs); n++ {
		if ev := newEvent(&obs[n], widen, maxTime); ev.counts(w.all) {
			until = min(until, ev.s-1)
			break
		}
	}
	c := *x.plan.c
	c.edges, c.end = nil, int64(end)
	p := &part{name: x.name, obs: obs[:n]}
	c.prepare(p)
	h := p.histories[0]
	h.ignoreDenials(w.pol.Ban > 0, func(ev event) bool { return ev.e > until || ev.s <= w.banned })
	var r anchoredRefutation
	if r.deny(h.all, h.lag, w.pol, c.o.Conformance); len(r.found) > 0 {
		x.found = append(x.found, c.findingOf(p, r.found, w.pol, phases{}))
	}
}

// hold keeps observations until it is known when the windows began, but for denials from before the first
// that may be counted.
func (x *pieces) hold(obs []timeline.Observation, until int64) {
	w := x.stretches
	kept := obs[:0]
	for i := range obs {
		ev := newEvent(&obs[i], x.plan.kinds[0].widening, maxTime)
		if len(kept) > 0 || ev.counts(w.all) || ev.e > until {
			kept = append(kept, obs[i])
			continue
		}
		w.bans = max(w.bans, later(ev.e, int64(w.pol.LongestBan())))
		w.banned = w.bans
	}
	x.obs, x.full, w.taken = kept, max(x.size, 2*len(kept)), 0
	if len(kept) > farthest {
		w.unsure, x.obs = unsureSilence, nil
	}
}

// follow takes the observations that were not taken yet. It returns the number of those that belong to the
// stretch and when the next one begins, maxTime if it does not; sure=false where only the rest may belong to
// another one.
func (w *stretches) follow(obs []timeline.Observation, widen widening) (n int, from int64, sure bool) {
	for i := w.taken; i < len(obs); i++ {
		ev := newEvent(&obs[i], widen, maxTime)
		if over, sure := w.now.next(&ev); over {
			for n = i; n > 0 && newEvent(&obs[n-1], widen, maxTime).s >= ev.s; n-- {
			}
			return n, ev.s, sure
		}
		if ev.outcome != timeline.Allowed {
			w.bans = max(w.bans, later(ev.e, int64(w.pol.LongestBan())))
		}
		if len(w.chain) < mostChain && ev.outcome != timeline.Unknown && ev.counts(w.all) {
			if _, kept := w.links.add(&ev); kept {
				w.chain = append(w.chain, w.next)
			}
			w.next = obs[i]
		}
	}
	w.taken = len(obs)
	return len(obs), maxTime, true
}

// within returns a history of the stretch without the denials that a ban from before it may explain.
func (w *stretches) within(h *history) *history {
	if w.pol.Ban == 0 || w.banned == minTime {
		return h
	}
	out := *h
	out.ignoreDenials(true, func(ev event) bool { return ev.s <= w.banned })
	return &out
}

// firstDenied asks what no phase of the stretch explains of the first denials of its windows.
func (x *pieces) firstDenied(pc *excerpt) {
	w, box := x.stretches, x.stretches.whole.boxes[0]
	if w.pol.Ban > 0 || w.pol.TTL > 0 || pc.c.o.Conformance == verdict.UpperBound {
		return
	}
	if br := newCounter(w.pol, box.from, box.to).firstDenied(pc.p.histories[0]); br != nil {
		x.found = append(x.found, pc.c.describe(pc.p, []*breach{br}, br.events, w.pol, box, 0))
	}
}

// placing adds to observations and events those that place the windows of the stretch.
func (x *pieces) placing(obs []timeline.Observation, events []event) ([]timeline.Observation, []event) {
	if x.stretches == nil {
		return obs, events
	}
	for i := range x.stretches.chain {
		o := &x.stretches.chain[i]
		if _, ok := x.kept[o.Seq]; !ok {
			obs = append(obs, *o)
			obs[len(obs)-1].Partition = x.name
			events = append(events, newEvent(o, x.plan.kinds[0].widening, int64(x.end)))
		}
	}
	return obs, events
}
