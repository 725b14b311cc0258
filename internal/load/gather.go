package load

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gather makes the timeline of all observations, after every goroutine has ended.
func (r *recorder) gather() *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{
		Started: r.clock.start.Round(0), WallError: r.o.WallError, Tick: r.o.Tick, Notes: r.notes, Spreads: r.spreads, Stalls: r.stalls,
	}}
	var free []timeline.Observation
	for _, p := range r.phases {
		var planned, own []timeline.Observation
		for i := range p.fixed {
			if p.fixed[i].over {
				planned = append(planned, p.obs[i])
			}
		}
		for i := range p.clients {
			own = p.clients[i].record.appendTo(own)
		}
		tl.Header.Unsent += unsent(p.plan, len(planned), len(own), int(p.cut.Load()), r.halted.Load())
		for _, s := range p.loose {
			if s.over {
				own = append(own, *s.obs)
			}
		}
		if p.plan.Shape == timeline.Boundary {
			own, planned = append(own, planned...), nil
		}
		tl.Observations = append(tl.Observations, planned...)
		free = append(free, own...)
	}
	for i := len(r.phases); i < len(r.s.Phases); i++ {
		tl.Header.Unsent += unsent(&r.s.Phases[i], 0, 0, r.s.Phases[i].Clients, true)
	}
	slices.SortStableFunc(free, timeline.BySent)
	next := firstFree(r.s)
	for i := range free {
		free[i].Seq = next + i
	}
	tl.Observations = append(tl.Observations, free...)
	slices.SortStableFunc(tl.Observations, timeline.BySent)
	return tl
}

// Unsent returns how many requests of a plan a recording misses that was cut, at least.
func Unsent(s *timeline.Schedule, tl *timeline.Timeline) (n int) {
	sent := map[string]int{}
	for i := range tl.Observations {
		sent[tl.Observations[i].Phase]++
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		n += max(0, unsent(p, sent[p.Name], sent[p.Name], 0, true))
	}
	return n
}

// unsent returns how many requests of a phase were planned and not sent. A phase whose clients send until its duration is
// over has no plan to fall short of, but where it was cut short each client that would have gone on has one more to send.
func unsent(p *timeline.Phase, planned, own, cut int, halted bool) int {
	switch {
	case p.Shape != timeline.Closed && p.Shape != timeline.HonorRetryAfter && p.Shape != timeline.Backoff:
		return len(p.Arrivals) - planned
	case halted && p.Duration == 0:
		return max(0, p.Requests-own)
	default:
		return cut
	}
}
