package judge

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/phases"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/check/witness"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Finding makes a finding of the breaches that together refute every phase of the box, under the only policy.
func (c *Case) Finding(p *Part, found []*limiter.Breach, box history.Interval) verdict.Finding {
	return c.FindingOf(p, found, c.Limit[0], box)
}

// FindingOf makes a finding of the breaches that refute pol. Its witness is the fewest events that still
// refute it, if they can be judged alone.
func (c *Case) FindingOf(p *Part, found []*limiter.Breach, pol spec.Policy,
	box history.Interval) verdict.Finding {
	if c.Quick {
		return verdict.Finding{Kind: found[0].Kind}
	}
	events := witness.EventsOf(found)
	if len(c.Limit) == 1 {
		if search.Counted(c.Limit) && len(found) == 1 {
			found = []*limiter.Breach{witness.OnlyAsked(found[0])}
		}
		pr := c.NewProof(p, found, pol, box)
		found, events = pr.Fewest(found)
	}
	return c.Describe(p, found, events, pol, box, 0)
}

// NewProof returns the proof that finds the witness for the breaches of pol.
func (c *Case) NewProof(p *Part, found []*limiter.Breach, pol spec.Policy,
	box history.Interval) *witness.Proof {
	if limiter.Placed(pol) {
		return c.placedProof(p, found, pol)
	}
	mode := c.proofMode(found, pol)
	until := history.MinTime
	switch exactly := mode != verdict.UpperBound && mode != verdict.LowerBound; {
	case limiter.RemembersStart(pol), exactly && pol.Refill == spec.RefillInterval:
		until = p.Histories[0].FirstEnd()
	}
	return &witness.Proof{H: p.Histories[0], Tries: witness.ProofTries, Until: until,
		Counted: search.Counted(c.Limit),
		Over:    mode == verdict.UpperBound, Judge: func(h *history.History, most int) ([]phases.Refutation,
			int,
			bool) {
			s := &phases.Search{Policy: pol, Mode: mode, Group: &phases.Group{Parts: []*history.History{h}},
				Rough: true,
				Each:  most}
			found, ok := s.Refute(box)
			return found, s.Tried(), ok
		}}
}

// proofMode returns the side under which a witness is made smaller. It is the side of the bound that found
// the breach, if the exact search would know no more.
func (c *Case) proofMode(found []*limiter.Breach, pol spec.Policy) verdict.Conformance {
	switch {
	case len(found) == 1 && (found[0].Kind == verdict.UnderAdmission || found[0].Crowd):
		return verdict.LowerBound // the denials must be proved, whatever else is wrong
	case len(found) == 1 && found[0].Kind == verdict.OverAdmission && !pol.Windowed():
		return verdict.UpperBound
	case search.Counted(c.Limit) && !slices.ContainsFunc(found,
		func(br *limiter.Breach) bool { return br.Kind != verdict.OverAdmission }):
		// The events do not explain all of the denials that counted.
		return verdict.UpperBound
	default:
		return c.O.Conformance
	}
}

// Describe makes a finding of breaches and the events that prove them together. others is how many other
// partitions are part of the proof.
func (c *Case) Describe(p *Part, found []*limiter.Breach, events []history.Event, pol spec.Policy,
	box history.Interval, others int) verdict.Finding {
	several := len(found) > 1 || others > 0
	f := verdict.Finding{Kind: kindOf(found, events), Partition: p.Name, Seen: found[0].Seen,
		Bound: found[0].Bound}
	if several || found[0].Kind == verdict.NoExplanation {
		if f.Seen = history.Volume(events); f.Kind == verdict.OverAdmission {
			f.Seen = witness.AllowedOf(events)
		}
		f.Bound = f.Seen - 1
	}
	keep := map[int]bool{}
	for _, ev := range events {
		keep[ev.Seq] = true
	}
	wit := p.pick(keep)
	for _, o := range wit {
		f.Observations = append(f.Observations, o.Seq)
	}
	slices.Sort(f.Observations)
	f.From, f.To = witness.Reach(wit, time.Duration(c.End))
	if tight, loose := pol.Ends(); limiter.Ranged(pol) && !several {
		if pol = tight; f.Kind == verdict.OverAdmission {
			pol = loose // not even the loosest policy of the range admits it
		}
	}
	s := witness.Sentence{Pol: pol, Header: c.Rec.Header, Witness: wit, End: time.Duration(c.End),
		Others: others}
	if several && len(c.Limit) == 1 {
		f.Text = s.Phases(f, box)
	} else {
		f.Text = s.Print(f, found[0])
	}
	if found[0].Amid {
		f.Text += ", whatever the answers to the other requests were"
	}
	return f
}

// pick returns the observations of a partition whose numbers are in keep, ascending by Sent.
func (p *Part) pick(keep map[int]bool) []history.Observation {
	var out []history.Observation
	for i := range p.Obs {
		if keep[p.Obs[i].Seq] {
			out = append(out, p.Obs[i])
		}
	}
	return out
}

// kindOf returns what the breaches prove together. events are all events of the proof.
func kindOf(found []*limiter.Breach, events []history.Event) verdict.Kind {
	kind := found[0].Kind
	for _, br := range found {
		if br.Kind != kind {
			kind = verdict.NoExplanation
		}
	}
	denied := slices.ContainsFunc(events,
		func(ev history.Event) bool { return ev.Outcome == timeline.Denied })
	if kind == verdict.NoExplanation && !denied {
		return verdict.OverAdmission // nothing but admissions: there are too many
	}
	return kind
}
