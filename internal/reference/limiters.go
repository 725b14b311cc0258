package reference

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Simulation decides the requests of many partitions under one limit.
type Simulation struct {
	limiter Limiter
	// zero is what the limiter's clock shows at the start. It is 0 for windows that count from the start.
	zero   time.Duration
	answer time.Duration
	// completes tells that the limiter depends on when answers end.
	completes bool
	states    map[string]*state
}

// state is what a limiter knows about one partition.
type state struct {
	State
	// open are the admitted requests in flight, ascending by their ends.
	open []request
}

type request struct {
	done time.Duration
	cost int64
}

// NewSimulation returns a limiter whose clock shows started at the start. Each answer takes the time answer.
// It returns an error for a refused limit, and for a limit with a range, which is not a single limiter.
func NewSimulation(l spec.Limit, started time.Time, answer time.Duration) (*Simulation, error) {
	out := &Simulation{zero: time.Duration(started.UnixNano()), answer: answer, completes: l.Completes(),
		states: map[string]*state{}}
	for _, p := range l {
		if p.RateTo > 0 || p.BurstTo > 0 || p.PerTo > 0 {
			return nil, fmt.Errorf("limit %q: the limit has a range, but a simulation needs one value "+
				"(choose one)", p)
		}
		if p.Align == spec.AlignPhase {
			out.zero = 0
		}
	}
	var err error
	out.limiter, err = NewLimit(l)
	return out, err
}

// Decide decides a request at an instant since the start. The instants of one partition must ascend.
func (l *Simulation) Decide(partition string, at time.Duration, cost int64) Decision {
	return l.DecideFor(partition, at, cost, l.answer)
}

// DecideFor is Decide for a request whose answer takes another time than that of the others.
func (l *Simulation) DecideFor(partition string, at time.Duration, cost int64,
	answer time.Duration) Decision {
	s := l.states[partition]
	if s == nil {
		s = &state{State: l.limiter.Init()}
		l.states[partition] = s
	}
	for len(s.open) > 0 && s.open[0].done <= at {
		s.State = Complete(l.limiter, s.State, l.zero+s.open[0].done, s.open[0].cost)
		s.open = s.open[1:]
	}
	var d Decision
	s.State, d = l.limiter.Step(s.State, l.zero+at, cost)
	if d.Allow && l.completes {
		r := request{at + d.Delay + answer, cost}
		i, _ := slices.BinarySearchFunc(s.open, r, func(a, b request) int { return int(a.done - b.done) })
		s.open = slices.Insert(s.open, i, r)
	}
	return d
}
