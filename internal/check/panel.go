package check

import (
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Panel judges a recording under several limits, one observation at a time. Each limit judges the requests of
// its phases. Requests that no limit counts are left out.
type Panel struct {
	shares []share
	free   int
	// single: each request counts one unit.
	single bool
	// copies is how many requests without an outcome were observed again, for another partition of their
	// client.
	copies int
}

// share is the part of a recording that one limit judges.
type share struct {
	limit  spec.Limit
	counts timeline.PhaseLimit
	stream *Stream
}

// OptionsOf returns the options with which a recording was judged when it was made.
func OptionsOf(t timeline.Terms) Options {
	return Options{Conformance: result.Conformance(t.Conformance), Shared: t.Shared,
		Resolution: Resolution{BurstExact: t.BurstExact, Burst: t.Burst, Rate: t.Rate}}
}

// NewPanel returns a Panel for a recording with the given header. An error names the SPEC that it is about.
func NewPanel(limits []timeline.PhaseLimit, h timeline.Header, o Options) (*Panel, error) {
	p := &Panel{single: h.Judged.SingleUnits}
	for _, l := range limits {
		limit, err := spec.Parse(l.Limit)
		if err != nil {
			return nil, err
		}
		p.shares = append(p.shares, share{limit, l, NewStream(limit, h, o)})
	}
	return p, nil
}

// Observe takes the next observation. They ascend by Sent. An error is one of Judge, and final: Finish
// returns it again.
func (p *Panel) Observe(o *timeline.Observation) error {
	if p.single && o.Cost > 1 {
		one := *o
		one.Cost = 1
		o = &one
	}
	if err := p.Beside(o); err != nil {
		return err
	}
	for _, s := range p.shares {
		if s.counts.Counts(o.Phase) {
			return s.stream.Observe(o)
		}
	}
	p.free++
	return nil
}

// Beside takes the next observation only for the other partitions that it may be charged to, if it has no
// outcome. It is for an observation whose own partition is not judged. Observe calls it itself.
func (p *Panel) Beside(o *timeline.Observation) error {
	if o.Outcome != timeline.Unknown || o.Origin {
		return nil
	}
	for _, s := range p.shares {
		for _, partition := range s.counts.Undecided[o.Partition] {
			other := *o
			other.Partition = partition
			p.copies++
			if err := s.stream.Observe(&other); err != nil {
				return err
			}
		}
	}
	return nil
}

// Free returns the number of observations that no limit counts.
func (p *Panel) Free() int { return p.free }

// Limits returns the limits that judge.
func (p *Panel) Limits() []spec.Limit {
	var out []spec.Limit
	for _, s := range p.shares {
		out = append(out, s.limit)
	}
	return out
}

// Counts returns the numbers of observations so far that some limit counts.
func (p *Panel) Counts() timeline.Counts {
	var all timeline.Counts
	for _, s := range p.shares {
		c := s.stream.Counts()
		// The header tells Unsent and Lost to every stream.
		all.Sent, all.Unsent, all.Lost = all.Sent+c.Sent, c.Unsent, c.Lost
		all.Allowed, all.Denied = all.Allowed+c.Allowed, all.Denied+c.Denied
		all.Unknown += c.Unknown
	}
	all.Sent, all.Unknown = all.Sent-p.copies, all.Unknown-p.copies
	all.Planned = all.Sent + all.Unsent
	return all
}

// Finish judges what was observed. Nothing may be observed afterwards. each has the judgement of each limit,
// in the order of Limits, and all is their sum.
func (p *Panel) Finish() (all *result.Judgement, each []*result.Judgement, err error) {
	for _, s := range p.shares {
		j, err := s.stream.Finish()
		if err != nil {
			return nil, nil, err
		}
		if len(p.shares) > 1 || p.free > 0 {
			j.Own(s.limit.String())
		}
		each = append(each, j)
	}
	if len(each) == 1 {
		return each[0], each, nil
	}
	return result.Merge(each), each, nil
}
