package check

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/quantity"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// judgement makes the verdicts from what was found.
func (c *caseFile) judgement() *verdict.Judgement {
	partitions := make([]verdict.PartitionVerdict, len(c.parts))
	each(len(c.parts), func(i int) { partitions[i] = c.verdict(c.parts[i]) })
	if c.o.Shared {
		c.judgedBeside(partitions)
	}
	unclassified := 0
	for _, p := range c.parts {
		unclassified += p.seen.unclassified
	}
	return c.conclude(partitions, unclassified)
}

// conclude makes the verdict on all partitions from that on each; unclassified counts the answers that no
// rule classifies.
func (c *caseFile) conclude(partitions []verdict.PartitionVerdict, unclassified int) *verdict.Judgement {
	j := &verdict.Judgement{Verdict: verdict.Pass, Partitions: partitions}
	for i := range j.Partitions {
		p := &j.Partitions[i]
		j.Measured = j.Measured.Intersect(p.Measured)
		if len(j.Partitions) == 1 { // the phases of several are kept apart: they may be different ones
			j.Measured = p.Measured
		}
		if j.Verdict = verdict.Worst(j.Verdict, p.Verdict); p.Verdict == verdict.Inconclusive &&
			j.Reason == "" {
			j.Reason, j.Detail = p.Reason, p.Detail
		}
	}
	if len(partitions) == 0 {
		j.Verdict, j.Reason, j.Detail = verdict.Inconclusive, verdict.TooFew, "no request was recorded"
	}
	if j.Verdict == verdict.Pass {
		c.demand(j, unclassified)
	}
	if j.Verdict != verdict.Inconclusive {
		j.Reason, j.Detail = "", ""
	}
	return j
}

// verdict judges one partition from its findings.
func (c *caseFile) verdict(p *part) verdict.PartitionVerdict {
	v := verdict.PartitionVerdict{Partition: p.name, Verdict: verdict.Pass, Findings: p.findings}
	v.Search = p.search
	v.Judged = p.seen.known
	if c.o.Shared {
		v.Findings = c.foreign(&v)
	}
	if v.Judged > 0 {
		v.Measured = c.measure(p)
	}
	switch {
	case len(v.Findings) > 0:
		v.Verdict, v.Reason, v.Detail = verdict.Fail, "", ""
	case v.Verdict == verdict.Inconclusive: // foreign traffic
	case v.Judged == 0 && p.unjudged == "":
		v.Verdict = verdict.Inconclusive
		v.Reason, v.Detail = p.seen.nothingKnown()
	case p.limited:
		v.Verdict, v.Reason, v.Detail = verdict.Inconclusive, verdict.SearchLimit,
			"the search for a window phase reached its limit"
	case p.unjudged != "":
		v.Verdict, v.Reason, v.Detail = verdict.Inconclusive, verdict.TooFew, p.unjudged
	}
	return v
}

// foreign takes back the under-admissions of a partition that others may use too.
func (c *caseFile) foreign(v *verdict.PartitionVerdict) []verdict.Finding {
	var kept []verdict.Finding
	for _, f := range v.Findings {
		if f.Kind == verdict.OverAdmission {
			kept = append(kept, f)
			continue
		}
		v.Verdict, v.Reason, v.Detail = verdict.Inconclusive, verdict.ForeignTraffic, f.Text+unlessOthers
	}
	return kept
}

// demand makes a pass that is worth less than the demanded resolution inconclusive.
func (c *caseFile) demand(j *verdict.Judgement, unclassified int) {
	if c.tl.Header.Interrupted {
		j.Verdict, j.Reason, j.Detail = verdict.Inconclusive, verdict.Interrupted,
			"the recording was stopped before its plan was done"
		return
	}
	reason, extra := verdict.TooFew, ""
	if unclassified > 0 {
		reason, extra = verdict.UnclassifiedStatus,
			fmt.Sprintf("; the status of %s is classified by no rule (name it under denied: or allowed:, "+
				"to check with --denied or --allowed)", quantity.Plural(unclassified, "answer"))
	}
	if short := c.o.Resolution.Short(c.limit, j.Measured); short != "" {
		j.Verdict, j.Reason, j.Detail = verdict.Inconclusive, reason, short+extra
	}
}
