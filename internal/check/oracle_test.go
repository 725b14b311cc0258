package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// oracle decides by exhaustion whether a machine can give the observed outcomes. It tries all orders and all
// decision times inside the intervals, in whole nanoseconds. A request without an outcome may have been
// decided either way, or never have arrived. It shares no code with the bounds or the search.
//
// It walks through time nanosecond by nanosecond, with the set of all (decided requests, memory) that can be
// reached. It takes three shortcuts:
//
//   - A node that was reached stays: time alone changes no memory.
//   - Of requests with the same outcome and cost, the one whose interval ends first is decided first: any
//     other order can be exchanged for this one. The exception is a queue that forgets, as it may let a later
//     decision through first.
//   - Some machines never change their memory on a denial, unless it is the first request. For these a denial
//     that leaves the memory as it is is decided as soon as it can be.
type oracle struct {
	m    machine
	reqs []request
	// overtaking is set for a queue that forgets.
	overtaking bool
	// nodes are the nodes reached and not dead. seen holds all nodes of this round.
	nodes []node
	seen  nodeSet
	goal  uint16
	// begun are the requests whose intervals have begun. open are those whose intervals have not ended
	// either. first[k] are those that must be decided before k while both are open.
	begun, open uint16
	first       []uint16
}

type request struct {
	s, e, cost int64
	outcome    timeline.Outcome
}

type node struct {
	done uint16
	m    memory
}

// requestsOf reads the observations of one partition. It widens each interval by wide nanoseconds at both
// ends.
func requestsOf(obs []timeline.Observation, end time.Duration, wide int64) []request {
	out := make([]request, len(obs))
	for i, o := range obs {
		e := int64(end)
		if o.Answered && o.Outcome != timeline.Unknown {
			e = int64(o.FirstByte)
		}
		out[i] = request{int64(o.Sent) - wide, e + wide, o.Cost, o.Outcome}
	}
	return out
}

// explains tells whether m can have given the observed outcomes.
func (o *oracle) explains(m machine, reqs []request) bool {
	o.m, o.reqs, o.goal = m, reqs, 0
	var points []int64
	o.first = o.first[:0]
	for i, r := range reqs {
		points = append(points, r.s, r.e)
		if r.outcome != timeline.Unknown {
			o.goal |= 1 << i
		}
		o.first = append(o.first, o.before(i))
	}
	slices.Sort(points)
	points = slices.Compact(points)
	o.nodes = append(o.nodes[:0], node{m: m.newborn()})
	for k, t := range points {
		o.renew(t)
		next := t + 1
		if k+1 < len(points) {
			next = points[k+1]
		}
		for ; t < next; t++ {
			o.look(t)
			if o.decide(t) {
				return true
			}
			if t == points[k] && !o.expire(t) || !o.waiting(t) {
				break
			}
		}
		if len(o.nodes) == 0 {
			return false
		}
	}
	return false
}

// renew drops the part of the past that no longer matters: memories that cannot be told apart become one.
func (o *oracle) renew(t int64) {
	o.seen.clear()
	keep := o.nodes[:0]
	for _, n := range o.nodes {
		n.m = o.m.settle(n.m, t)
		if o.seen.add(n) {
			keep = append(keep, n)
		}
	}
	o.nodes = keep
}

// waiting tells whether any request can be decided after t.
func (o *oracle) waiting(t int64) bool {
	for _, r := range o.reqs {
		if r.s <= t && r.e > t {
			return true
		}
	}
	return false
}

// decide adds every node to which decisions at t lead, and tells whether all requests are explained.
func (o *oracle) decide(t int64) bool {
	for i := 0; i < len(o.nodes); i++ {
		if o.step(i, t) {
			return true
		}
	}
	return false
}

