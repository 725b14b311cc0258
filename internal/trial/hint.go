package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Explain looks for limits that explain all recordings of a failing limiter together. Each recording is
// checked only on the side (upper, lower, exact) that its scenario judges.
//
// With fewer than two recordings of a failing limiter, the hint is nil, unless a queue was declared as a
// bucket (see waiting). The single hints of these scenarios are removed from the scenarios returned. If no
// limit is found, those that name one stay.
func Explain(recorded []result.Scenario) (*result.Hint, []result.Scenario) {
	of := failing(recorded)
	if len(of) < 2 {
		return waiting(recorded), recorded
	}
	h := explained(of)
	out := slices.Clone(recorded)
	for i := range out {
		j := out[i].Judgement
		if j == nil || len(h.Limits) == 0 && len(j.Explanations) > 0 {
			continue
		}
		if j.Hint != "" && slices.Contains(h.From, out[i].ID) {
			without := *j
			without.Hint, without.Explanations = "", nil
			out[i].Judgement = &without
		}
	}
	return h, out
}

// explained returns the hint on recordings of one limiter that declare one policy.
func explained(of []*result.Scenario) *result.Hint {
	var all []check.Recorded
	h, told := &result.Hint{}, time.Duration(0)
	for _, s := range of {
		h.From = append(h.From, s.ID)
		all = append(all, check.Recorded{Timeline: s.Timeline, Options: judgeTerms(s)})
		told = max(told, longestWait(s.Timeline))
	}
	found, text := check.Explain(all, of[0].Limit, told)
	h.Text = text
	for _, e := range found {
		h.Limits = append(h.Limits, e.Limit)
	}
	return h
}

// judgeTerms are the options by which a recording was judged that one limit judges.
func judgeTerms(s *result.Scenario) check.Options {
	t := s.Timeline.Header.Judged
	return check.Options{Shared: t.Shared,
		Conformance: cmp.Or(result.Conformance(t.Conformance), result.Exact)}
}

// longestWait returns the longest wait, in whole seconds, that a denial asked for with Retry-After; 0: none.
func longestWait(tl *timeline.Timeline) (longest time.Duration) {
	for i := range tl.Observations {
		o := &tl.Observations[i]
		v, has := o.Fields.Get("Retry-After")
		if !has || o.Outcome != timeline.Denied {
			continue
		}
		if told, err := headers.ParseRetryAfter(v); err == nil {
			longest = max(longest, told.Wait(tl.Header.Started.Add(o.FirstByte)))
		}
	}
	return longest.Round(time.Second)
}

// waiting looks for a queue that was declared as something else. In that case nothing fails: answers that
// wait hide when their requests were decided. It returns nil if no queue explains all recordings.
func waiting(recorded []result.Scenario) *result.Hint {
	for _, g := range groupsOf(recorded, func(s *result.Scenario) bool { return !single(s.Timeline) }) {
		rate, places := g.queue()
		if places < 1 || slowToDeny(g.of) {
			continue
		}
		l, err := spec.Parse(fmt.Sprintf("leaky-bucket-queue,rate=%s,queue=%d", rate, places))
		refutes := func(s *result.Scenario) bool { return !check.Explains(s.Timeline, l, judgeTerms(s)) }
		if err != nil || slices.ContainsFunc(g.of, refutes) {
			continue
		}
		what := "the recording"
		if n := len(g.of); n > 1 {
			what = "all " + text.Plural(n, "recording")
		}
		h := &result.Hint{Limits: []spec.Limit{l},
			Text: fmt.Sprintf("a queue, which lets requests wait, would explain %s (%s)", what, l)}
		for _, s := range g.of {
			h.From = append(h.From, s.ID)
		}
		return h
	}
	return nil
}

// queue returns the rate and the places of the queue that a group may have instead of its limit; 0 places:
// none. Most recordings of a bucket then measure too little, and in those of a window or a log requests wait.
func (g *group) queue() (rate string, places int64) {
	p := g.limit[0]
	if len(g.limit) > 1 || p.Queued() || p.Completes() {
		return "", 0
	}
	waits := func(s *result.Scenario) bool { return identify.Waits(s.Timeline) }
	switch {
	case !p.Refills() && slices.ContainsFunc(g.of, waits):
		return fmt.Sprintf("%d/%s", p.Full(), p.Rate.Per), p.Full() - 1
	case !p.Refills() || !g.measured.Burst.HiSet:
		return "", 0
	}
	open := 0
	for _, s := range g.of {
		if Unresolved(s) {
			open++
		}
	}
	if open < 2 || 2*open < len(g.of) {
		return "", 0
	}
	return p.RateText(), int64(g.measured.Burst.Hi) - 1
}

