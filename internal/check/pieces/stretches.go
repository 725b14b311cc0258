package pieces

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/check/witness"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// stretches judges the pieces of a sliding window counter whose windows begin at the first counted request.
// They begin anew after two windows without one. Within a stretch it is a counter with one phase. The phase
// is known up to the interval of that request.
//
//	stretch 1                             stretch 2
//	[   W   )[   W   )[   W   )  ......   [   W   )[   W   )
//	^ box of phases            until a request finds that two windows are over; where that is not sure,
//	                           the rest is not judged
type stretches struct {
	pol spec.Policy
	all bool
	// now follows the windows of the stretch. whole is its region. now is nil until it is known when the
	// stretch began.
	now   *limiter.Follower
	whole region
	// taken is how many observations of the piece were followed.
	taken int
	// banned is the instant by which the denials before the stretch have explained all that they can. bans is
	// the same of all denials so far.
	banned, bans int64
	// chain are the requests that place the windows, as far as links keeps them. next is the last one seen.
	chain []history.Observation
	links history.Cover
	next  history.Observation
	// amid are the edges of a recording that was cut out of traffic, otherwise nil. before waits for a
	// silence after which no missing request counts. nil: there is nothing to wait for.
	amid   *history.Edges
	before *history.QuietGap
	// unsure says why the rest is not judged. limited: the search of a phase reached its budget in some
	// stretch.
	unsure  string
	limited bool
}

func newStretches(pol spec.Policy, amid *history.Edges) *stretches {
	w := &stretches{pol: pol, all: pol.Count == spec.CountAll, banned: history.MinTime, bans: history.MinTime,
		amid: amid}
	if amid != nil && amid.From > 0 {
		silence := amid.Lull()
		w.before = &silence
	}
	if w.all && pol.Ban > 0 {
		w.unsure = judge.UnsureBanned
	}
	return w
}

// outside tells whether an observation is left out, because nothing is known of the windows yet, or earlier
// requests may be missing.
//
// A request that may have been decided after the end is kept. While the windows surely go on, it is in one of
// them, and missing requests leave less room. A missing request may have read a clock that stood still for a
// tick, so the end lies one tick earlier.
func (w *stretches) outside(o *history.Observation, widen history.Widening) bool {
	if w.amid == nil {
		return false
	}
	ev := history.NewEvent(o, widen, history.MaxTime)
	if w.before != nil && w.before.Ends(&ev) {
		w.before = nil
	}
	return w.before != nil || ev.Start > w.amid.Until-widen.Tick
}

// stretchwise judges observations stretch by stretch, and keeps what the next piece needs. No request is
// missing that may have been decided by until.
func (x *Pieces) stretchwise(obs []history.Observation, until int64, end time.Duration) {
	w := x.stretches
	for !x.done() {
		if w.now == nil && !x.place(obs, until, end) {
			x.uncounted(obs, until, end)
			x.hold(obs, until)
			return
		}
		n, from, sure := w.follow(obs, x.plan.kinds[0].Widening)
		x.judge(obs[:n], min(until, from-1), end)
		switch {
		case from == history.MaxTime && until < history.MaxTime:
			x.carry(obs, until)
			w.taken = len(x.Obs)
			return
		case from == history.MaxTime || x.done():
			return
		case !sure || w.pol.TTL > 0: // where it was forgotten, the windows begin elsewhere
			w.unsure, x.Obs = judge.UnsureSilence, nil
			return
		}
		obs = obs[n:]
		x.Obs = obs
		w.limited = w.limited || x.left.limited
		w.now, w.taken, w.chain, w.banned = nil, 0, w.chain[:0], w.bans
		x.From, x.kept = 0, nil
	}
}

