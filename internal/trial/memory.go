package trial

import (
	"cmp"
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// comeback is a client that was asked again after an event, or after many other clients.
type comeback struct {
	limit spec.Limit
	// before and after are what it sent until then, and in the phase in which it came back.
	before, after []timeline.Observation
}

// mostComebacks is how many comebacks are asked whether they could show a fault.
const mostComebacks = 100

// remembered returns the conformance claim c of a recording in which clients come back after an event, or
// after many other clients. A Pass then rests on those that a limiter would have admitted too much if it had
// forgotten them meanwhile.
//
//	spend      restart, or others   again
//	a a a d d  ------------------>  d d d d     remembered
//	a a a d d  ------------------>  a a a d     forgotten: refuted, unless the quota is back by then
func remembered(c result.Claim, j *result.Judgement, s *scenario.Scenario,
	tl *timeline.Timeline) result.Claim {
	all := comebacks(s, tl.Beginning())
	if c.Verdict != result.Pass || len(all) == 0 {
		return c
	}
	n := 0
	for _, x := range all {
		if x.shows(tl.Header) {
			n++
		}
	}
	of := "clients that came back before their quota did"
	out := result.Settle(c.ID, c.Text, result.Of(n, of))
	if out.Kind = c.Kind; out.Verdict != result.Pass {
		j.Verdict, j.Reason, j.Detail = out.Verdict, out.Reason, out.Text
	}
	return out
}

// shows tells whether a limiter that knows nothing of what came before would have been refuted. It admits as
// much as a new one: the most requests that are possible alone.
func (x comeback) shows(h timeline.Header) bool {
	refuted := func(before []timeline.Observation, n int) bool {
		tl := &timeline.Timeline{Header: h, Observations: slices.Clone(before)}
		for _, o := range x.after[:n] {
			if o.Outcome == timeline.Denied {
				o.Outcome = timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
		is, err := check.Refuted(tl, x.limit, result.UpperBound, false)
		return is && err == nil
	}
	alone := sort.Search(len(x.after), func(n int) bool { return refuted(nil, n+1) })
	return refuted(x.before, alone)
}

// comebacks returns the clients that came back, those with most requests first, at most mostComebacks.
func comebacks(s *scenario.Scenario, tl *timeline.Timeline) (out []comeback) {
	at := map[string]int{}
	for i := range s.Phases {
		for _, name := range s.Phases[i].Observed() {
			at[name] = i
		}
	}
	for _, p := range tl.ByPartition() {
		for k := 1; k < len(p.Observations); k++ {
			i, j := at[p.Observations[k-1].Phase], at[p.Observations[k].Phase]
			if !apart(s, i, j) {
				continue
			}
			end := k + slices.IndexFunc(p.Observations[k:], func(o timeline.Observation) bool {
				return at[o.Phase] != j
			})
			if end < k {
				end = len(p.Observations)
			}
			out = append(out, comeback{s.Phases[j].Limit, p.Observations[:k], p.Observations[k:end]})
		}
	}
	slices.SortStableFunc(out, func(a, b comeback) int { return cmp.Compare(len(b.after), len(a.after)) })
	return out[:min(len(out), mostComebacks)]
}

// manyOthers is how many other clients a limiter may be tempted to forget somebody for.
const manyOthers = 50

// apart tells whether an event, or many other clients, lie between two phases that one limit counts.
func apart(s *scenario.Scenario, i, j int) bool {
	if i >= j || !s.Phases[i].Counted() || !s.Phases[j].Counted() ||
		s.Phases[i].Limit.String() != s.Phases[j].Limit.String() {
		return false
	}
	return slices.ContainsFunc(s.Phases[i+1:j], func(p scenario.Phase) bool {
		return p.Shape == timeline.Hook || p.Clients >= manyOthers
	})
}
