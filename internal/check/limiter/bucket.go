package limiter

import (
	"math/big"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var bucketKind = kind{
	counting: func(p spec.Policy, _ history.Interval) counting { return NewBucket(p) },
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newRefillModel(p)
	},
}

// Bucket is the bound of the token bucket, GCRA and the leaky bucket as a meter, which are one limiter (ITU-T
// I.371; docs/theory.md, section 3). It holds B units and gains one unit every T = per/n nanoseconds. All
// times are multiplied by n, so that T is the integer per and nothing rounds.
//
//	over:   J[x,y] * per <= B*per + (y-x)*n                     for all x <= y
//	under:  max(t if p > 0, R(t)) + p*per + (c-1)*per > t + tau  for some t in the denial's interval, tau =
//	        (B-1)*per
//
// J[x,y] counts the units admitted certainly inside [x,y]. R(t) is the latest theoretical arrival time that
// admissions which ended before t can leave. p counts the units that may be decided at t.
//
//	units certainly inside [x,y]       x [--a--] [-b-]   [---c---] y       J = a + b + c
//	units that reach over an end   [--d--]                   [----e----]   d and e do not count
type Bucket struct {
	N, Per, Burst int64
	// batch is how many units are refilled at once, 1 for continuous refill. batched: they come in batches.
	batch   int64
	batched bool
	// startLeast and StartMost bound the units in the bucket when the first request creates it.
	startLeast, StartMost int64
	// all: a denied request takes the units left, up to its cost. The bound on admissions ignores that.
	all bool
	// singly: every admission counts one unit, and was released up to late nanoseconds after its End. This is
	// the release side of a queue.
	singly bool
	late   int64
}

// NewBucket returns the bound of a bucket or queue without ranges.
func NewBucket(p spec.Policy) Bucket {
	n, per := p.Rate.N, int64(p.Rate.Per)
	shared := history.Gcd(n, per)
	n, per = n/shared, per/shared
	b := Bucket{N: n, Per: per, Burst: p.Full(), batch: 1, all: p.Count == spec.CountAll}
	b.startLeast, b.StartMost = p.StartLevels()
	if p.Refill == spec.RefillInterval {
		b.batch, b.batched = max(p.Fill, 1), true
	}
	return b
}

// Fits tells whether the products of b stay below 2^61. span is the length of the recording in nanoseconds.
func (b Bucket) Fits(span int64, units int64) bool {
	limit := big.NewInt(history.MaxTime / 4)
	product := func(x, y int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(y)) }
	return product(span, b.N).Cmp(limit) < 0 && product(b.Burst+units, b.Per).Cmp(limit) < 0
}

// Over implements Bound.
func (b Bucket) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, b.Burst); br != nil && !b.singly {
		return br
	}
	if b.StartMost < b.Burst && !h.Joined(history.MaxTime) { // else it was created before
		if br := b.overSinceCreated(h); br != nil {
			return br
		}
	}
	if p := b.peak(h, b.Room()); p.over > b.Room() {
		return b.tightest(h, p.end)
	}
	return nil
}

// units returns how many units an admission counts.
func (b Bucket) units(ev *history.Event) int64 {
	if b.singly {
		return 1
	}
	return ev.Cost
}

// end returns the latest instant of an admission.
func (b Bucket) end(ev *history.Event) int64 { return ev.End + b.late }

// Room returns the most that a span of length L may admit, less L*n. Continuous refill: the burst. With
// batches the span gets up to ceil(L/I) of them, I apart. As ceil(a/b) = floor((a+b-1)/b), that is one batch
// more, less the smallest part.
func (b Bucket) Room() int64 {
	if b.batched {
		return (b.Burst+b.batch)*b.Per - 1
	}
	return b.Burst * b.Per
}

// tightest returns the breach that ends at y and starts latest, so with the fewest admissions.
func (b Bucket) tightest(h *history.History, y int64) *Breach {
	n, units := 0, int64(0)
	for i := len(h.Admitted) - 1; i >= 0; i-- {
		ev := &h.Admitted[i]
		if b.end(ev) > y {
			continue
		}
		n++
		units += b.units(ev)
		if units*b.Per-(y-ev.Start)*b.N > b.Room() {
			return &Breach{Kind: result.OverAdmission, Seen: units, Bound: b.most(y - ev.Start),
				Span: y - ev.Start, Events: endedBy(h.Admitted[i:], y-b.late, n)}
		}
	}
	panic("check: a violated span vanished")
}

