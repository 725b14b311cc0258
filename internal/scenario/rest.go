package scenario

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Adapt suits a scenario that was just read to its target. If its clients are not new, it rests before it
// sends. issued: the target has issued their keys, so they are not new whatever the file says. fit: the limit
// was given from outside, so whatever does not fit the ceilings of Safety is changed or left out (Unfit).
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

// mostRest is how long a scenario waits at most until issued keys are as good as new. Perhaps nobody used
// them.
const mostRest = time.Minute

// rest puts silences into a scenario whose clients are not new, if none has to last longer than most. The
// first comes before everything else, and the limiter forgets earlier scenarios in it. If all clients share
// one quota, another silence comes before each phase that would have its own clients.
//
//	declared:     first (clients A)      second (clients B)
//	one quota:    silence  first  silence  second          each silence lasts as long as the limit recovers
func (s *Scenario) rest(most time.Duration) {
	if s.Partition.Fresh {
		return
	}
	recovery := s.recovery()
	if recovery > most {
		// Nobody waits so long, so what was before is not known.
		return
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

// Rests returns how long the scenario is silent so that the limiter forgets earlier requests.
func (s *Scenario) Rests() time.Duration { return s.rests }

// recovery returns a silence after which the limits of all phases are as good as new. It is longer by a tenth
// or by two units. Then even a bucket that is larger by one unit has forgotten everything, and shows that it
// is larger.
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
