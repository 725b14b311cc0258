package check

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// finding makes a finding of the breaches that together refute every phase of the box, under the only policy.
func (c *caseFile) finding(p *part, found []*breach, box phases) Finding {
	return c.findingOf(p, found, c.limit[0], box)
}

func (c *caseFile) findingOf(p *part, found []*breach, pol reference.Policy, box phases) Finding {
	f := Finding{Kind: found[0].kind, Partition: p.name, Seen: found[0].seen, Bound: found[0].bound}
	keep := map[int]bool{}
	for _, br := range found {
		if br.kind != f.Kind {
			f.Kind = NoExplanation
		}
		for _, ev := range br.events {
			keep[ev.seq] = true
		}
	}
	if len(found) > 1 {
		keep = c.shrink(p, keep, pol, box)
		f.Seen, f.Bound = int64(len(keep)), int64(len(keep))-1
	}
	witness := p.pick(keep)
	for _, o := range witness {
		f.Observations = append(f.Observations, o.Seq)
	}
	slices.Sort(f.Observations)
	f.From, f.To = reach(witness, time.Duration(c.end))
	s := sentence{pol: pol, header: c.tl.Header, witness: witness, end: time.Duration(c.end)}
	if len(found) > 1 {
		f.Text = s.phases(f, box)
	} else {
		f.Text = s.print(f, found[0])
	}
	return f
}

// shrinkTries bounds the number of times a witness is judged again to make it smaller.
const shrinkTries = 400

// shrink drops observations from a witness of several phases while what is left is still refuted on its own.
func (c *caseFile) shrink(p *part, keep map[int]bool, pol reference.Policy, box phases) map[int]bool {
	if anchored(pol) {
		return keep // what places the windows must stay
	}
	h := p.histories[0]
	refuted := func(keep map[int]bool) bool {
		s := &search{policy: pol, mode: c.o.Conformance, group: &group{parts: []*history{h.subset(keep)}}}
		_, ok := s.refute(box)
		return ok
	}
	if !refuted(keep) {
		return keep // the phase is shared, and other partitions are part of the proof
	}
	tries := shrinkTries
	for step := len(keep) / 2; step >= 1; step /= 2 {
		order := sortedKeys(keep)
		for from := 0; from < len(order) && tries > 0; from += step {
			less := map[int]bool{}
			for _, seq := range order {
				less[seq] = keep[seq]
			}
			for _, seq := range order[from:min(from+step, len(order))] {
				delete(less, seq)
			}
			tries--
			if denialsKept(h, keep, less) && refuted(less) {
				for _, seq := range order[from:min(from+step, len(order))] {
					delete(keep, seq)
				}
			}
		}
	}
	return keep
}

// denialsKept tells whether less keeps every admission if it keeps a denial: without the admissions that may explain it a
// denial proves nothing.
func denialsKept(h *history, keep, less map[int]bool) bool {
	for _, d := range h.denied {
		if less[d.seq] {
			for _, a := range h.possible {
				if keep[a.seq] && !less[a.seq] {
					return false
				}
			}
			return true
		}
	}
	return true
}

func sortedKeys(m map[int]bool) []int {
	var out []int
	for k, v := range m {
		if v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
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

// reach returns the span from the first Sent to the last end of the observations.
func reach(obs []timeline.Observation, end time.Duration) (from, to time.Duration) {
	for i := range obs {
		until := end
		if obs[i].Answered {
			until = obs[i].FirstByte
		}
		if i == 0 {
			from, to = obs[i].Sent, until
		}
		from, to = min(from, obs[i].Sent), max(to, until)
	}
	return from, to
}