// slowToDeny tells whether denials took half as long as admissions, or longer. A queue denies at once: such a
// target is slow with all.
func slowToDeny(of []*result.Scenario) bool {
	var took [3][]time.Duration // by outcome
	for _, s := range of {
		for o := range s.Timeline.All() {
			if o.Answered && !o.Origin {
				took[o.Outcome] = append(took[o.Outcome], o.FirstByte-o.Sent)
			}
		}
	}
	middle := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/2]
	}
	allowed, denied := took[timeline.Allowed], took[timeline.Denied]
	return len(allowed) > 0 && len(denied) > 0 && 2*middle(denied) >= middle(allowed)
}

// failing returns the scenarios of the limiter with the most failing recordings, including those that pass.
// It skips recordings that more than one policy or limit judges, those whose clients share a quota, and those
// without a denial: they met no limit. It returns nil if nothing fails.
func failing(recorded []result.Scenario) []*result.Scenario {
	of, fails, most := map[string][]*result.Scenario{}, map[string]int{}, ""
	for i := range recorded {
		s := &recorded[i]
		if j := s.Judgement; j == nil || j.Diagnosis != nil || len(s.Limit) != 1 || !single(s.Timeline) ||
			j.Verdict == result.Fail && !denies(s.Timeline) || s.Beyond() {
			continue
		}
		name := limiterOf(s)
		of[name] = append(of[name], s)
		if s.Judgement.Verdict == result.Fail {
			fails[name]++
		}
		if fails[name] > fails[most] {
			most = name
		}
	}
	return of[most] // none where nothing fails
}

// denies tells whether a recording in memory has a denial.
func denies(tl *timeline.Timeline) bool {
	denied := func(o timeline.Observation) bool { return o.Outcome == timeline.Denied }
	return slices.ContainsFunc(tl.Observations, denied)
}

// single tells whether a recording is in memory and one limit judges all of it.
func single(tl *timeline.Timeline) bool {
	if tl == nil || tl.Spool != nil || len(tl.Observations) == 0 {
		return false
	}
	t := tl.Header.Judged
	return len(t.Limits) == 1 && len(t.Limits[0].Phases)+len(t.Limits[0].Undecided) == 0 && !t.SingleUnits
}

// toldByField finds out whether the clients of a failing recording are told apart by a field that requests of
// some phase invent. The declared limit must explain the recording if each of these requests is a client of
// its own. Other requests must meet the limit, since a target without a limit has no clients.
func toldByField(tl *timeline.Timeline, s *scenario.Scenario, o check.Options) *result.Diagnosis {
	if k := s.Partition.Kind; k != scenario.ByNone && k != scenario.ByAddress {
		return nil
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if len(p.Forge) != 1 {
			continue
		}
		apart := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations)}
		denied := false
		for k := range apart.Observations {
			if x := &apart.Observations[k]; slices.Contains(p.Observed(), x.Phase) {
				x.Partition += "#" + strconv.Itoa(k)
			} else {
				denied = denied || x.Outcome == timeline.Denied
			}
		}
		if !denied {
			continue
		}
		o := check.Options{Conformance: o.Conformance, Shared: o.Shared, SkipMeasure: true, VerdictOnly: true}
		if _, j, _, err := judged(apart, terms(s, apart).Limits, o); err != nil || j.Verdict == result.Fail {
			continue
		}
		return &result.Diagnosis{Kind: result.ToldByField,
			Text: fmt.Sprintf("clients seem to be told apart by %[1]s, which a client can invent: if "+
				"that is meant, try --partition header:%[1]s", p.Forge[0]),
			Why: fmt.Sprintf("if each %s is another client, the declared limit explains all answers; if "+
				"not, it does not", p.Forge[0])}
	}
	return nil
}
