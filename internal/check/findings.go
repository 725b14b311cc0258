package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// finding makes a finding of the breaches that together refute every phase of the box, under the only policy.
func (c *caseFile) finding(p *part, found []*breach, box phases) verdict.Finding {
	return c.findingOf(p, found, c.limit[0], box)
}

// findingOf makes a finding of what refutes pol: with the fewest events that still do, where they can be
// judged alone.
func (c *caseFile) findingOf(p *part, found []*breach, pol spec.Policy, box phases) verdict.Finding {
	if c.quick {
		return verdict.Finding{Kind: found[0].kind}
	}
	events := eventsOf(found)
	if len(c.limit) == 1 {
		if counted(c.limit) && len(found) == 1 {
			found = []*breach{onlyAsked(found[0])}
		}
		pr := c.newProof(p, found, pol, box)
		found, events = pr.fewest(found)
	}
	return c.describe(p, found, events, pol, box, 0)
}

// newProof returns the proof that makes a witness of what refutes pol.
func (c *caseFile) newProof(p *part, found []*breach, pol spec.Policy, box phases) *proof {
	if placed(pol) {
		return c.placedProof(p, found, pol)
	}
	mode := c.proofMode(found, pol)
	until := minTime
	switch exactly := mode != verdict.UpperBound && mode != verdict.LowerBound; {
	case remembersStart(pol), exactly && pol.Refill == spec.RefillInterval:
		until = p.histories[0].firstEnd()
	}
	return &proof{h: p.histories[0], tries: proofTries, until: until, counted: counted(c.limit),
		over: mode == verdict.UpperBound, judge: func(h *history, most int) ([]refutation, int, bool) {
			s := &search{policy: pol, mode: mode, group: &group{parts: []*history{h}}, rough: true,
				each: most}
			found, ok := s.refute(box)
			return found, s.tried(), ok
		}}
}

// proofMode is the side that a witness is made smaller for: that of the bound which found it, where the exact
// search would know no more.
func (c *caseFile) proofMode(found []*breach, pol spec.Policy) verdict.Conformance {
	switch {
	case len(found) == 1 && found[0].kind == verdict.UnderAdmission:
		return verdict.LowerBound // the denial is to be proved, whatever else is wrong
	case len(found) == 1 && found[0].kind == verdict.OverAdmission && !pol.Windowed():
		return verdict.UpperBound
	case counted(c.limit) &&
		!slices.ContainsFunc(found, func(br *breach) bool { return br.kind != verdict.OverAdmission }):
		return verdict.UpperBound // of the denials that counted, not all are explained by the events
	default:
		return c.o.Conformance
	}
}

// describe makes a finding of breaches and the events that prove them together, where need be with those of
// other partitions.
func (c *caseFile) describe(p *part, found []*breach, events []event, pol spec.Policy, box phases,
	others int) verdict.Finding {
	f := verdict.Finding{Kind: found[0].kind, Partition: p.name, Seen: found[0].seen, Bound: found[0].bound}
	several := len(found) > 1 || others > 0
	for _, br := range found {
		if br.kind != f.Kind {
			f.Kind = verdict.NoExplanation
		}
	}
	denied := slices.ContainsFunc(events, func(ev event) bool { return ev.outcome == timeline.Denied })
	if f.Kind == verdict.NoExplanation && !denied {
		f.Kind = verdict.OverAdmission // nothing but admissions: there are too many
	}
	if several || found[0].kind == verdict.NoExplanation {
		if f.Seen = volume(events); f.Kind == verdict.OverAdmission {
			f.Seen = allowedOf(events)
		}
		f.Bound = f.Seen - 1
	}
	keep := map[int]bool{}
	for _, ev := range events {
		keep[ev.seq] = true
	}
	witness := p.pick(keep)
	for _, o := range witness {
		f.Observations = append(f.Observations, o.Seq)
	}
	slices.Sort(f.Observations)
	f.From, f.To = reach(witness, time.Duration(c.end))
	if tight, loose := pol.Ends(); ranged(pol) && !several {
		if pol = tight; f.Kind == verdict.OverAdmission {
			pol = loose // what even the loosest of the range cannot have admitted
		}
	}
	s := sentence{pol: pol, header: c.tl.Header, witness: witness, end: time.Duration(c.end), others: others}
	if several && len(c.limit) == 1 {
		f.Text = s.phases(f, box)
	} else {
		f.Text = s.print(f, found[0])
	}
	if found[0].amid {
		f.Text += ", whatever the others were answered"
	}
	return f
}

// pick returns the observations of a partition with the given numbers, ascending by Sent.
func (p *part) pick(keep map[int]bool) []timeline.Observation {
	var out []timeline.Observation
	for i := range p.obs {
		if keep[p.obs[i].Seq] {
			out = append(out, p.obs[i])
		}
	}
	return out
}
