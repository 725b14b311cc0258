package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judged judges a recording by limits, each of which judges its phases, as check does with the file.
func judged(tl *timeline.Timeline, limits []timeline.PhaseLimit, o check.Options) (p *check.Panel,
	all *result.Judgement, each []*result.Judgement, err error) {
	if tl.Spool != nil {
		o.Spill = tl.Spool.Open
	}
	h := tl.Header
	h.Ended = tl.End()
	if p, err = check.NewPanel(limits, h, o); err != nil {
		return nil, nil, nil, err
	}
	for one := range tl.All() {
		if p.Observe(one) != nil {
			break // Finish returns the error
		}
	}
	all, each, err = p.Finish()
	return p, all, each, err
}

// conformance judges a recording against the limits of its scenario, each partition against its own limit.
// The judgement covers all partitions. Its Measured is about the scenario's own limit.
func conformance(tl *timeline.Timeline, s *scenario.Scenario, o check.Options) (result.Claim,
	*result.Judgement) {
	fails := func(r result.Reason, err error) (result.Claim, *result.Judgement) {
		return result.Claim{ID: conformanceID, Kind: result.ClaimConformance, Reason: r,
			Text: err.Error()}, nil
	}
	limits := tl.Header.Judged.Limits // a long recording is not read again for them
	if tl.Spool == nil {
		limits = terms(s, tl).Limits
	}
	p, all, each, err := judged(tl, limits, o)
	if tl.Spool != nil && tl.Spool.Err() != nil {
		return fails(result.SetupFailed, tl.Spool.Err())
	}
	if err != nil {
		return fails(result.SearchLimit, err)
	}
	var worth []string
	var measured result.Measured
	unresolved := true
	for i, j := range each {
		l := p.Limits()[i]
		if worth = append(worth, strings.Join(result.Worth(l, j), ", ")); l.String() == s.Limit.String() {
			measured = j.Measured
			unresolved = unresolved && (j.Verdict == result.Pass || onlyCoarse(j))
		} else {
			unresolved = unresolved && j.Verdict == result.Pass
		}
	}
	if o.Hint && all.Verdict == result.Fail && all.Diagnosis == nil && tl.Spool == nil {
		if all.Diagnosis = toldByField(tl, s, o); all.Diagnosis != nil {
			all.Hint, all.Explanations = "", nil
		}
	}
	all.Measured, all.Unresolved = measured, unresolved && all.Verdict == result.Inconclusive
	markBeyond(all, s, tl)
	if !o.SkipMeasure {
		all.Weigh()
	}
	return claimOf(all, strings.Join(worth, "; ")), all
}

// markBeyond marks the findings that say nothing of the declared limit itself (Finding.Beyond). Phases
// between two events are of one era.
func markBeyond(j *result.Judgement, s *scenario.Scenario, tl *timeline.Timeline) {
	if j.Verdict != result.Fail {
		return
	}
	era, eras := 0, map[string]int{} // 0: not plain
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Shape == timeline.Hook && p.Event.Action != timeline.Count {
			era++
		}
		for _, name := range p.Observed() {
			if p.Plain() {
				eras[name] = era + 1
			}
		}
	}
	of := map[int]int{} // the era of each request of a witness
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			for _, seq := range f.Observations {
				of[seq] = 0
			}
		}
	}
	for o := range tl.All() {
		if _, asked := of[o.Seq]; asked {
			of[o.Seq] = eras[o.Phase]
		}
	}
	for i := range j.Partitions {
		for k := range j.Partitions[i].Findings {
			f := &j.Partitions[i].Findings[k]
			f.Beyond = slices.ContainsFunc(f.Observations, func(seq int) bool {
				return of[seq] == 0 || of[seq] != of[f.Observations[0]]
			})
		}
	}
}

const conformanceID = string(result.ClaimConformance)

// onlyCoarse tells whether a judgement lacks only precision: every partition passes, but too little was
// measured.
func onlyCoarse(j *result.Judgement) bool {
	open := func(p result.PartitionVerdict) bool { return p.Verdict != result.Pass }
	return j.Reason == result.TooFew && len(j.Partitions) > 0 && !slices.ContainsFunc(j.Partitions, open)
}

