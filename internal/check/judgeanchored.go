package check

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// judgeAnchored judges a sliding window counter whose windows begin at the partition's first counted request.
func (c *Case) judgeAnchored(p *Part) {
	r := RefuteAnchored(p.Histories[0], c.Limit[0], c.O.Conformance, c.Few)
	p.Limited = r.Limited
	br, judged := (*limiter.Breach)(nil), search.JudgedNone
	if len(r.Found) == 0 && !c.BoundsOnly && !limiter.Ranged(c.Limit[0]) &&
		(c.O.Conformance == "" || c.O.Conformance == result.Exact) {
		br, p.Search.Visited, judged = search.Unexplainable(p.Histories[0], c.Limit[0], 0,
			c.decisions(len(p.Obs)))
		p.Search.Cap, p.Search.Capped = search.VisitCap, judged == search.JudgedPart
	}
	switch {
	case len(r.Found) > 0:
		p.Findings = append(p.Findings, c.Finding(p, r.Found, r.Box))
	case br != nil:
		p.Findings = append(p.Findings, c.Finding(p, []*limiter.Breach{br}, history.Interval{}))
	case judged == search.JudgedAll:
		p.Limited = false // the exact search judges every stretch
	case r.Unsure:
		p.Unjudged = UnsureSilence
		if pol := c.Limit[0]; pol.Ban > 0 && pol.Count == spec.CountAll {
			p.Unjudged = UnsureBanned
		}
	}
}

// The reasons why the rest of a recording is not judged.
const (
	UnsureSilence = "after a silence of one to two windows it is unknown whether a new window began; " +
		"the rest was not judged"
	UnsureBanned = "a denial inside a ban is not counted, so it is unknown which requests open the " +
		"windows"
)