// most returns the most units that can be admitted within a closed span, in nanoseconds.
func (b Bucket) most(span int64) int64 {
	return (b.Room() + span*b.N) / b.Per
}

// overSinceCreated bounds the admissions since the bucket was created. It held at most StartMost units then.
// The earliest instant of its creation is the Start of the first request.
func (b Bucket) overSinceCreated(h *history.History) *Breach {
	if len(h.All) == 0 {
		return nil
	}
	first := h.All[0].Start
	var units int64
	for k, i := range h.AdmittedByEnd {
		units += b.units(&h.Admitted[i])
		span := b.end(&h.Admitted[i]) - first
		if most := b.StartMost + (span*b.N+(b.batch-1)*b.Per)/b.Per; units > most {
			br := &Breach{Kind: result.OverAdmission, Seen: units, Bound: most, Span: span,
				Creator: &h.All[0]}
			for _, j := range h.AdmittedByEnd[:k+1] {
				br.Events = append(br.Events, h.Admitted[j])
			}
			return br
		}
	}
	return nil
}

// bucketMeter follows R(t) and p. Its times are multiplied by n, but from is not.
type bucketMeter struct {
	Bucket
	inUse // used is p
	// tat is R(t).
	tat int64
	// from is the last instant at which a missing request may have left the bucket empty; MinTime: none can.
	from int64
}

// Usage implements Bound.
func (b Bucket) Usage(h *history.History) Meter {
	m := &bucketMeter{Bucket: b, inUse: inUse{starts: h.Counted(b.all), ends: h.CountedEnds(b.all)}}
	m.tat, m.from = history.MinTime, history.MinTime
	switch {
	case h.Joined(b.memory()):
		m.tat, m.from = b.joined(h)
	case b.startLeast < b.Burst && len(h.All) > 0:
		m.tat = b.created(h, b.startLeast)
	}
	return m
}

// joined returns the latest theoretical arrival time that missing requests can leave, and the instant from
// which none is missing. The bucket may be empty at that instant, and when the first request of h is decided.
func (b Bucket) joined(h *history.History) (tat, from int64) {
	from = h.All[0].From()
	return max(b.created(h, 0), from*b.N+b.Burst*b.Per), from
}

// created returns the latest theoretical arrival time of a bucket that holds level units when the first
// request of h is decided.
func (b Bucket) created(h *history.History, level int64) int64 {
	return h.FirstEnd()*b.N + (b.Burst-level)*b.Per
}

func (m *bucketMeter) Unit() int64 { return m.Per }

func (m *bucketMeter) Excess(t int64) int64 {
	tau := (m.Burst - 1) * m.Per
	m.begin(t)
	for ; len(m.ends) > 0 && m.ends[0].End < t; m.ends = m.ends[1:] {
		e := m.ends[0]
		m.used -= e.Cost
		m.tat = min(max(e.End*m.N, m.tat)+e.Cost*m.Per, max(e.End, m.from)*m.N+tau+m.Per)
	}
	at := m.tat
	if m.used > 0 {
		at = max(at, t*m.N)
	}
	// Usage is never negative: a request that costs more than the burst is denied by an idle bucket too.
	return max(at+(m.used+m.batch-1)*m.Per-t*m.N, 0) - tau
}

func (b Bucket) memory() int64 { return (b.Burst+b.batch)*b.Per/b.N + 1 }

// Scope implements Bound.
func (b Bucket) Scope() Scope { return Scope{Memory: b.memory(), Full: b.Burst, All: b.all} }

// bucketModel is a bucket with continuous refill, or a queue. Its state is TAT, the theoretical arrival time.
type bucketModel struct {
	base
	Bucket
	scale int64
	// queued: a request is released T after the one in front of it; the first `undelayed` of a burst do not
	// wait.
	queued    bool
	undelayed int64
	// late is how long after its answer a request may be released, scaled.
	late int64
}

// mostRests is the largest n for which the state keeps the fraction of TAT below one nanosecond, in n-ths.
// For a larger n times are multiplied by n.
const mostRests = 16