// step tries the decisions of node i at t.
func (o *oracle) step(i int, t int64) bool {
	for again := true; again; {
		again = false
		n := o.nodes[i]
		if n.done&o.goal == o.goal {
			return true
		}
		from := t
		if c, ok := o.m.(stale); ok {
			from = c.earliest(n.m, t)
			n.m = c.shows(n.m, from) // time alone has moved the clock this far
		}
		moved := []memory{n.m}
		if c, ok := o.m.(clocked); ok {
			moved = c.moves(n.m, t)
		}
		for k := range o.reqs {
			if o.open&^n.done&(1<<k) == 0 || o.first[k]&o.begun&^n.done != 0 {
				continue
			}
			for reading := from; reading <= t && !again; reading++ {
				for _, m := range moved {
					again = again || o.answer(i, node{n.done, m}, k, reading)
				}
			}
			if again {
				break
			}
		}
	}
	return false
}

// answer tries request k at node n, which comes from node i, when the limiter reads the instant reading. It
// returns true if this changed nothing but which requests are decided. Node i is then replaced by the result.
func (o *oracle) answer(i int, n node, k int, reading int64) bool {
	r := o.reqs[k]
	allow := o.m.admits(n.m, reading, r.cost)
	if allow && r.outcome == timeline.Denied || !allow && r.outcome == timeline.Allowed {
		return false
	}
	late := int64(0) // the turn of a request may come this long after its answer
	if c, ok := o.m.(stale); ok {
		late = c.lag
	}
	if allow && r.outcome == timeline.Allowed && reading+o.m.delay(n.m, reading) > r.e+late {
		return false // it was answered before a queue would have let it through
	}
	to := node{n.done | 1<<k, o.m.after(n.m, reading, r.cost, allow)}
	if !allow && to.m == n.m && r.outcome == timeline.Unknown {
		return false // it may as well never arrive
	}
	if !allow && to.m == n.m && n.m == o.nodes[i].m && !o.m.counts() {
		o.nodes[i] = to
		o.seen.add(to)
		return true
	}
	if o.seen.add(to) {
		o.nodes = append(o.nodes, to)
	}
	return false
}

// before returns the requests like k whose intervals end before that of k, as a set of bits.
func (o *oracle) before(k int) (out uint16) {
	for j, r := range o.reqs {
		if !o.overtaking && r.outcome == o.reqs[k].outcome && r.cost == o.reqs[k].cost &&
			(r.e < o.reqs[k].e || r.e == o.reqs[k].e && j < k) {
			out |= 1 << j
		}
	}
	return out
}

// look tells which requests have begun, and are open, at t.
func (o *oracle) look(t int64) {
	o.begun, o.open = 0, 0
	for i, r := range o.reqs {
		if r.s <= t {
			o.begun |= 1 << i
			if r.e >= t {
				o.open |= 1 << i
			}
		}
	}
}

// expire drops the nodes in which a request that had to be decided by t is not. It tells whether any node is
// left.
func (o *oracle) expire(t int64) bool {
	var must uint16
	for i, r := range o.reqs {
		if r.e <= t && r.outcome != timeline.Unknown {
			must |= 1 << i
		}
	}
	o.nodes = slices.DeleteFunc(o.nodes, func(n node) bool { return n.done&must != must })
	return len(o.nodes) > 0
}

// nodeSet is a set of nodes that can be emptied in constant time.
type nodeSet struct {
	at    []node
	round []uint32
	now   uint32
	size  int
}

func (s *nodeSet) clear() {
	if s.at == nil {
		s.at, s.round = make([]node, 1<<6), make([]uint32, 1<<6)
	}
	s.now++
	s.size = 0
}

