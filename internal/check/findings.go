package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Finding makes a finding of the breaches that together refute every phase of the box, under the only policy.
// Its witness is the fewest events that still refute it, if they can be judged alone.
func (c *Case) Finding(p *Part, found []*limiter.Breach, box history.Interval) result.Finding {
	if c.Quick || c.O.VerdictOnly {
		return result.Finding{Kind: found[0].Kind}
	}
	if search.Counted(c.Limit) && len(found) == 1 {
		found = []*limiter.Breach{OnlyAsked(found[0])}
	}
	found, events := c.NewProof(p, found, c.Limit[0], box).Fewest(found)
	return c.Describe(p, found, events, c.Limit[0], box, 0)
}

// NewProof returns the proof that finds the witness for the breaches of pol.
func (c *Case) NewProof(p *Part, found []*limiter.Breach, pol spec.Policy, box history.Interval) *Proof {
	if limiter.Placed(pol) {
		return c.placedProof(p, found, pol)
	}
	mode := c.proofMode(found, pol)
	until := history.MinTime
	switch exactly := mode != result.UpperBound && mode != result.LowerBound; {
	case limiter.RemembersStart(pol), exactly && pol.Refill == spec.RefillInterval:
		until = p.Histories[0].FirstEnd()
	}
	return &Proof{H: p.Histories[0], Tries: ProofTries, Until: until, Counted: search.Counted(c.Limit),
		Over: mode == result.UpperBound, Judge: func(h *history.History, most int) ([]Refutation, int,
			bool) {
			s := &PhaseSearch{Policy: pol, Mode: mode, Group: &Group{Parts: []*history.History{h}},
				Rough: true,
				Each:  most}
			found, ok := s.Refute(box)
			return found, s.Tried(), ok
		}}
}

// proofMode returns the side under which a witness is made smaller. It is the side of the bound that found
// the breach, if the exact search would know no more.
func (c *Case) proofMode(found []*limiter.Breach, pol spec.Policy) result.Conformance {
	switch {
	case len(found) == 1 && (found[0].Kind == result.UnderAdmission || found[0].Crowd):
		return result.LowerBound // the denials must be proved, whatever else is wrong
	case len(found) == 1 && found[0].Kind == result.OverAdmission && !pol.Windowed():
		return result.UpperBound
	case search.Counted(c.Limit) && !slices.ContainsFunc(found,
		func(br *limiter.Breach) bool { return br.Kind != result.OverAdmission }):
		// The events do not explain all of the denials that counted.
		return result.UpperBound
	default:
		return c.O.Conformance
	}
}

// Describe makes a finding of breaches and the events that prove them together. others is how many other
// partitions are part of the proof.
func (c *Case) Describe(p *Part, found []*limiter.Breach, events []history.Event, pol spec.Policy,
	box history.Interval, others int) result.Finding {
	several := len(found) > 1 || others > 0
	f := result.Finding{Kind: kindOf(found, events), Partition: p.Name, Seen: found[0].Seen,
		Bound: found[0].Bound}
	if several || found[0].Kind == result.NoExplanation {
		if f.Seen = history.Volume(events); f.Kind == result.OverAdmission {
			f.Seen = AllowedOf(events)
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
	f.From, f.To = Reach(wit, time.Duration(c.End))
	if tight, loose := pol.Ends(); limiter.Ranged(pol) && !several {
		if pol = tight; f.Kind == result.OverAdmission {
			pol = loose // not even the loosest policy of the range admits it
		}
	}
	s := Sentence{Pol: pol, Header: c.Rec.Header, Witness: wit, End: time.Duration(c.End), Others: others}
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
func kindOf(found []*limiter.Breach, events []history.Event) result.Kind {
	kind := found[0].Kind
	for _, br := range found {
		if br.Kind != kind {
			kind = result.NoExplanation
		}
	}
	denied := slices.ContainsFunc(events,
		func(ev history.Event) bool { return ev.Outcome == timeline.Denied })
	if kind == result.NoExplanation && !denied {
		return result.OverAdmission // nothing but admissions: there are too many
	}
	return kind
}

// OnlyAsked returns br with the outcome of its denials unknown, but for the one that was asked. These denials
// count against other requests. What explains them is not among the events.
func OnlyAsked(br *limiter.Breach) *limiter.Breach {
	if br.Kind == result.NoExplanation {
		return br
	}
	one := *br
	one.Events = slices.Clone(br.Events)
	for i := range one.Events {
		if ev := &one.Events[i]; ev.Outcome == timeline.Denied &&
			(br.Kind != result.UnderAdmission || ev.Seq != br.Asked) {
			ev.Outcome, ev.Unprovable = timeline.Unknown, true
		}
	}
	return &one
}

// Reach returns the span from the first Sent to the last end of the observations. end is the end of the
// recording.
func Reach(obs []history.Observation, end time.Duration) (from, to time.Duration) {
	for i := range obs {
		until := end
		if obs[i].Answered {
			until = max(obs[i].FirstByte, obs[i].Sent)
		}
		if i == 0 {
			from, to = obs[i].Sent, until
		}
		from, to = min(from, obs[i].Sent), max(to, until)
	}
	return from, to
}
