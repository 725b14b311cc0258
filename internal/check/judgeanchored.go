package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// judgeAnchored judges a sliding window counter whose windows begin at the partition's first counted request.
func (c *caseFile) judgeAnchored(p *part) {
	r := refuteAnchored(p.histories[0], c.limit[0], c.o.Conformance, c.few)
	p.limited = r.limited
	br, judged := (*breach)(nil), judgedNone
	if len(r.found) == 0 && !c.boundsOnly && !ranged(c.limit[0]) &&
		(c.o.Conformance == "" || c.o.Conformance == verdict.Exact) {
		br, p.search.Visited, judged = unexplainable(p.histories[0], c.limit[0], 0, c.decisions(len(p.obs)))
		p.search.Cap, p.search.Capped = visitCap, judged == judgedPart
	}
	switch {
	case len(r.found) > 0:
		p.findings = append(p.findings, c.findingOf(p, r.found, c.limit[0], r.box))
	case br != nil:
		p.findings = append(p.findings, c.findingOf(p, []*breach{br}, c.limit[0], phases{}))
	case judged == judgedAll:
		p.limited = false // the search judges every stretch
	case r.unsure:
		p.unjudged = unsureSilence
		if pol := c.limit[0]; pol.Ban > 0 && pol.Count == spec.CountAll {
			p.unjudged = unsureBanned
		}
	}
}

// Why the rest of a recording is not judged.
const (
	unsureSilence = "after a silence of one to two windows it is not known whether the windows began " +
		"anew; the rest was not judged"
	unsureForgotten = "the partition may have been forgotten, and was not silent since for so long that it " +
		"is known when its windows began anew; the rest was not judged"
	unsureBanned = "a denial inside a ban is not counted, so that it is not known which requests place " +
		"the windows"
)