// add adds n and tells whether it is new.
func (s *nodeSet) add(n node) bool {
	if 2*s.size > len(s.at) {
		old, round := s.at, s.round
		s.at, s.round, s.size = make([]node, 2*len(old)), make([]uint32, 2*len(old)), 0
		for i := range old {
			if round[i] == s.now {
				s.add(old[i])
			}
		}
	}
	h := uint64(n.done)
	for _, word := range n.m {
		h = (h ^ uint64(word)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for i := h % uint64(len(s.at)); ; i = (i + 1) % uint64(len(s.at)) {
		if s.round[i] != s.now {
			s.at[i], s.round[i] = n, s.now
			s.size++
			return true
		}
		if s.at[i] == n {
			return false
		}
	}
}

// phaseBox returns the phases, in nanoseconds, that a policy and a header leave open. For a policy without
// windows that is one phase.
func phaseBox(p spec.Policy, h timeline.Header) (from, to int64) {
	size := int64(p.ShortestWindow())
	switch {
	case !p.Windowed() || p.Align == spec.AlignFirst:
		return 0, 0
	case p.Align == spec.AlignUnknown || p.Align == spec.AlignShared || p.Align == spec.AlignClock &&
		h.Started.IsZero():
		return 0, size - 1
	case p.Align == spec.AlignPhase:
		return int64(p.PhaseFrom), int64(p.PhaseTo)
	}
	begin := history.Mod(-h.Started.UnixNano(), size)
	return begin - int64(h.WallError), begin + int64(h.WallError)
}

// feasible asks the oracle whether a limit explains a timeline.
func feasible(t *testing.T, tl *timeline.Timeline, limit ...spec.Policy) bool {
	t.Helper()
	machines := machinesOf(t, limit, func(p spec.Policy) (from, to int64) { return phaseBox(p, tl.Header) })
	var parts [][]request
	for _, p := range tl.ByPartition() {
		parts = append(parts, requestsOf(p.Observations, tl.End(), int64(tl.Header.ClockError)))
	}
	o := oracle{overtaking: forgetsQueue(limit)}
	each := func(parts [][]request) bool {
		return slices.ContainsFunc(machines, func(m machine) bool {
			return !slices.ContainsFunc(parts, func(reqs []request) bool { return !o.explains(m, reqs) })
		})
	}
	if limit[0].Align != spec.AlignUnknown { // all partitions share one phase
		return each(parts)
	}
	for i := range parts {
		if !each(parts[i : i+1]) {
			return false
		}
	}
	return true
}

// forgetsQueue tells whether any policy is a queue that is forgotten.
func forgetsQueue(limit spec.Limit) bool {
	return slices.ContainsFunc(limit,
		func(p spec.Policy) bool { return p.Algorithm == spec.LeakyBucketQueue && p.TTL > 0 })
}

// plain is the oracle without any shortcut, over internal/reference. It tries every order and every time. The
// clock of the limiter may stand still for as long as lag.
type plain struct {
	lim  reference.Limiter
	lag  int64
	reqs []request
	seen map[plainNode]bool
}

// plainNode is what was decided by the instant at. The clock showed the instant read last.
type plainNode struct {
	done     uint32
	at, read int64
	state    reference.State
}

func (o *plain) search(n plainNode) bool {
	if n.done == 1<<len(o.reqs)-1 {
		return true
	}
	if o.seen[n] {
		return false
	}
	o.seen[n] = true
	n.read = max(n.read, n.at-o.lag)
	for i, r := range o.reqs {
		if n.done&(1<<i) != 0 {
			continue
		}
		if r.outcome == timeline.Unknown && o.search(plainNode{n.done | 1<<i, n.at, n.read, n.state}) {
			return true // it never arrived
		}
		if r.e < n.at {
			return false
		}
		if r.s > n.at {
			continue
		}
		for read := n.read; read <= n.at; read++ {
			s, d := o.lim.Step(n.state, time.Duration(read), r.cost)
			fits := r.outcome == timeline.Unknown || d.Allow == (r.outcome == timeline.Allowed)
			if r.outcome == timeline.Allowed && read+int64(d.Delay) > r.e+o.lag {
				fits = false
			}
			if fits && o.search(plainNode{n.done | 1<<i, n.at, read, s}) {
				return true
			}
		}
	}
	n.at++
	return o.search(n)
}

// TestOracleAgreesWithThePlainOne compares the machines and shortcuts of the oracle with the reference
// limiters and no shortcuts.
func TestOracleAgreesWithThePlainOne(t *testing.T) {
	saysReplay(t)
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for name, limit := range everySmallLimit() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 5))
			yes, no := 0, 0
			for round := range rounds {
				known := knownLimit(r, limit)
				lim, err := reference.NewLimit(known)
				if err != nil {
					t.Fatal(err)
				}
				tl := randomHistory(r, lim,
					shape{requests: 3 + r.IntN(3), gap: 12, late: []int{0, 4, 16, 24}[r.IntN(4)],
						costs: round%3 == 0})
				reqs := requestsOf(tl.Observations, tl.End(), 0)
				fast := oracle{overtaking: forgetsQueue(limit)}
				ms := machinesOf(t, known,
					func(p spec.Policy) (from, to int64) { return phaseBox(p, tl.Header) })
				got := fast.explains(ms[0], reqs)
				exact := slices.Clone(known)
				lag := int64(exact[0].Tick)
				exact[0].Tick, exact[0].TickSet = 0, false // the oracle tries each instant
				if lim, err = reference.NewLimit(exact); err != nil {
					t.Fatal(err)
				}
				want := (&plain{lim, lag, reqs, map[plainNode]bool{}}).search(plainNode{at: 0, read: -lag,
					state: lim.Init()})
				if got != want {
					t.Fatalf("round %d: got %v, want %v:\n%s\n%s", round, got, want, known, draw(tl))
				}
				if want {
					yes++
				} else {
					no++
				}
			}
			if yes == 0 || no == 0 {
				t.Fatalf("%d explained, %d not: one side was not tried", yes, no)
			}
		})
	}
}

