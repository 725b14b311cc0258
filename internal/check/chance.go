package check

import (
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// someObservations is how many observations are asked first whether they could have failed: more cost more,
// and are rarely needed.
const someObservations = 1 << 12

// chance tells whether p could have failed. tested: had every request that was answered been admitted, the
// bounds would refute it. asked: they would refute the load itself, each request admitted when it was sent.
// So asked without tested means that answers are missing, or came too late to prove anything.
//
//	quota 3   sent      1 2 3 4 5     asked: 5 at once are too many
//	          answered  1 . 3 . .     not tested: 2 admissions prove nothing
//
// Nothing is tested by a client that was never admitted, unless its quota is nothing: what denies everybody
// may be no limiter. Where only denials are judged, p is tested if any outcome is known: had it been a
// denial, it would count.
func (c *Case) chance(p *Part) (asked, tested bool) {
	if c.O.Conformance == result.LowerBound {
		return len(p.Obs) > 0, p.Seen.Known > 0
	}
	lasts, costs := shortest(p.Obs), c.cheapest(p.Obs)
	answered := func(o *history.Observation) {
		if o.Answered && o.Outcome == timeline.Denied {
			o.Outcome, o.Done, o.Cost = timeline.Allowed, max(o.Done, o.Sent+lasts), max(o.Cost, costs)
		}
	}
	sent := func(o *history.Observation) {
		if o.Outcome != timeline.Allowed {
			o.Cost = max(o.Cost, costs)
		}
		o.Answered, o.FirstByte, o.Outcome, o.Done = true, o.Sent, timeline.Allowed, o.Sent+lasts
	}
	none := slices.ContainsFunc(c.Limit, func(x spec.Policy) bool { return x.Full() == 0 })
	served := slices.ContainsFunc(p.Obs,
		func(o history.Observation) bool { return o.Outcome == timeline.Allowed })
	tested = (served || none) && p.Seen.Known > 0 && c.overAdmits(p, answered)
	return tested || c.overAdmits(p, sent), tested
}

// heldFor returns the least time that answers take, if p could have failed had the limit said it (hold=A..).
// It is 0 if not. Without it an answer may be charged as soon as it is admitted, and forgotten when it ends.
func (c *Case) heldFor(p *Part) time.Duration {
	limit, lasts, changed := slices.Clone(c.Limit), shortest(p.Obs), false
	for i, x := range limit {
		if x.Charge == spec.ChargeCompletion && x.HoldLeast == 0 && (x.HoldMost == 0 || x.HoldMost >= lasts) {
			limit[i].HoldLeast, changed = lasts, lasts > 0
		}
	}
	twin := *c
	if twin.Limit, twin.declared = limit, limit; !changed {
		return 0
	}
	if _, tested := twin.chance(p); !tested {
		return 0
	}
	return lasts
}

// shortest returns how long the quickest admitted request took until it was complete, 0 without one. A denied
// one would have been in flight as long, had it been admitted.
func shortest(obs []history.Observation) (least time.Duration) {
	for i := range obs {
		if o := &obs[i]; o.Outcome == timeline.Allowed && (least == 0 || o.Done-o.Sent < least) {
			least = o.Done - o.Sent
		}
	}
	return max(0, least)
}

// quickest returns the shortest time until an answer began. 0: there is no answer.
func quickest(obs []history.Observation) (least time.Duration) {
	for i := range obs {
		if o := &obs[i]; o.Answered && (least == 0 || o.FirstByte-o.Sent < least) {
			least = o.FirstByte - o.Sent
		}
	}
	return max(0, least)
}

// cheapest returns the least that an admitted request cost, if costs are settled: a denied one would
// have cost as much, had it been admitted. 0: none was admitted, or a request says what it costs.
func (c *Case) cheapest(obs []history.Observation) (least int64) {
	settles := func(x spec.Policy) bool { return x.Charge == spec.ChargeCompletion }
	if !slices.ContainsFunc(c.Limit, settles) {
		return 0
	}
	for i := range obs {
		if o := &obs[i]; o.Outcome == timeline.Allowed && (least == 0 || o.Cost < least) {
			least = o.Cost
		}
	}
	return max(0, least)
}

// comeback tells whether p came back after something that may have made the target forget it, and after how
// many other clients at most. shown: a limiter that forgets it at each event of one kind would have been
// refuted, and so would one that does so after as many others. Others show nothing if half got no answer.
//
//	before     restart, or others   after
//	a a a d d  ------------------>  d d d d     remembered
//	a a a d d  ------------------>  a a a d     forgotten: refuted, unless the quota is back by then
func (c *Case) comeback(p *Part) (back, shown bool, others int) {
	times := map[timeline.Action][]int{} // the first observations after the events of a kind, or after others
	shown = true
	for _, b := range c.Rec.Header.Judged.Breaks {
		since := func(t time.Duration) int {
			return sort.Search(len(p.Obs), func(i int) bool { return p.Obs[i].Sent >= t })
		}
		k := since(b.To)
		if k == 0 || k == len(p.Obs) || since(b.From) != k {
			continue
		}
		if b.Answered > 2*others { // a limiter may forget its clients after so many, and not before
			times[""] = nil
		}
		others = max(others, b.Answered)
		if b.Event != "" || 2*b.Answered >= others {
			times[b.Event] = append(times[b.Event], k)
		}
		shown = shown && 2*b.Answered >= b.Others
	}
	for _, again := range times {
		shown = shown && c.remembers(p, again)
	}
	return len(times) > 0, len(times) > 0 && shown, others
}

// remembers tells whether p would be refuted had the target forgotten it before each of these observations,
// which ascend: it is a new client then, of whom the limit decides when its requests are sent.
func (c *Case) remembers(p *Part, again []int) bool {
	l, err := reference.NewLimit(c.declared)
	if err != nil {
		return false
	}
	forgetful := *p
	forgetful.Obs = slices.Clone(p.Obs)
	for i, k := range again {
		end := len(p.Obs)
		if i+1 < len(again) {
			end = again[i+1]
		}
		c.decide(l, forgetful.Obs[k:end], shortest(p.Obs), c.cheapest(p.Obs))
	}
	return c.overAdmits(&forgetful, func(*history.Observation) {})
}

// overAdmits tells whether the upper bounds refute p if each of its observations is changed.
func (c *Case) overAdmits(p *Part, change func(*history.Observation)) bool {
	obs := slices.Clone(p.Obs[:min(len(p.Obs), someObservations)])
	for i := range obs {
		change(&obs[i])
	}
	if refuted := c.boundsRefute(p, obs, c.Limit, result.UpperBound); refuted || len(obs) == len(p.Obs) {
		return refuted
	}
	later := *p
	later.Obs = p.Obs[len(obs)/2:] // what they are refuted by alone, they are refuted by together
	return c.overAdmits(&later, change)
}

// boundsRefute tells whether the bounds of a limit refute p, had it these observations.
func (c *Case) boundsRefute(p *Part, obs []history.Observation, l spec.Limit, mode result.Conformance) bool {
	refuted, _ := c.refutes(p, obs, l, mode, false)
	return refuted
}

// refutes tells whether a limit refutes p, had it these observations. search: a short search may do so, too.
// capped: it ended before it knew.
func (c *Case) refutes(p *Part, obs []history.Observation, l spec.Limit, mode result.Conformance,
	search bool) (refuted, capped bool) {
	twin := *c
	twin.Limit, twin.declared = l, l
	twin.O = Options{Conformance: mode, SkipMeasure: true}
	twin.Quick, twin.BoundsOnly, twin.Few, twin.work = true, !search, fewBoxes, shortWork
	x := &Part{Partition: history.Partition{Name: p.Name, Obs: obs, Seen: p.Seen}}
	twin.prepare(x)
	twin.Parts = []*Part{x}
	twin.Judge()
	return len(x.Findings) > 0, x.Limited || x.Search.Capped || x.Unjudged != ""
}

// shortWork is how many decisions a short search may try.
const shortWork = 1 << 16