// newRefillModel returns the model of a bucket or a queue, with continuous refill or batches.
func newRefillModel(p spec.Policy) Model {
	if p.Refill == spec.RefillInterval {
		return newBatchModel(p)
	}
	return newBucketModel(p)
}

func newBucketModel(p spec.Policy) bucketModel {
	b := bucketModel{Bucket: NewBucket(p), scale: 1, queued: p.Queued(), undelayed: p.Undelayed,
		late: int64(p.Tick)}
	if b.N > mostRests {
		b.scale, b.late, b.N = b.N, b.late*b.N, 1
	}
	return b
}

func (b bucketModel) Traits() Traits {
	return Traits{Scale: b.scale, Counted: b.all, Created: b.startLeast < b.Burst}
}

func (b bucketModel) Scaled(k int64) Model {
	b.scale *= k
	b.Per *= k
	b.late *= k
	return b
}

// plain: the bucket is created full, and no time has a fraction.
func (b bucketModel) plain() bool { return b.startLeast == b.Burst && b.N == 1 }

func (b bucketModel) Start(begin int64) State {
	m := State{Zone: NewZone(begin, begin)}
	if !b.plain() {
		m.Counts = make([]int64, 2)
		if b.startLeast == b.Burst {
			m.Counts[wasCreated] = 1
		}
	}
	return m
}

// created returns the states of a bucket that exists. If the present request creates it, lo..hi bounds the
// units in use, multiplied by per.
func (b bucketModel) created(m State, lo, hi int64) []State {
	if b.plain() || *m.count(wasCreated) == 1 {
		return []State{m}
	}
	lo, hi = max(lo, (b.Burst-b.StartMost)*b.Per), min(hi, (b.Burst-b.startLeast)*b.Per)
	var out []State
	for r := range b.N {
		from, to := -history.FloorDiv(r-lo, b.N), history.FloorDiv(hi-r, b.N)
		if from > to {
			continue
		}
		one := m.Clone()
		one.Zone.Spread(tat, ZoneNow, from, to)
		*one.count(wasCreated), *one.count(rest) = 1, r
		out = append(out, one)
	}
	return out
}

// rest returns the fraction of TAT, in n-ths of a scaled nanosecond: TAT is the time tat plus this.
func (b bucketModel) rest(m State) int64 {
	if b.plain() {
		return 0
	}
	return *m.count(rest)
}

// raise adds a number of n-ths to TAT.
func (b bucketModel) raise(m State, by int64) {
	by += b.rest(m)
	m.Zone.Shift(tat, history.FloorDiv(by, b.N))
	if !b.plain() {
		*m.count(rest) = history.Mod(by, b.N)
	}
}

// become sets TAT to the present plus a number of n-ths.
func (b bucketModel) become(m State, ahead int64) {
	m.Zone.Set(tat, ZoneNow, 0)
	if !b.plain() {
		*m.count(rest) = 0
	}
	b.raise(m, ahead)
}

// Admit: TAT + (c-1)T <= now + tau; then TAT' = max(now, TAT) + cT. A queue releases the request by its
// answer.
func (b bucketModel) Admit(m State, a Request) []State {
	if a.Cost > b.Burst {
		return nil
	}
	var out []State
	room := (b.Burst - a.Cost) * b.Per
	for _, m := range b.created(m, 0, room) {
		r := b.rest(m)
		if !m.Zone.Limit(tat, ZoneNow, history.FloorDiv(room-r, b.N)) || !b.released(m, a.End) {
			continue
		}
		idle := m.Clone()
		if idle.Zone.Limit(tat, ZoneNow, history.FloorDiv(-r, b.N)) {
			b.become(idle, a.Cost*b.Per)
			out = append(out, idle)
		}
		if m.Zone.Limit(ZoneNow, tat, history.FloorDiv(r-1, b.N)) {
			b.raise(m, a.Cost*b.Per)
			out = append(out, m)
		}
	}
	return out
}

// Pass creates the bucket if need be. Where denied requests count, the request takes its cost.
func (b bucketModel) Pass(m State, a Request) []State {
	switch {
	case a.Cost > b.Burst:
		return nil
	case b.all:
		return b.Admit(m, Request{a.Cost, history.MaxTime}) // it is not waited for
	}
	var out []State
	room := (b.Burst - a.Cost) * b.Per
	for _, m := range b.created(m, 0, room) {
		out = append(out, onlyIf(m.Zone.Limit(tat, ZoneNow, history.FloorDiv(room-b.rest(m), b.N)), m)...)
	}
	return out
}

