package judge

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// LoosenForOthers returns the loosest policies that one of several clients of the same partitions may meet:
// what the limit admits of all, these admit of one, whatever the others sent. It may be empty. changed tells
// that they are not the limit itself.
//
// What others use up leaves one less. But they also create buckets, which have filled before one comes and
// whose batches beat as they began; and open windows, which end when no request of one tells, but where an
// admission keeps them open.
func LoosenForOthers(limit spec.Limit) (loose spec.Limit, changed bool) {
	for _, p := range limit {
		if q, ok := loosenForOthers(p); ok {
			loose = append(loose, q)
		}
	}
	return loose, !slices.Equal(loose, limit)
}

// loosenForOthers is BesideOthers for one policy; ok=false for one that bounds nothing.
func loosenForOthers(p spec.Policy) (loose spec.Policy, ok bool) {
	if p.Windowed() && p.Align == spec.AlignFirst &&
		(!p.Refreshes() || p.Ban > 0 || p.Count != spec.CountAdmitted) {
		return slidingEquivalent(p)
	}
	if limiter.RemembersStart(p) {
		p.Start, p.Level, p.LevelTo = spec.StartFull, 0, 0
	}
	if p.Refill == spec.RefillInterval {
		p.Refill, p.Burst, p.Fill = spec.RefillContinuous, max(p.Burst, p.BurstTo)+p.Fill, 0
		p.BurstTo = 0
	}
	return p, true
}

// slidingEquivalent returns a bucket that admits whatever windows of p do which begin wherever others want.
// No two begin within the shortest of them, or within a time to live, so that a span of L touches 2 + L/W at
// the most. Where requests are counted when they are complete a window has no most.
func slidingEquivalent(p spec.Policy) (loose spec.Policy, ok bool) {
	if p.Completes() {
		return p, false
	}
	rate := spec.Rate{N: max(p.Rate.N, p.RateTo), Per: p.Rate.Per}
	if p.TTL > 0 {
		rate.Per = min(rate.Per, p.TTL)
	}
	loose = spec.Plain(spec.TokenBucket, rate, 2*rate.N)
	loose.Tick, loose.TickSet = p.Tick, p.TickSet
	return loose, true
}

// Beside judges recordings under the policies of BesideOthers: their denials prove nothing.
var Beside = Options{Conformance: verdict.UpperBound, Shared: true, SkipMeasure: true}

// judgedBeside takes back what is found in the admissions of partitions where others may have made room for
// them.
func (c *Case) judgedBeside(partitions []verdict.PartitionVerdict) {
	loose, changed := LoosenForOthers(c.declared)
	if !changed || !slices.ContainsFunc(partitions, Failed) {
		return
	}
	if len(loose) == 0 || Fits(c.Tl, loose) != nil {
		Withdraw(partitions, nil)
		return
	}
	other := New(c.Tl, loose, Beside)
	other.Quick, other.BoundsOnly = c.Quick, c.BoundsOnly
	other.Judge()
	Withdraw(partitions, other.Judgement().Partitions)
}

// Failed tells whether the partition fails.
func Failed(v verdict.PartitionVerdict) bool { return v.Verdict == verdict.Fail }

// Withdraw leaves of what is found in each partition what is found under the policies of BesideOthers too, as
// these say it.
func Withdraw(partitions, found []verdict.PartitionVerdict) {
	for i := range partitions {
		v := &partitions[i]
		if v.Verdict != verdict.Fail {
			continue
		}
		k := slices.IndexFunc(found,
			func(x verdict.PartitionVerdict) bool { return x.Partition == v.Partition && Failed(x) })
		if k < 0 {
			v.Verdict, v.Reason, v.Detail = verdict.Inconclusive, verdict.ForeignTraffic,
				v.Findings[0].Text+unlessOthers
			v.Findings = nil
			continue
		}
		v.Findings = found[k].Findings
		for n := range v.Findings {
			v.Findings[n].Text += ", whatever others sent"
		}
	}
}

const unlessOthers = ", unless others used the same key"
