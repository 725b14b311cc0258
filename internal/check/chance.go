package check

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"

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
	lasts, costs := p.shortest(), c.cheapest(p)
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
	limit, lasts, changed := slices.Clone(c.Limit), p.shortest(), false
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
func (p *Part) shortest() (least time.Duration) {
	for i := range p.Obs {
		if o := &p.Obs[i]; o.Outcome == timeline.Allowed && (least == 0 || o.Done-o.Sent < least) {
			least = o.Done - o.Sent
		}
	}
	return max(0, least)
}

// cheapest returns the least that an admitted request of p cost, if costs are settled: a denied one would
// have cost as much, had it been admitted. 0: none was admitted, or a request says what it costs.
func (c *Case) cheapest(p *Part) (least int64) {
	settles := func(x spec.Policy) bool { return x.Charge == spec.ChargeCompletion }
	if !slices.ContainsFunc(c.Limit, settles) {
		return 0
	}
	for i := range p.Obs {
		if o := &p.Obs[i]; o.Outcome == timeline.Allowed && (least == 0 || o.Cost < least) {
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

// remembers tells whether p would be refuted had it been a new client from each of these observations on.
// They ascend. A new client is admitted what it asked, and at most what it can be admitted: one quota until a
// window has passed, or what refills meanwhile.
func (c *Case) remembers(p *Part, again []int) bool {
	lasts, limit := p.shortest(), slices.Clone(c.Limit)
	for i := range limit {
		switch x := &limit[i]; {
		case x.Windowed() && x.Align != spec.AlignCalendar:
			x.Align, x.PhaseFrom, x.PhaseTo = spec.AlignFirst, 0, 0
		case x.Refill == spec.RefillInterval:
			x.Refill, x.Fill = spec.RefillContinuous, 0
		}
	}
	forgetful := *p
	forgetful.Obs = slices.Clone(p.Obs)
	for i, k := range again {
		end := len(p.Obs)
		if i+1 < len(again) {
			end = again[i+1]
		}
		back := forgetful.Obs[k:end]
		anew := slices.Clone(back[:min(someObservations, len(back))])
		for j := range anew {
			if o := &anew[j]; o.Answered && o.Outcome == timeline.Denied {
				o.Outcome, o.Done = timeline.Allowed, max(o.Done, o.Sent+lasts)
			}
		}
		alone := sort.Search(len(anew), func(n int) bool {
			return c.boundsRefute(p, anew[:n+1], limit, result.UpperBound)
		})
		admitted := copy(back, anew[:withinQuota(limit, anew[:alone])])
		for j := range back[admitted:] { // a target that decided in another order admitted these instead
			if o := &back[admitted+j]; o.Outcome == timeline.Allowed {
				o.Outcome = timeline.Denied
			}
		}
	}
	return c.overAdmits(&forgetful, func(*history.Observation) {})
}

// withinQuota returns how many of these observations of a new client its limit admits if it decides them when
// they are sent: it may admit more while answers are on their way.
func withinQuota(limit spec.Limit, obs []history.Observation) int {
	units := int64(0)
	for i, o := range obs {
		if o.Outcome == timeline.Allowed {
			units += o.Cost
		}
		for _, x := range limit {
			if float64(units) > x.MostWithin(o.Sent-obs[0].Sent) {
				return i
			}
		}
	}
	return len(obs)
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
	twin := *c
	twin.Limit, twin.declared = l, l
	twin.O = Options{Conformance: mode, SkipMeasure: true}
	twin.Quick, twin.BoundsOnly, twin.Few, twin.work = true, true, fewBoxes, 0
	x := &Part{Partition: history.Partition{Name: p.Name, Obs: obs, Seen: p.Seen}}
	twin.prepare(x)
	twin.Parts = []*Part{x}
	twin.Judge()
	return len(x.Findings) > 0
}

// miscount is a wrong way to count. cost returns what an answer is then counted. dearest is the most that any
// answer cost. nil: the answers are counted right. policy edits the limit. client returns for whom the
// requests of a client are counted. nil: for itself.
type miscount struct {
	what   string
	cost   func(told, dearest int64, p spec.Policy) int64
	policy func(spec.Policy) spec.Policy
	client func(name string) string
}

// miscounts are the wrong ways of timeline.Terms.Against, by the names of the faults that have them.
var miscounts = map[string]miscount{
	"tokens-one-each": {what: "charges one unit for each answer",
		cost: func(int64, int64, spec.Policy) int64 { return 1 }},
	"huge-answer-free": {what: "charges nothing for an answer over the whole budget",
		cost: func(told, _ int64, p spec.Policy) int64 {
			if told > p.Full() && 2*p.Reserve <= p.Full() { // a larger reserve leaves as little
				return p.Reserve
			}
			return told
		}},
	"free-answers-charged": {what: "charges an answer that cost nothing",
		cost: func(told, dearest int64, _ spec.Policy) int64 {
			if told == 0 {
				return dearest
			}
			return told
		}},
	"estimate-never-settled": {what: "never settles its estimate",
		cost: func(_, _ int64, p spec.Policy) int64 { return p.Reserve }},
	"reserve-never-released": {what: "gives no reserve back",
		cost: func(told, _ int64, p spec.Policy) int64 { return max(told, p.Reserve) }},
	"budget-off-by-one": {what: "admits one more when exactly the budget is spent",
		policy: func(p spec.Policy) spec.Policy {
			if p.HasWindow() && p.Charge == spec.ChargeCompletion && p.Reserve == 0 {
				return p.WithFull(p.Full() + 1)
			}
			return p
		}},
	"counted-on-decision": {what: "charges at the decision",
		policy: func(p spec.Policy) spec.Policy {
			if p.Reserve == 0 {
				p.Charge, p.HoldLeast, p.HoldMost, p.Linger, p.LingerSet = spec.ChargeDecision, 0, 0, 0, false
			}
			return p
		}},
	"reserve-unchecked": {what: "reserves nothing",
		policy: func(p spec.Policy) spec.Policy { p.Reserve = 0; return p }},
	"keys-shared": {what: "takes all clients for one", client: func(string) string { return "" }},
	"truncated-key": {what: "takes the first 64 bytes of a key for the client",
		client: func(name string) string { return name[:min(64, len(name))] }},
	"letters-dropped": {what: "drops the letters of a key that are not ASCII",
		client: func(name string) string {
			return strings.Map(func(r rune) rune {
				if r > unicode.MaxASCII {
					return -1
				}
				return r
			}, name)
		}},
}

// Miscounts tells whether a name is that of a wrong way to count.
func Miscounts(name string) bool { return miscounts[name].what != "" }

// apart returns from which wrong ways to count costs p tells the target, and from which it does not, though
// its costs are other ones then. What the target did must contradict a limiter that counts so.
//
//	budget 100       costs of 60 and 60, then a denial
//	one unit each    at most 2 of 100 were used: the denial contradicts it
func (c *Case) apart(p *Part) (apart, blurred []string) {
	k := slices.IndexFunc(c.Limit, func(x spec.Policy) bool {
		return x.Charge == spec.ChargeCompletion && x.Unit != spec.UnitRequest
	})
	if k < 0 || len(p.Obs) > someObservations {
		return nil, nil
	}
	var dearest int64
	for _, of := range c.Parts {
		for i := range of.Obs {
			dearest = max(dearest, of.Obs[i].Cost)
		}
	}
	mode := c.O.Conformance
	if c.O.Shared {
		mode = result.UpperBound
	}
	for _, name := range c.Rec.Header.Judged.Against {
		m := miscounts[name]
		if m.client != nil {
			continue
		}
		limit, obs := slices.Clone(c.Limit), slices.Clone(p.Obs)
		if m.policy != nil {
			limit[k] = m.policy(limit[k])
		}
		changed := m.recount(obs, dearest, c.Limit[k]) || limit[k] != c.Limit[k]
		switch {
		case !changed:
		case c.boundsRefute(p, obs, limit, mode):
			apart = append(apart, m.what)
		default:
			blurred = append(blurred, m.what)
		}
	}
	return apart, blurred
}

// recount gives admitted requests the costs that a target which counts so would charge. dearest is the most
// that an answer cost. changed: some cost is another one.
func (m miscount) recount(obs []history.Observation, dearest int64, p spec.Policy) (changed bool) {
	for i := range obs {
		o := &obs[i]
		if m.cost == nil || o.Outcome != timeline.Allowed || o.Cost == timeline.CostUnknown {
			continue
		}
		told := o.Cost
		o.Cost = m.cost(told, dearest, p)
		changed = changed || o.Cost != told
	}
	return changed
}

// lump notes in the verdicts on partitions, which ascend by name, whether the target is told from one that
// takes several of them for one client: their admissions together must be too many for one. obs returns the
// first observations of a partition, at most n.
//
//	é  a a a d d
//	è            a a a d     apart, unless the quota of é is back by then
func (c *Case) lump(partitions []result.PartitionVerdict, obs func(i, n int) []history.Observation) {
	for _, name := range c.Rec.Header.Judged.Against {
		m := miscounts[name]
		if m.client == nil {
			continue
		}
		as := map[string][]int{}
		for i := range partitions {
			client := m.client(partitions[i].Partition)
			as[client] = append(as[client], i)
		}
		for _, of := range as {
			if len(of) < 2 {
				continue
			}
			one := &Part{}
			for _, i := range of {
				one.Obs = append(one.Obs, obs(i, max(1, 2*someObservations/len(of)))...)
			}
			slices.SortStableFunc(one.Obs,
				func(a, b history.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
			one.Seen.Known = history.Known(one.Obs)
			if v := &partitions[of[0]]; c.boundsRefute(one, one.Obs, c.Limit, result.UpperBound) {
				v.Apart = append(v.Apart, m.what)
			} else {
				v.Blurred = append(v.Blurred, m.what)
			}
		}
	}
}
