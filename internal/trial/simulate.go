package trial

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// simulatedStart is the wall time at which a simulation starts. Windows that are aligned to the clock begin
// there.
var simulatedStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Simulate returns what a correct limiter would have done with the load of a scenario, in virtual time
// (reference.Play). The result has one claim, conformance. It returns an error if the schedule cannot be
// planned or the limit has a range.
func Simulate(s *scenario.Scenario, o Options, answer time.Duration) (result.Scenario, error) {
	out := describe(s, o)
	out.Target, out.Origin, out.Store, out.Fault = "", "", "", ""
	schedule, err := s.Plan(o.ID, o.Seed)
	if err != nil {
		return out, err
	}
	how := reference.SimulationOptions{Rule: s.Rule, Started: simulatedStart, Answer: answer}
	tl, err := reference.Play(schedule, how)
	if err != nil {
		return out, err
	}
	recorded(&out, tl)
	c, j := conformance(tl, s, check.Options{Conformance: result.Exact, SkipMeasure: true})
	out.Judgement, out.Claims = j, []result.Claim{c}
	out.Verdict, out.Reason, out.Detail = result.Sum(out.Claims, "")
	return out, nil
}

// Simulated returns a recording that a limiter decided in virtual time, judged against l, as a scenario.
func Simulated(id string, l spec.Limit, tl *timeline.Timeline) (result.Scenario, error) {
	j, err := check.Judge(tl, l, check.Options{Conformance: result.Exact, SkipMeasure: true})
	if err != nil {
		return result.Scenario{}, err
	}
	out := Recording(l, "", j)
	out.ID, out.Title = id, "What "+l.String()+" would have done with these requests"
	recorded(&out, tl)
	return out, nil
}

// recorded fills a recording and its counts into out.
func recorded(out *result.Scenario, tl *timeline.Timeline) {
	out.Timeline, out.Header, out.Counts, out.Statuses = tl, tl.Header, tl.Counts(), tl.Statuses()
	out.Latency, out.Clients, out.Duration = timeline.LatencyOf(tl), result.ClientsOf(tl), tl.End()
}
