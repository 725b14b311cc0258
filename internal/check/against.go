package check

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// A scenario says which faults it finds. A PASS must tell its target from targets with these faults
// (timeline.Terms.Against), or it says nothing of them: what such a target does with the same requests must
// be refuted.

// miscount is a wrong way to count. cost returns what an answer is then counted. dearest is the most that any
// answer cost. nil: the answers are counted right. policy edits the limit.
type miscount struct {
	what   string
	cost   func(told, dearest int64, p spec.Policy) int64
	policy func(spec.Policy) spec.Policy
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
}

// Tells tells whether a name of timeline.Terms.Against is known: that of a wrong way to count, or of a defect
// of package wrong.
func Tells(name string) bool {
	_, defect := wrong.Find(name)
	return defect || miscounts[name].what != ""
}

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
		if m.cost == nil && m.policy == nil {
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

// excerpts are the partitions of a recording, as far as they are compared with those of wrong targets. sizes
// are their numbers of observations. of returns the first observations of one, at most n.
type excerpts struct {
	sizes []int
	of    func(i, n int) []history.Observation
}

// excerptsOf are those of partitions in memory.
func excerptsOf(parts []*Part) excerpts {
	b := excerpts{of: func(i, n int) []history.Observation {
		return parts[i].Obs[:min(n, len(parts[i].Obs))]
	}}
	for _, p := range parts {
		b.sizes = append(b.sizes, len(p.Obs))
	}
	return b
}

// tellApart notes in the verdicts on partitions from which wrong targets the recording tells its own, and
// from which it does not: those that take several clients for one, and those whose limiter has a defect.
func (c *Case) tellApart(partitions []result.PartitionVerdict, b excerpts) {
	if len(partitions) == 0 {
		return
	}
	type question struct {
		what      string
		by        int // a partition, whether it tells or not
		can, does bool
	}
	names := c.Rec.Header.Judged.Against
	all := make([]question, len(names))
	Each(len(names), func(i int) {
		d, known := wrong.Find(names[i])
		x := &all[i]
		if x.what = d.Sentence; d.Client != nil {
			x.by, x.can, x.does = c.lump(d.Client, partitions, b)
		} else if known {
			x.by, x.can, x.does = c.replay(d, b)
		}
	})
	for _, x := range all {
		switch v := &partitions[x.by]; {
		case x.does:
			v.Apart = append(v.Apart, x.what)
		case x.can:
			v.Blurred = append(v.Blurred, x.what)
		}
	}
}

// lump asks for clients whom a target takes for one, by the names that client returns: their admissions
// together must be too many for one. can: there are such clients.
//
//	é  a a a d d
//	è            a a a d     told apart, unless the quota of é is back by then
func (c *Case) lump(client func(name string) string, partitions []result.PartitionVerdict,
	b excerpts) (by int, can, does bool) {
	as, order := map[string][]int{}, []string(nil)
	for i := range partitions {
		name := client(partitions[i].Partition)
		if as[name] == nil {
			order = append(order, name)
		}
		as[name] = append(as[name], i)
	}
	for _, name := range order {
		of := as[name]
		if len(of) < 2 {
			continue
		}
		var one []history.Observation
		for _, i := range of {
			one = append(one, b.of(i, max(1, 16*someObservations/len(of)))...)
		}
		slices.SortStableFunc(one, func(a, b history.Observation) int { return cmp.Compare(a.Sent, b.Sent) })
		by, can = of[0], true
		if c.boundsRefute(&Part{}, one, c.Limit, result.UpperBound) {
			return by, true, true
		}
	}
	return by, can, false
}

// askedPartitions is how many partitions are asked whether they tell a defect: those that ask most.
const askedPartitions = 100

// replay asks what a limiter with a defect would have decided when the requests were sent. One partition must
// be refuted then. can: the limit can show the defect, and no search ended too early.
func (c *Case) replay(d wrong.Defect, b excerpts) (by int, can, does bool) {
	unpaid := d.Costs && c.Rec.Header.Judged.SingleUnits
	if mode := c.O.Conformance; mode != "" && mode != result.Exact || c.O.Shared || unpaid ||
		c.declared.Completes() || d.Unfit(c.declared) != "" {
		return 0, false, false
	}
	l, err := d.Of(c.declared)
	if err != nil {
		return 0, false, false
	}
	most := make([]int, len(b.sizes))
	for i := range most {
		most[i] = i
	}
	slices.SortStableFunc(most, func(x, y int) int { return cmp.Compare(b.sizes[y], b.sizes[x]) })
	unknown := false
	for _, i := range most[:min(len(most), askedPartitions)] {
		obs := slices.Clone(b.of(i, heldLimit))
		c.decide(l, obs, shortest(obs), c.cheapest(obs))
		refuted, capped := c.wouldRefute(obs, result.Exact)
		if refuted {
			return i, true, true
		}
		unknown = unknown || capped
	}
	return 0, !unknown, false
}

// decide gives answered requests of a partition the outcomes of a limiter that decides them when they are
// sent. One that was denied would have been in flight as long as the quickest of the partition, and cost what
// its cheapest did. What a queue admits is answered when its turn comes.
func (c *Case) decide(l reference.Limiter, obs []history.Observation, lasts time.Duration, costs int64) {
	state, zero := l.Init(), time.Duration(c.Rec.Header.Started.UnixNano())
	var flight []*history.Observation // admitted and not complete, by Done
	queued, way := slices.ContainsFunc(c.declared, spec.Policy.Queued), quickest(obs)
	for i := range obs {
		o := &obs[i]
		if !o.Answered || o.Outcome == timeline.Unknown {
			continue
		}
		for len(flight) > 0 && flight[0].Done <= o.Sent {
			state = reference.Complete(l, state, zero+flight[0].Done, max(0, flight[0].Cost))
			flight = flight[1:]
		}
		if o.Done = max(o.Done, o.Sent+lasts); o.Outcome == timeline.Denied {
			o.Cost = max(o.Cost, costs)
		}
		var d reference.Decision
		state, d = l.Step(state, zero+o.Sent, max(0, o.Cost))
		if queued && (d.Allow || o.Outcome == timeline.Allowed) {
			o.FirstByte = o.Sent + way + d.Delay
			o.Done = o.FirstByte
		}
		if o.Outcome = timeline.Denied; d.Allow {
			o.Outcome = timeline.Allowed
			at := sort.Search(len(flight), func(k int) bool { return flight[k].Done > o.Done })
			flight = slices.Insert(flight, at, o)
		}
	}
}

// wouldRefute tells whether the limit refutes a partition with these observations: by its bounds, or by a
// short search. capped: the search ended before it knew.
func (c *Case) wouldRefute(obs []history.Observation, mode result.Conformance) (refuted, capped bool) {
	p := &Part{}
	p.Seen.Known = history.Known(obs)
	if refuted, _ := c.refutes(p, obs, c.Limit, mode, false); refuted {
		return true, false
	}
	return c.refutes(p, obs, c.Limit, mode, true)
}