// claimOf returns the claim about conformance for a judgement. worth is the text of a pass.
func claimOf(all *result.Judgement, worth string) result.Claim {
	c := result.Claim{ID: conformanceID, Kind: result.ClaimConformance}
	for _, p := range all.Failed() {
		result.NameRules(c.Kind, p.Findings)
		c.Findings = append(c.Findings, p.Findings...)
	}
	c.Chances = all.Chances()
	switch all.Verdict {
	case result.Fail:
		if c.Text = c.Findings[0].Text; all.Diagnosis != nil {
			c.Text = all.Diagnosis.Text + "; " + c.Text
		}
	case result.Pass:
		c.Text = worth
	default:
		c.Text = all.Detail
	}
	c.Verdict, c.Reason = all.Verdict, all.Reason
	return c
}

// Recording returns a recording that was judged without a scenario file, as a scenario with the one claim
// that it keeps l. worth is the text of a pass. l is empty if several limits were judged. The caller fills in
// the other fields.
func Recording(l spec.Limit, worth string, j *result.Judgement) result.Scenario {
	j.Unresolved = onlyCoarse(j)
	j.Weigh()
	c := claimOf(j, worth)
	out := result.Scenario{Title: "The recording keeps the declared limit", Kind: result.Required, Limit: l,
		Judgement: j, Claims: []result.Claim{c}}
	out.Verdict, out.Reason, out.Detail = result.Sum(out.Claims, "")
	return out
}

// terms are the limits and options that a recording of s is judged by. They are the zero value if the
// scenario judges no conformance.
func terms(s *scenario.Scenario, tl *timeline.Timeline) timeline.Terms {
	if s.Expect.Conformance == scenario.NoConformance {
		return timeline.Terms{}
	}
	o := recordedOptions(s, tl)
	r := o.Resolution
	t := timeline.Terms{Conformance: string(o.Conformance), Shared: o.Shared,
		BurstExact: r.BurstExact, Burst: r.Burst, Rate: r.Rate}
	whole := true
	for i := range s.Phases {
		p := &s.Phases[i]
		if whole = whole && !p.Unlimited && !p.Barred; !p.Counted() {
			continue
		}
		spec := p.Limit.String()
		at := slices.IndexFunc(t.Limits, func(l timeline.PhaseLimit) bool { return l.Limit == spec })
		if at < 0 {
			at, t.Limits = len(t.Limits), append(t.Limits, timeline.PhaseLimit{Limit: spec})
		}
		t.Limits[at].Phases = append(t.Limits[at].Phases, p.Observed()...)
	}
	if len(t.Limits) == 1 && whole {
		t.Limits[0].Phases = nil // all that was recorded
	}
	phases := phasesOf(s)
	if lost := lostBy(tl, phases); len(lost) > 0 {
		for i := range t.Limits {
			counted := func(p *scenario.Phase) bool {
				return t.Limits[i].Phases == nil || p.Counted() && p.Limit.String() == t.Limits[i].Limit
			}
			t.Limits[i].Undecided = chargedTo(keysOf(tl, phases, counted), lost)
		}
	}
	return t
}

// usedBefore tells whether an earlier run may have used up quota that counts in this one. That needs three
// things: partitions with the same names in each run, a limiter that outlives a run, and a limit that the
// past affects by more than the level of a bucket, or whose buckets are declared to start full.
func usedBefore(s *scenario.Scenario, o Options) bool {
	if s.Partition.Fresh || s.Target.URL == scenario.Builtin &&
		(o.Redis == "" || o.Redis == scenario.EmbeddedRedis) {
		return false
	}
	return slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool {
		return p.Counted() && slices.ContainsFunc(p.Limit, func(l spec.Policy) bool {
			return l.Start != spec.StartUnknown || l.Ban > 0
		})
	})
}

// claims judges all claims but conformance; r has the counts. For a recording that is too long for memory,
// the schedule is judged whole and every other claim by the beginning of the recording.
func claims(tl *timeline.Timeline, s *scenario.Scenario, r *result.Scenario) []result.Claim {
	out := claim.Judge(tl.Beginning(), s.Limit, expected(s, tl, r.Counts.Unknown))
	if tl.Spool == nil {
		return out
	}
	for i := range out {
		if c := &out[i]; c.Kind == result.ClaimSchedule {
			*c = claim.Schedule(&tl.Header, tl.Sent(), r.Latency.Lateness.P99, "", s.Expect.LateP99)
		} else {
			c.Text += fmt.Sprintf("; judged by the first %s of %s", text.Thousands(len(tl.Observations)),
				text.Plural(tl.Sent(), "request"))
		}
	}
	return out
}

