package check

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	sharedText = "all clients seem to share one quota: does the limiter count addresses, that of a proxy, " +
		"or all requests together? try --partition address or none"
	emptyText = "; or does a new client start with an empty quota (start=empty)?"
)

// diagnose finds out whether the partitions of a recording that fails share one quota. It judges the
// recording again, with all requests in one partition: once alone, and once with earlier requests that the
// recording does not show. The declared limit must then explain everything. A smaller quota of each partition
// must not, since nobody could tell the two apart.
//
// Partitions that an earlier run may have used (Header.CompleteFrom) are not new. Of these, earlier requests
// prove nothing.
func diagnose(rec *history.Recording, limit spec.Limit, j *result.Judgement, o Options) *result.Diagnosis {
	if j.Verdict != result.Fail || !deniesTooMuch(j) || limit.Cleared() {
		return nil
	}
	one := rec.AsOne()
	several := len(j.Partitions) > 1
	why := ""
	if several && tried(one, limit, o).verdict == result.Pass {
		why = fmt.Sprintf("if all %d clients are one client, the declared limit explains them; if they "+
			"are separate clients, it does not", len(j.Partitions))
	}
	if why == "" && rec.Header.CompleteFrom == 0 && deniedNew(rec, limit) &&
		explainedByEarlier(one, limit, o) {
		why = usedEarlier(len(j.Partitions))
	}
	if why == "" || smallerQuota(rec, limit, j, o) {
		return nil
	}
	d := &result.Diagnosis{Kind: result.SharedQuota, Text: sharedText, Why: why}
	if len(limit) == 1 {
		empty := limit[0]
		if empty.Start = spec.StartEmpty; tried(rec, spec.Limit{empty}, o).verdict == result.Pass {
			d.Text += emptyText
		}
	}
	return d
}

// deniedNew tells whether some partition was denied before it could have used up the quota of a new one. What
// answers were charged is not known, so limits that settle costs tell no new one.
func deniedNew(rec *history.Recording, limit spec.Limit) bool {
	if slices.ContainsFunc(limit, func(p spec.Policy) bool { return p.Charge == spec.ChargeCompletion }) {
		return false
	}
	least := limit.Full()
	return slices.ContainsFunc(rec.Parts, func(p history.Partition) bool {
		var first *history.Observation // the denial that was answered first
		for i := range p.Obs {
			o := &p.Obs[i]
			if o.Answered && o.Outcome == timeline.Denied && (first == nil || o.FirstByte < first.FirstByte) {
				first = o
			}
		}
		if first == nil {
			return false
		}
		asked := first.Cost
		for i := range p.Obs {
			if o := &p.Obs[i]; o.Outcome != timeline.Denied && o.Sent <= first.FirstByte {
				asked += o.Cost
			}
		}
		return asked <= least
	})
}

// explainedByEarlier tells whether requests before a recording of one partition may explain it. They left a
// bucket at some level. They may have left any window, so no window is judged that began before the
// recording.
func explainedByEarlier(one *history.Recording, limit spec.Limit, o Options) bool {
	earlier := slices.Clone(limit)
	for i, p := range limit {
		p.Start = spec.StartUnknown
		if _, err := reference.New(p); err == nil {
			earlier[i] = p
		} else {
			one.Header.CompleteFrom = 1
		}
	}
	return tried(one, earlier, o).verdict != result.Fail
}

// usedEarlier says that requests from before the recording explain it.
func usedEarlier(clients int) string {
	if clients == 1 {
		return "the client is new, and the declared limit explains its denials only if others used it before"
	}
	return fmt.Sprintf("if all %d clients are one client whose quota was in use before, the declared "+
		"limit explains them; if they are new clients, it does not", clients)
}

// deniesTooMuch tells whether some finding is about a denial. A quota that is shared admits too little.
func deniesTooMuch(j *result.Judgement) bool {
	return slices.ContainsFunc(j.Partitions, func(p result.PartitionVerdict) bool {
		return slices.ContainsFunc(p.Findings,
			func(f result.Finding) bool { return f.Kind != result.OverAdmission })
	})
}

// smallerQuota tells whether a smaller burst or quota of each partition explains the recording.
func smallerQuota(rec *history.Recording, limit spec.Limit, j *result.Judgement, o Options) bool {
	for i, p := range limit {
		if slices.ContainsFunc(bursts(p, j.Measured.Of(i, len(limit)).Burst), func(b int64) bool {
			smaller := slices.Clone(limit)
			smaller[i] = p.WithFull(b)
			return b < p.Full() && tried(rec, smaller, o).verdict == result.Pass
		}) {
			return true
		}
	}
	return false
}
