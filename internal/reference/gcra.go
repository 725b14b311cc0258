package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// gcra is the generic cell rate algorithm (ITU-T I.371 and ATM Forum TM 4.0, virtual scheduling). A cell that
// arrives at a conforms if the theoretical arrival time TAT is at most tau = (burst-1)*T after a. T =
// window/n is the time of one cell. Then TAT becomes max(a, TAT) + T. A request of cost c is c cells at once:
//
//	admitted when max(a, TAT) + c*T <= a + burst*T
//
// The state keeps how far TAT is ahead of the clock, in nanoseconds times n, so that T is a whole number: the
// window. A denied request that is counted moves TAT too, to at most burst*T ahead.
type gcra struct {
	n, per, limit uint64
	burst         int64
	// missing is how far ahead TAT is at the start.
	missing uint64
	all     bool
}

// cellState holds TAT-last in ahead.
type cellState struct {
	last  time.Duration
	ahead uint64
}

func newGCRA(p spec.Policy) *gcra {
	return &gcra{
		n: uint64(p.Rate.N), per: uint64(p.Rate.Per), limit: uint64(p.Burst) * uint64(p.Rate.Per),
		burst:   p.Burst,
		missing: uint64(p.Missing()) * uint64(p.Rate.Per), all: p.Count == spec.CountAll,
	}
}

func (g *gcra) open(at time.Duration) cellState {
	return cellState{last: at, ahead: g.missing}
}

func (g *gcra) advance(s cellState, at time.Duration) cellState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	// This is max(0, ahead - past*n), without a product that overflows.
	if past >= (s.ahead+g.n-1)/g.n {
		return cellState{last: at}
	}
	return cellState{last: at, ahead: s.ahead - past*g.n}
}

func (g *gcra) wait(s cellState, cost int64) time.Duration {
	if cost > g.burst {
		return Never
	}
	room := g.limit - uint64(cost)*g.per
	if s.ahead <= room {
		return 0
	}
	return time.Duration((s.ahead - room + g.n - 1) / g.n)
}

func (g *gcra) charge(s cellState, cost int64, allow bool) (cellState, time.Duration) {
	if allow || g.all {
		s.ahead = min(g.limit, s.ahead+uint64(min(cost, g.burst))*g.per)
	}
	return s, 0
}

func (g *gcra) view(s cellState) (int64, time.Duration) {
	return int64((g.limit - s.ahead) / g.per), time.Duration((s.ahead + g.n - 1) / g.n)
}
