package trial

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// share is the part of a recording that one limit counts.
type share struct {
	limit reference.Limit
	tl    *timeline.Timeline
}

// shares divides a recording by the limits of its phases, in the order of the scenario; what no limit counts is left out.
// A scenario with one limit has one share: the recording.
func shares(tl *timeline.Timeline, s *scenario.Scenario) []share {
	phases := phasesOf(s)
	var out []share
	for i := range s.Phases {
		p := &s.Phases[i]
		if !p.Counted() || slices.ContainsFunc(out, func(x share) bool { return x.limit.String() == p.Limit.String() }) {
			continue
		}
		out = append(out, share{p.Limit, &timeline.Timeline{Header: tl.Header}})
	}
	if len(out) == 1 && !slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool { return p.Unlimited || p.Barred }) {
		out[0].tl = tl
		return withUndecided(out, tl, phases)
	}
	for i := range tl.Observations {
		p := phases[tl.Observations[i].Phase]
		if p == nil || !p.Counted() {
			continue
		}
		at := slices.IndexFunc(out, func(x share) bool { return x.limit.String() == p.Limit.String() })
		out[at].tl.Observations = append(out[at].tl.Observations, tl.Observations[i])
	}
	return withUndecided(out, tl, phases)
}

// conformance judges a recording against the limits of its scenario, each partition against its own. The judgement is that
// of all partitions, with what was measured of the scenario's limit.
func conformance(tl *timeline.Timeline, s *scenario.Scenario, o check.Options) (check.Claim, *check.Judgement) {
	c := check.Claim{ID: "conformance"}
	all := &check.Judgement{Verdict: check.Pass}
	var worth []string
	parts := shares(tl, s)
	for _, part := range parts {
		j, err := check.Judge(part.tl, part.limit, o)
		if err != nil {
			c.Reason, c.Text = check.SearchLimit, err.Error()
			return c, nil
		}
		if worth = append(worth, strings.Join(report.Worth(part.limit, j), ", ")); part.limit.String() == s.Limit.String() {
			all.Measured = j.Measured
		}
		if all.Verdict = check.Worst(all.Verdict, j.Verdict); j.Verdict == check.Inconclusive && all.Reason == "" {
			all.Reason, all.Detail = j.Reason, j.Detail
		}
		if all.Hint == "" {
			all.Hint = j.Hint
		}
		if all.Diagnosis == nil {
			all.Diagnosis = j.Diagnosis
		}
		if len(parts) > 1 || part.tl != tl {
			own(j.Partitions, part.limit.String())
		}
		all.Partitions = append(all.Partitions, j.Partitions...)
	}
	slices.SortFunc(all.Partitions, func(a, b check.PartitionVerdict) int { return strings.Compare(a.Partition, b.Partition) })
	for _, p := range all.Partitions {
		c.Findings = append(c.Findings, p.Findings...)
	}
	switch all.Verdict {
	case check.Fail:
		all.Reason, all.Detail = "", ""
		if c.Text = c.Findings[0].Text; all.Diagnosis != nil {
			c.Text = all.Diagnosis.Text + "; " + c.Text
		}
	case check.Pass:
		c.Text = strings.Join(worth, "; ")
	default:
		c.Text = all.Detail
	}
	c.Verdict, c.Reason = all.Verdict, all.Reason
	return c, all
}

// usedBefore tells whether what an earlier run has used up may count in this one, which its recording does not show: partitions
// have the same names in each run, the limiter is older than this one, and a limit takes more than the level of its buckets from
// what came before, or takes them to be full.
func usedBefore(s *scenario.Scenario, o Options) bool {
	if s.Partition.Fresh || s.Target.URL == scenario.Builtin && (o.Redis == "" || o.Redis == EmbeddedRedis) {
		return false
	}
	return slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool {
		return p.Counted() && slices.ContainsFunc(p.Limit, func(l reference.Policy) bool { return l.Start != reference.StartUnknown || l.Ban > 0 })
	})
}

// own notes the limit of partitions, where others of the recording have another one or none.
func own(parts []check.PartitionVerdict, limit string) {
	for i := range parts {
		for k := range parts[i].Findings {
			parts[i].Findings[k].Limit = limit
		}
	}
}
