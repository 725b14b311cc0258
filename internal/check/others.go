package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// loosen returns the loosest policies that one of several clients of a partition may meet. They
// admit of one client whatever the limit admits of all, whatever the others sent. The result may be empty.
// changed: it is not the limit itself.
//
// What others use up leaves less room for this client. But others also change state in its favour:
//
//   - They create buckets. These have filled, and their batches count from then, before this client comes.
//   - They open windows. These may end at any time that this client sees, unless its admissions keep them
//     open.
func loosen(limit spec.Limit) (loose spec.Limit, changed bool) {
	for _, p := range limit {
		if q, ok := loosenForOthers(p); ok {
			loose = append(loose, q)
		}
	}
	return loose, !slices.Equal(loose, limit)
}

// loosenForOthers does so for one policy. ok=false: others leave nothing that bounds it.
func loosenForOthers(p spec.Policy) (loose spec.Policy, ok bool) {
	if p.Clear > 0 {
		return p, false
	}
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

// slidingEquivalent returns a bucket that admits whatever windows of p admit, wherever others begin them. No
// two windows begin within the shortest window, or within a time to live. So a span of L touches at most 2 +
// L/W of them. ok=false: requests are counted when they are complete, and then a window has no most.
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

// beside are the options that judge recordings under the policies of loosen. Their denials prove
// nothing.
var beside = Options{Conformance: result.UpperBound, Shared: true, SkipMeasure: true}

// judgedBeside withdraws findings of admissions for which others may have made room.
func (c *Case) judgedBeside(partitions []result.PartitionVerdict) {
	loose, changed := loosen(c.declared)
	if !changed || !slices.ContainsFunc(partitions, failed) {
		return
	}
	if len(loose) == 0 || Fits(c.Rec, loose) != nil {
		withdraw(partitions, nil)
		return
	}
	other := NewCase(c.Rec, loose, beside)
	other.Quick, other.BoundsOnly = c.Quick, c.BoundsOnly
	other.Judge()
	withdraw(partitions, other.Judgement().Partitions)
}

func failed(v result.PartitionVerdict) bool { return v.Verdict == result.Fail }

// withdraw keeps a failure only where found, the verdicts under the policies of loosen, fails too.
// It takes its findings from there. Both are matched by the name of the partition.
func withdraw(partitions, found []result.PartitionVerdict) {
	for i := range partitions {
		v := &partitions[i]
		if v.Verdict != result.Fail {
			continue
		}
		k := slices.IndexFunc(found,
			func(x result.PartitionVerdict) bool { return x.Partition == v.Partition && failed(x) })
		if k < 0 {
			v.Verdict, v.Reason, v.Detail = result.Inconclusive, result.ForeignTraffic,
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
