package check

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Judgement makes the verdicts from the findings.
func (c *Case) Judgement() *result.Judgement {
	partitions := make([]result.PartitionVerdict, len(c.Parts))
	Each(len(c.Parts), func(i int) { partitions[i] = c.Verdict(c.Parts[i]) })
	if c.Limit.Cleared() {
		partitions = result.Joined(partitions)
	}
	if c.O.Shared {
		c.judgedBeside(partitions)
	}
	unclassified := 0
	for _, p := range c.Parts {
		unclassified += p.Seen.Unclassified
	}
	return c.Conclude(partitions, unclassified)
}

// Conclude makes the verdict on all partitions from the verdict on each. unclassified is the number of
// answers that no rule classifies.
func (c *Case) Conclude(partitions []result.PartitionVerdict, unclassified int) *result.Judgement {
	j := &result.Judgement{Verdict: result.Pass, Partitions: partitions}
	for i := range j.Partitions {
		p := &j.Partitions[i]
		j.Measured = j.Measured.Intersect(p.Measured)
		// The phases of several partitions are not intersected: they may differ.
		if len(j.Partitions) == 1 {
			j.Measured = p.Measured
		}
		if j.Verdict = result.Worst(j.Verdict, p.Verdict); p.Verdict == result.Inconclusive &&
			j.Reason == "" {
			j.Reason, j.Detail = p.Reason, p.Detail
		}
	}
	if len(partitions) == 0 {
		j.Verdict, j.Reason, j.Detail = result.Inconclusive, result.TooFew, "no request was recorded"
	}
	if j.Verdict == result.Pass {
		c.demand(j, unclassified)
	}
	if j.Verdict != result.Inconclusive {
		j.Reason, j.Detail = "", ""
	}
	return j
}

// Verdict judges one partition by its findings.
func (c *Case) Verdict(p *Part) result.PartitionVerdict {
	v := result.PartitionVerdict{Partition: p.Name, Verdict: result.Pass, Findings: p.Findings}
	v.Search = p.Search
	v.Judged = p.Seen.Known
	if c.O.Shared {
		v.Findings = c.foreign(&v)
	}
	if v.Judged > 0 {
		v.Measured = c.Measure(p)
	}
	if v.Judged > 0 && len(p.Findings) == 0 {
		v.Measured = c.sharpen(p, v.Measured)
	}
	if len(v.Findings) == 0 && !c.Quick {
		v.Asked, v.Tested = c.chance(p)
		v.Returned, v.Remembered, v.Others = c.comeback(p)
		v.Apart, v.Blurred = c.apart(p)
		if v.Asked && !v.Tested {
			v.Held = c.heldFor(p)
		}
	}
	switch {
	case len(v.Findings) > 0:
		v.Verdict, v.Reason, v.Detail = result.Fail, "", ""
	case v.Verdict == result.Inconclusive: // foreign decided it: others may have used the key
	case v.Judged == 0 && p.Unjudged == "":
		v.Verdict = result.Inconclusive
		v.Reason, v.Detail = p.Seen.NothingKnown()
	case p.Limited:
		v.Verdict, v.Reason, v.Detail = result.Inconclusive, result.SearchLimit,
			"the search for the start of the windows reached its limit"
	case p.Unjudged != "":
		v.Verdict, v.Reason, v.Detail = result.Inconclusive, result.TooFew, p.Unjudged
	}
	return v
}

// foreign withdraws the under-admissions of a partition that others may use too.
func (c *Case) foreign(v *result.PartitionVerdict) []result.Finding {
	var kept []result.Finding
	for _, f := range v.Findings {
		if f.Kind == result.OverAdmission {
			kept = append(kept, f)
			continue
		}
		v.Verdict, v.Reason, v.Detail = result.Inconclusive, result.ForeignTraffic, f.Text+unlessOthers
	}
	return kept
}

// demand makes a PASS INCONCLUSIVE if it is worth less than the demanded resolution.
func (c *Case) demand(j *result.Judgement, unclassified int) {
	if c.Rec.Header.Interrupted {
		j.Verdict, j.Reason, j.Detail = result.Inconclusive, result.Interrupted,
			"the recording stopped before its plan was done"
		return
	}
	for i, p := range c.Limit {
		if m := j.Measured.Of(i, len(c.Limit)); limiter.Ranged(p) && (m.Burst.Empty() || m.Rate.Empty()) {
			j.Verdict, j.Reason, j.Detail = result.Inconclusive, result.SearchLimit,
				"each client alone keeps the limit, but no one value of its range explains all of them"
			return
		}
	}
	reason, extra := result.TooFew, ""
	if unclassified > 0 {
		reason, extra = result.UnclassifiedStatus,
			fmt.Sprintf("; no rule classifies the status of %s (name it under denied: or allowed:, for "+
				"check with --denied or --allowed)", text.Plural(unclassified, "answer"))
	}
	if short := c.O.Resolution.Short(c.Limit, j.Measured); short != "" {
		j.Verdict, j.Reason, j.Detail = result.Inconclusive, reason, short+extra
	}
}