// place finds when the windows of a new stretch begin. ok=false: that is not known yet.
func (x *Pieces) place(obs []history.Observation, until int64, end time.Duration) (ok bool) {
	w, widen := x.stretches, x.plan.kinds[0].Widening
	if until < history.MaxTime {
		end = time.Duration(history.MaxTime)
	}
	var events []history.Event
	for i := range obs {
		if ev := history.NewEvent(&obs[i], widen, int64(end)); len(events) > 0 || ev.Counts(w.all) {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return false
	}
	box := limiter.Anchor(events, w.all)
	if box.To > until && until < history.MaxTime {
		return false
	}
	f := limiter.Follow(events[0], w.all, limiter.NewGrid(w.pol, box.From, box.To), history.MaxTime)
	w.now, w.whole = &f, region{[]history.Interval{box}, spec.Limit{limiter.Divisible(w.pol)}}
	x.left = newSurvivors(w.whole)
	counted := slices.DeleteFunc(events, func(ev history.Event) bool { return !ev.Counts(w.all) })
	placing := witness.Chain(counted, int64(w.pol.Rate.Per))
	for i := range obs {
		at := slices.IndexFunc(placing[:min(2, len(placing))],
			func(ev history.Event) bool { return ev.Seq == obs[i].Seq })
		if at >= 0 {
			w.chain = append(w.chain, obs[i])
			w.links, w.next = history.NewCover(&placing[at], int64(w.pol.Rate.Per)), obs[i]
		}
	}
	return true
}

// uncounted judges the denials that were decided by until and before any request that may be counted.
func (x *Pieces) uncounted(obs []history.Observation, until int64, end time.Duration) {
	w, widen := x.stretches, x.plan.kinds[0].Widening
	if w.amid != nil {
		until = min(until, w.amid.Until)
	}
	n := 0
	for ; n < len(obs); n++ {
		if ev := history.NewEvent(&obs[n], widen, history.MaxTime); ev.Counts(w.all) {
			until = min(until, ev.Start-1)
			break
		}
	}
	c := *x.plan.C
	c.Edges, c.End = nil, int64(end)
	p := &judge.Part{Name: x.name, Obs: obs[:n]}
	c.Prepare(p)
	h := p.Histories[0]
	h.IgnoreDenials(w.pol.Ban > 0, func(ev history.Event) bool {
		return ev.End > until || ev.Start <= w.banned
	})
	var r phases.AnchoredRefutation
	if r.Deny(h.All, h.Lag, w.pol, c.O.Conformance); len(r.Found) > 0 {
		x.Found = append(x.Found, c.FindingOf(p, r.Found, w.pol, history.Interval{}))
	}
}

// hold keeps the observations until it is known when the windows began. It drops denials from before the
// first request that may be counted.
func (x *Pieces) hold(obs []history.Observation, until int64) {
	w := x.stretches
	kept := obs[:0]
	for i := range obs {
		ev := history.NewEvent(&obs[i], x.plan.kinds[0].Widening, history.MaxTime)
		if len(kept) > 0 || ev.Counts(w.all) || ev.End > until {
			kept = append(kept, obs[i])
			continue
		}
		w.bans = max(w.bans, history.Later(ev.End, int64(w.pol.LongestBan())))
		w.banned = w.bans
	}
	x.Obs, x.full, w.taken = kept, max(x.size, 2*len(kept)), 0
	if len(kept) > farthest {
		w.unsure, x.Obs = judge.UnsureSilence, nil
	}
}

// follow takes the observations that were not taken yet. It returns how many belong to the stretch, and when
// the next one begins (MaxTime: it does not). sure=false: the rest may belong to either.
func (w *stretches) follow(obs []history.Observation, widen history.Widening) (n int, from int64,
	sure bool) {
	for i := w.taken; i < len(obs); i++ {
		ev := history.NewEvent(&obs[i], widen, history.MaxTime)
		if over, sure := w.now.Next(&ev); over {
			for n = i; n > 0 && history.NewEvent(&obs[n-1], widen, history.MaxTime).Start >= ev.Start; n-- {
			}
			return n, ev.Start, sure
		}
		if ev.Outcome != timeline.Allowed {
			w.bans = max(w.bans, history.Later(ev.End, int64(w.pol.LongestBan())))
		}
		if len(w.chain) < limiter.MostChain && ev.Outcome != timeline.Unknown && ev.Counts(w.all) {
			if _, kept := w.links.Add(&ev); kept {
				w.chain = append(w.chain, w.next)
			}
			w.next = obs[i]
		}
	}
	w.taken = len(obs)
	return len(obs), history.MaxTime, true
}

// within returns h without the denials that a ban from before the stretch may explain.
func (w *stretches) within(h *history.History) *history.History {
	if w.pol.Ban == 0 || w.banned == history.MinTime {
		return h
	}
	out := *h
	out.IgnoreDenials(true, func(ev history.Event) bool { return ev.Start <= w.banned })
	return &out
}

// firstDenied asks for a first denial of a window that no phase of the stretch explains.
func (x *Pieces) firstDenied(pc *excerpt) {
	w, box := x.stretches, x.stretches.whole.boxes[0]
	if w.pol.Ban > 0 || w.pol.TTL > 0 || pc.c.O.Conformance == verdict.UpperBound {
		return
	}
	if br := limiter.NewCounter(w.pol, box.From, box.To).FirstDenied(pc.p.Histories[0]); br != nil {
		x.Found = append(x.Found, pc.c.Describe(pc.p, []*limiter.Breach{br}, br.Events, w.pol, box, 0))
	}
}

// placing adds the requests that place the windows of the stretch.
func (x *Pieces) placing(obs []history.Observation, events []history.Event) ([]history.Observation,
	[]history.Event) {
	if x.stretches == nil {
		return obs, events
	}
	for i := range x.stretches.chain {
		o := &x.stretches.chain[i]
		if _, ok := x.kept[o.Seq]; !ok {
			obs = append(obs, *o)
			events = append(events, history.NewEvent(o, x.plan.kinds[0].Widening, int64(x.end)))
		}
	}
	return obs, events
}