// tally fills the counts of a recording into out.
func tally(out *result.Scenario, tl *timeline.Timeline) { tallying(out, tl)() }

// tallying starts to fill the counts of a recording into out, and returns a function that waits until they
// are complete. A recording that is too long for memory is counted in the background. Until end returns,
// nobody else may touch Counts, Statuses, Clients and Latency.
func tallying(out *result.Scenario, tl *timeline.Timeline) (end func()) {
	out.Timeline, out.Header = tl, tl.Header
	end = sync.OnceFunc(func() { count(out, tl) })
	if tl.Spool != nil {
		go end()
	}
	return end
}

func count(out *result.Scenario, tl *timeline.Timeline) {
	out.Counts = tl.Header.Counts()
	var statuses timeline.StatusTally
	var clients result.ClientTally
	var times timeline.LatencyTally
	for o := range tl.All() {
		out.Counts.Add(o)
		statuses.Add(o)
		clients.Add(o)
		times.Add(o)
	}
	if tl.Spool != nil && tl.Spool.Err() != nil { // the requests were sent, but their answers are lost
		out.Counts = timeline.Counts{Planned: tl.Spool.N + tl.Header.Unsent, Unsent: tl.Header.Unsent,
			Lost: tl.Header.Lost, Sent: tl.Spool.N, Unknown: tl.Spool.N}
	}
	out.Statuses, out.Clients, out.Latency = statuses.Statuses(), clients.Clients(), times.Summary()
}

func judgeOptions(s *scenario.Scenario) check.Options {
	r := s.Expect.Resolution
	burst := r.Burst
	if slices.ContainsFunc(s.Limit, spec.Policy.Windowed) {
		burst = r.Windowed
	}
	ratio := burst.Ratio
	if burst.Demanded && ratio == 0 {
		ratio = steps(s)
	}
	rate := r.Rate.Ratio
	if !tellsWindows(s) {
		rate = 0
	}
	return check.Options{
		Conformance: result.Conformance(s.Expect.Conformance),
		Shared:      s.Shared(),
		Hint:        true,
		Resolution: check.Resolution{
			BurstExact: burst.Demanded && ratio == 0, Burst: ratio, Rate: rate,
		},
	}
}

// recordedOptions returns the options by which a recording of s is judged. Where answers tell costs, two
// quotas less than one answer apart look alike. So a PASS measures the quota to less than the dearest answer.
// An answer of more than half of the quota is too coarse for that.
func recordedOptions(s *scenario.Scenario, tl *timeline.Timeline) check.Options {
	o := judgeOptions(s)
	if !s.Cost.ByAnswers() || !o.Resolution.BurstExact {
		return o
	}
	dearest := int64(0)
	for at := range tl.All() {
		if at.Outcome == timeline.Allowed {
			dearest = max(dearest, at.Cost)
		}
	}
	if share := asShare(dearest, s.Limit); share > 0 && share <= 0.5 {
		o.Resolution.BurstExact, o.Resolution.Burst = false, share
	}
	return o
}

// asShare returns how closely requests of a cost measure a quota, as a share of the least that counts costs.
// It is 0 if they measure each unit.
func asShare(cost int64, l spec.Limit) float64 {
	full := int64(math.MaxInt64)
	for _, p := range l {
		if p.Unit != spec.UnitRequest {
			full = min(full, p.Full())
		}
	}
	if cost <= 1 || cost == math.MaxInt64 || full == 0 {
		return 0
	}
	return (float64(cost) - 0.5) / float64(full)
}

// steps returns how closely requests that all cost several units can measure a quota, as a share of it: two
// quotas less than one request apart look alike. It is 0 if some request costs one unit.
func steps(s *scenario.Scenario) float64 {
	least := int64(math.MaxInt64)
	for _, p := range s.Phases {
		if p.Counted() && p.Cost > 0 {
			least = min(least, p.Cost)
		}
	}
	return asShare(least, s.Limit)
}

// telling is how many windows a phase must last so that a recording can measure the length of a window.
const telling = 3

// tellsWindows tells whether some phase is long enough to measure every window of the limit.
func tellsWindows(s *scenario.Scenario) bool {
	var longest, window time.Duration
	for _, p := range s.Phases {
		if p.Shape != timeline.Silence {
			longest = max(longest, p.Duration)
		}
	}
	for _, p := range s.Limit {
		if p.HasWindow() {
			window = max(window, p.LongestWindow())
		}
	}
	return longest >= telling*window
}
