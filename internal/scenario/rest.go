package scenario

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Adapt suits a scenario that was just read to its target. One whose clients are not new rests before it
// sends; with issued they have keys that the target has issued, and are not new whatever the file says. With
// fit the limit was said from outside, and what does not fit the ceilings of Safety is changed or left out
// (see Unfit).
func (s *Scenario) Adapt(issued, fit bool) {
	most := s.Safety.MaxDuration
	if issued && s.Partition.Named() {
		s.Partition.Fresh, most = false, min(most, mostRest)
	}
	s.rest(most)
	if fit {
		s.fit()
	}
}

// mostRest is how long a scenario waits at most until issued keys are as good as new: perhaps nobody used
// them.
const mostRest = time.Minute

// rest puts silences into a scenario whose clients are not new, if none lasts longer than most: one before
// everything else, in which the limiter forgets an earlier scenario, and, where all clients share one quota,
// one before each phase that would have clients of its own.
//
//	declared:     first (clients A)      second (clients B)
//	one quota:    silence  first  silence  second          each silence lasts as long as the limit recovers
func (s *Scenario) rest(most time.Duration) {
	if s.Partition.Fresh {
		return
	}
	recovery := s.recovery()
	if recovery > most {
		return // nobody waits so long: what was before is not known
	}
	used := map[string]bool{}
	quiet := time.Duration(0) // how long nothing was sent
	if s.Target.URL == Builtin {
		quiet = recovery // it is new in each scenario
	}
	var out []Phase
	for _, p := range s.Phases {
		switch {
		case p.Shape == timeline.Silence:
			quiet += p.Duration
		case p.Quiet():
		case quiet < recovery && (len(used) == 0 || s.Partition.Kind == ByNone && !used[p.Partition]):
			s.rests += recovery
			out = append(out, Phase{Name: "forget-before-" + p.Name, Shape: timeline.Silence,
				Duration: recovery, Limit: p.Limit})
			fallthrough
		default:
			quiet, used[p.Partition] = 0, true
		}
		out = append(out, p)
	}
	s.Phases = out
}

// Rests is for how long the scenario is silent so that the limiter forgets what was before.
func (s *Scenario) Rests() time.Duration { return s.rests }

// recovery is a silence after which the limits of all phases are as good as new. It is longer by a tenth or
// two units: a bucket that is larger by one has then surely forgotten all, and shows that it is larger.
func (s *Scenario) recovery() time.Duration {
	var d time.Duration
	for i := range s.Phases {
		p := &s.Phases[i]
		if !p.Counted() {
			continue
		}
		for _, one := range p.Limit {
			full, unit := one.Recovery(), one.LongestWindow()/time.Duration(max(one.Rate.N, 1))
			d = max(d, full+max(full/10, 2*unit))
		}
	}
	return d + s.Target.Tick + time.Millisecond
}
