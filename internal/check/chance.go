package check

import (
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
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
	lasts := p.shortest()
	answered := func(o *history.Observation) {
		if o.Answered && o.Outcome == timeline.Denied {
			o.Outcome, o.Done = timeline.Allowed, max(o.Done, o.Sent+lasts)
		}
	}
	sent := func(o *history.Observation) {
		o.Answered, o.FirstByte, o.Outcome, o.Done = true, o.Sent, timeline.Allowed, o.Sent+lasts
	}
	none := slices.ContainsFunc(c.Limit, func(x spec.Policy) bool { return x.Full() == 0 })
	served := slices.ContainsFunc(p.Obs,
		func(o history.Observation) bool { return o.Outcome == timeline.Allowed })
	tested = (served || none) && p.Seen.Known > 0 && c.overAdmits(p, answered)
	return tested || c.overAdmits(p, sent), tested
}

// shortest returns how long the quickest admitted request took until it was complete, 0 without one. A denied
// one would have been in flight as long, had it been admitted.
func (p *Part) shortest() (least time.Duration) {
	for i := range p.Obs {
		if o := &p.Obs[i]; o.Outcome == timeline.Allowed && (least == 0 || o.Done-o.Sent < least) {
			least = o.Done - o.Sent
		}
	}
	return max(0, least)
}

// comeback tells whether p came back after something that may have made the target forget it, after how many
// other clients, and whether a limiter that did forget it would have been refuted each time. Such a limiter
// admits as much as a new client can be admitted, and at most what was asked.
//
//	before     restart, or others   after
//	a a a d d  ------------------>  d d d d     remembered
//	a a a d d  ------------------>  a a a d     forgotten: refuted, unless the quota is back by then
func (c *Case) comeback(p *Part) (back, shown bool, others int) {
	shown = true
	for _, b := range c.Rec.Header.Judged.Breaks {
		since := func(t time.Duration) int {
			return sort.Search(len(p.Obs), func(i int) bool { return p.Obs[i].Sent >= t })
		}
		if k := since(b.To); k > 0 && k < len(p.Obs) && since(b.From) == k {
			back, others = true, max(others, b.Answered)
			shown = shown && 2*b.Answered >= b.Others && c.remembers(p, k)
		}
	}
	return back, back && shown, others
}

// remembers tells whether p would be refuted had it been a new client from observation k on.
func (c *Case) remembers(p *Part, k int) bool {
	lasts, from := p.shortest(), p.Obs[k].Sent
	anew := func(o *history.Observation) {
		if o.Sent >= from && o.Answered && o.Outcome == timeline.Denied {
			o.Outcome, o.Done = timeline.Allowed, max(o.Done, o.Sent+lasts)
		}
	}
	refuted := func(i, j int) bool {
		part := *p
		part.Obs = p.Obs[i:j]
		return c.overAdmits(&part, anew)
	}
	alone := sort.Search(len(p.Obs)-k, func(n int) bool { return refuted(k, k+n+1) })
	return refuted(0, k+alone)
}

// overAdmits tells whether the upper bounds refute p if each of its observations is changed.
func (c *Case) overAdmits(p *Part, change func(*history.Observation)) bool {
	obs := slices.Clone(p.Obs[:min(len(p.Obs), someObservations)])
	for i := range obs {
		change(&obs[i])
	}
	twin := *c
	twin.O = Options{Conformance: result.UpperBound, SkipMeasure: true}
	twin.Quick, twin.BoundsOnly, twin.Few, twin.work = true, true, fewBoxes, 0
	x := &Part{Partition: history.Partition{Name: p.Name, Obs: obs, Seen: p.Seen}}
	twin.prepare(x)
	twin.Parts = []*Part{x}
	if twin.Judge(); len(x.Findings) > 0 || len(obs) == len(p.Obs) {
		return len(x.Findings) > 0
	}
	later := *p
	later.Obs = p.Obs[len(obs)/2:] // what they are refuted by alone, they are refuted by together
	return c.overAdmits(&later, change)
}