// released limits m to where a queue releases the request by end: at TAT - undelayed*T, or at once.
func (b bucketModel) released(m State, end int64) bool {
	return !b.queued || end == history.MaxTime ||
		m.Zone.Limit(tat, 0, end+b.late+history.FloorDiv(b.undelayed*b.Per-b.rest(m), b.N))
}

// Deny: max(now, TAT) + (c-1)T > now + tau. A denial that counts takes the units left.
func (b bucketModel) Deny(m State, a Request) []State {
	least := (b.Burst-a.Cost)*b.Per + 1 // of the units in use
	if a.Cost > b.Burst {
		least = 0
	}
	var out []State
	for _, m := range b.created(m, least, b.Burst*b.Per) {
		if a.Cost <= b.Burst && !m.Zone.Limit(ZoneNow, tat, history.FloorDiv(b.rest(m)-least, b.N)) {
			continue
		}
		if b.all {
			b.become(m, b.Burst*b.Per)
		}
		out = append(out, m)
	}
	return out
}

// Forget: once TAT has passed at lo, its value does not matter. Where TAT may have passed, and only the
// present is related to it, its lower bound does not matter.
func (b bucketModel) Forget(m State, lo int64) {
	if !b.plain() && *m.count(wasCreated) == 0 {
		return
	}
	if b.rest(m) > 0 {
		lo--
	}
	switch {
	case m.Zone.Bound(tat, 0) <= lo:
		m.Zone.Free(tat, lo)
		if !b.plain() {
			*m.count(rest) = 0
		}
	case m.Zone.N == tat+1 && -m.Zone.Bound(0, tat) <= lo:
		m.Zone.At[0*m.Zone.N+tat] = NoBound
	}
}

// tat is the index of TAT, the theoretical arrival time, rounded down to a scaled nanosecond. A bucket that
// is not plain has two counts. wasCreated is 1 once a request has created it. rest is the fraction: TAT = tat
// + rest/n.
const (
	tat        = FirstVariable
	wasCreated = 0
	rest       = 1
)

var queueKind = kind{
	bound: func(p spec.Policy, _ history.Interval, _ bool) Bound {
		return newQueue(p)
	},
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newRefillModel(p)
	},
}

// queue is the bound of the leaky bucket as a queue. A bucket of queue+1 units decides the entry. Requests in
// the queue are released one every T. A release lies in the interval of the answer too. So a span has at most
// 1 + floor((y-x)/T) releases, plus the undelayed part.
//
// The turn of a request is fixed when it is decided, so a late release moves no other release. But several
// workers may share a queue, each with its own clock. A worker whose clock reads up to a tick less than the
// newest clock releases its requests that much early. So a turn may lie up to a tick after the answer, and a
// span of releases is longer by a tick. That costs a tick of resolution.
type queue struct{ entry, release Bucket }

func newQueue(p spec.Policy) queue {
	entry := NewBucket(p)
	release := entry
	release.Burst = 1 + p.Undelayed
	// less the requests in front of the first
	release.StartMost = max(release.Burst-(entry.Burst-entry.StartMost), 0)
	release.singly, release.late = true, int64(p.Tick)
	return queue{entry, release}
}

// Ticked returns limit with the tick of the recording for each queue that names no tick. Their bound needs a
// tick.
func Ticked(limit spec.Limit, h timeline.Header) spec.Limit {
	unticked := func(p spec.Policy) bool { return p.Queued() && !p.TickSet }
	if h.Tick == 0 || !slices.ContainsFunc(limit, unticked) {
		return limit
	}
	limit = slices.Clone(limit)
	for i := range limit {
		if p := &limit[i]; unticked(*p) {
			p.Tick = h.Tick
		}
	}
	return limit
}

func (q queue) Over(h *history.History) *Breach {
	if br := q.entry.Over(h); br != nil {
		return br
	}
	return q.release.Over(h)
}

func (q queue) Usage(h *history.History) Meter { return q.entry.Usage(h) }

func (q queue) Scope() Scope { return q.entry.Scope() }
