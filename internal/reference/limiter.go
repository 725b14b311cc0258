package reference

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// State is what a limiter remembers of one partition. It is a comparable value (its dynamic type supports
// ==), so states may be copied, compared and forgotten freely.
type State any

// Decision is what a limiter specifies for one request.
type Decision struct {
	// Allow tells whether the request is admitted.
	Allow bool
	// Delay is how long an admitted request waits before it is let through. Only a queue delays.
	Delay time.Duration
	// Remaining is how many requests of cost 1 would be admitted at once right after this one, if each were
	// complete at once. It is never negative. A reserve takes nothing from it.
	Remaining int64
	// RetryAfter is the exact time, rounded up to the nanosecond, until a request of this cost would be
	// admitted if nothing else arrives. It is 0 for an admitted request. It is Never if no wait is long
	// enough, or if that depends on the completion of others. It does not foresee charges that are still to
	// come.
	RetryAfter time.Duration
	// Reset is the time, rounded up to the nanosecond, until the partition is as good as new if nothing else
	// arrives. For a fixed window it is the time until the window ends, or 0 where none is open. It is Never
	// while requests are in flight under a Concurrency.
	Reset time.Duration
}

// Never is the RetryAfter of a request that costs more than the limiter ever admits, or that waits for the
// completion of others.
const Never = time.Duration(1<<63 - 1)

// Limiter is an algorithm with its parameters. Step is pure: the same state, time and cost give the same
// result, and s is not changed. Init returns the state of a partition without requests so far. The first Step
// creates the partition.
//
// Times passed to successive steps of one partition must not decrease. A smaller time is taken as the largest
// seen, and the durations of its Decision count from there. For AlignClock, AlignUnknown and AlignShared, at
// counts from the Unix epoch. For AlignPhase it counts from the zero that the phase counts from. For all else
// the zero is free.
//
// A cost below 1, or a state of another limiter, is a programming mistake: Step panics. A policy with
// ChargeCompletion does not read the cost before Complete.
type Limiter interface {
	Init() State
	Step(s State, at time.Duration, cost int64) (State, Decision)
}

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

// Clear makes a partition a new one.
func (l *Simulation) Clear(partition string) { delete(l.states, partition) }

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