// knownLimit chooses one of the phases, start levels, bans and times to live that a limit leaves open. Where
// nothing is known of the start level it chooses a full one.
func knownLimit(r *rand.Rand, limit spec.Limit) spec.Limit {
	limit = slices.Clone(limit)
	for i := range limit {
		p := &limit[i]
		if p.Start == spec.StartUnknown {
			p.Start = spec.StartFull
		}
		if p.BurstTo > 0 {
			*p = p.WithFull(p.Burst + r.Int64N(p.BurstTo-p.Burst+1))
		}
		if p.Algorithm == spec.Concurrency && p.RateTo > 0 {
			*p = p.WithFull(p.Rate.N + r.Int64N(p.RateTo-p.Rate.N+1))
		}
		if p.LevelTo > 0 {
			p.Level, p.LevelTo = p.Level+r.Int64N(p.LevelTo-p.Level+1), 0
		}
		if p.BanTo > 0 {
			p.Ban, p.BanTo = p.Ban+time.Duration(r.Int64N(int64(p.BanTo-p.Ban)+1)), 0
		}
		if p.TTLTo > 0 {
			p.TTL, p.TTLTo = p.TTL+time.Duration(r.Int64N(int64(p.TTLTo-p.TTL)+1)), 0
		}
		if p.Windowed() && p.Align != spec.AlignFirst {
			from, to := phaseBox(*p, timeline.Header{})
			p.Align, p.PhaseFrom = spec.AlignPhase, time.Duration(from+r.Int64N(to-from+1))
			p.PhaseTo = p.PhaseFrom
		}
	}
	return limit
}

// TestOracleKeepsCountedDenials: a denial may change nothing where it could first be decided, and yet be
// needed to fill a later window.
func TestOracleKeepsCountedDenials(t *testing.T) {
	p := smallLimits()["fixed window, counts all"][0] // 2 each 20 ns, from 7 ns on
	tl := &timeline.Timeline{}
	for i, r := range []request{
		{5, 9, 2, timeline.Allowed}, {20, 56, 2, timeline.Denied}, {21, 21, 1, timeline.Denied},
		// after the second, decided at 27 or later
		{25, 34, 1, timeline.Allowed}, {39, 46, 1, timeline.Denied},
	} {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: r.cost},
				Sent: time.Duration(r.s), FirstByte: time.Duration(r.e), Answered: true, Outcome: r.outcome})
	}
	tl.Header.Ended = tl.End()
	if !feasible(t, tl, p) {
		t.Errorf("got infeasible, want feasible:\n%s", draw(tl))
	}
}
