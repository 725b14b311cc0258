package limiter

import (
	"math/big"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

var bucketKind = kind{
	fits:     spec.Policy.Bucketed,
	counting: func(p spec.Policy, _ history.Interval) counting { return NewBucket(p) },
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newRefillModel(p)
	},
}

// Bucket is the bound of the token bucket, GCRA and the leaky bucket as a meter, which are one limiter:
// capacity B units, one unit every T = per/n nanoseconds. All times are multiplied by n, so that T is the
// integer per and nothing rounds.
//
//	over:   J[x,y] * per <= B*per + (y-x)*n                     for all x <= y
//	under:  max(t if p > 0, R(t)) + p*per + (c-1)*per > t + tau  for some t in the denial's interval, tau =
//	        (B-1)*per
//
// J[x,y] counts the units admitted certainly inside [x,y]; R(t) is the latest theoretical arrival time that
// admissions which ended before t can leave, p the units of those that may be decided at t.
type Bucket struct {
	N, Per, Burst int64
	// batch is the number of units refilled at once, 1 for continuous refill; batched tells that they come in
	// batches.
	batch   int64
	batched bool
	// startLeast and startMost are the fewest and the most units that the bucket may hold when its first
	// request creates it.
	startLeast, StartMost int64
	// all: a denied request takes the units left, up to its cost. Admissions are then bounded as without.
	all bool
	// singly counts every admission as one unit, and it may have been so much later than it ended as late, in
	// nanoseconds: those that a queue lets through.
	singly bool
	late   int64
}

// NewBucket returns the bound of a policy of that kind, without ranges.
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

// Fits tells whether the products of b stay below 2^61 for a recording that lasts `span` nanoseconds.
func (b Bucket) Fits(span int64, units int64) bool {
	limit := big.NewInt(history.MaxTime / 4)
	product := func(x, y int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(y)) }
	return product(span, b.N).Cmp(limit) < 0 && product(b.Burst+units, b.Per).Cmp(limit) < 0
}

// Over takes the history as one block.
func (b Bucket) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, b.Burst); br != nil && !b.singly {
		return br
	}
	if b.StartMost < b.Burst && !h.Joined(history.MaxTime) { // else it was created before
		if br := b.overSinceCreated(h); br != nil {
			return br
		}
	}
	// the admissions alone begin spans
	whole := Block{h.Admitted, h.Admitted, h.AdmittedByEnd, history.MaxTime, history.MaxTime}
	sweep := bucketSweep{b, candidatesFor(len(h.Admitted), b.N)}
	a := sweep.Take(whole)
	if sweep.c.free(); a != nil {
		return b.tightest(h, a.To+b.late)
	}
	return nil
}

// units returns what an admission counts, and end when it was at the latest.
func (b Bucket) units(ev *history.Event) int64 {
	if b.singly {
		return 1
	}
	return ev.Cost
}

func (b Bucket) end(ev *history.Event) int64 { return ev.End + b.late }

// Room is the volume that a span has room for, less what comes back continuously meanwhile: the burst. Where
// units come in batches a span of L has up to ceil(L/I) of them, I the time between two: ceil(a/b) =
// floor((a+b-1)/b), so that it is one batch more, less the smallest part.
func (b Bucket) Room() int64 {
	if b.batched {
		return (b.Burst+b.batch)*b.Per - 1
	}
	return b.Burst * b.Per
}

// tightest returns the breach that ends at y with the latest start, which has the fewest admissions.
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
			return &Breach{Kind: verdict.OverAdmission, Seen: units, Bound: b.most(y - ev.Start),
				Span: y - ev.Start, Events: endedBy(h.Admitted[i:], y-b.late, n)}
		}
	}
	panic("check: a violated span vanished")
}

// most returns the most units that can be admitted within a closed span of the given length in nanoseconds.
func (b Bucket) most(span int64) int64 {
	return (b.Room() + span*b.N) / b.Per
}

// overSinceCreated bounds the admissions since the bucket was created, at the earliest at the first start,
// with no more than startMost units.
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
			br := &Breach{Kind: verdict.OverAdmission, Seen: units, Bound: most, Span: span,
				Creator: &h.All[0]}
			for _, j := range h.AdmittedByEnd[:k+1] {
				br.Events = append(br.Events, h.Admitted[j])
			}
			return br
		}
	}
	return nil
}

// bucketMeter follows R(t) and p. Times inside are scaled by n.
type bucketMeter struct {
	Bucket
	starts []history.Event
	ends   []history.Ending
	i, k   int
	// tat is R(t), pending is p.
	tat, pending int64
	// from is when requests that are missing may have left the bucket empty; MinTime where none can.
	from int64
}

// Usage implements Bound.
func (b Bucket) Usage(h *history.History) Meter { return b.meter(h) }

func (b Bucket) meter(h *history.History) *bucketMeter {
	m := &bucketMeter{Bucket: b, starts: h.Counted(b.all), ends: h.CountedEnds(b.all)}
	m.tat, m.from = history.MinTime, history.MinTime
	switch {
	case h.Level != nil:
		m.tat = b.handed(h.Level)
		// it has those that another policy keeps in the piece
		for ; m.k < len(m.ends) && m.ends[m.k].End < h.Level.At; m.k++ {
			m.pending -= m.ends[m.k].Cost
		}
	case h.Joined(b.memory()):
		m.tat, m.from = b.joined(h)
	case b.startLeast < b.Burst && len(h.All) > 0:
		m.tat = b.created(h, b.startLeast)
	}
	return m
}

// joined is the latest theoretical arrival time that requests which are missing can leave, and when they may
// have left it: after the first request of h is decided, but not after the last one that is missing.
func (b Bucket) joined(h *history.History) (tat, from int64) {
	from = h.All[0].From()
	return max(b.created(h, 0), from*b.N+b.Burst*b.Per), from
}

// created is the latest theoretical arrival time of a bucket that holds so many units when the first request
// of h is decided.
func (b Bucket) created(h *history.History, level int64) int64 {
	return h.FirstEnd()*b.N + (b.Burst-level)*b.Per
}

func (m *bucketMeter) Unit() int64 { return m.Per }

func (m *bucketMeter) Excess(t int64) int64 {
	tau := (m.Burst - 1) * m.Per
	for ; m.i < len(m.starts) && m.starts[m.i].Start <= t; m.i++ {
		m.pending += m.starts[m.i].Cost
	}
	for ; m.k < len(m.ends) && m.ends[m.k].End < t; m.k++ {
		e := m.ends[m.k]
		m.pending -= e.Cost
		m.tat = min(max(e.End*m.N, m.tat)+e.Cost*m.Per, max(e.End, m.from)*m.N+tau+m.Per)
	}
	at := m.tat
	if m.pending > 0 {
		at = max(at, t*m.N)
	}
	// What is in use is never negative: a request that costs more than the burst is denied by an idle bucket
	// too.
	return max(at+(m.pending+m.batch-1)*m.Per-t*m.N, 0) - tau
}

func (b Bucket) memory() int64 { return (b.Burst+b.batch)*b.Per/b.N + 1 }

// Scope implements Bound.
func (b Bucket) Scope() Scope { return Scope{Memory: b.memory(), Full: b.Burst, All: b.all} }

// bucketModel is a bucket with continuous refill, or a queue.
type bucketModel struct {
	base
	Bucket
	scale int64
	// queued: a request is let through when what was in front of it has been, but for `undelayed` of them.
	queued    bool
	undelayed int64
	// late is how long after its answer its turn may lie, scaled.
	late int64
}

// mostRests is the largest n for which the part of a theoretical arrival time below a unit of time is
// followed; for larger ones times are multiplied by n.
const mostRests = 16

// newRefillModel returns the model of a bucket or a queue that gets its units back one by one, or in batches.
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

// plain: the bucket is full when it is created, and no time is a fraction.
func (b bucketModel) plain() bool { return b.startLeast == b.Burst && b.N == 1 }

func (b bucketModel) Start(begin int64) State {
	m := State{Zone: zone.New(begin, begin)}
	if !b.plain() {
		m.Counts = make([]int64, 2)
		if b.startLeast == b.Burst {
			m.Counts[wasCreated] = 1
		}
	}
	return m
}

// created returns the states of a bucket that exists: those of one that this request creates, with lo..hi
// units times per in use.
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
		one.Zone.Spread(tat, zone.Now, from, to)
		*one.count(wasCreated), *one.count(rest) = 1, r
		out = append(out, one)
	}
	return out
}

// rest returns what the theoretical arrival time is more than tat, in n-ths of a unit of time.
func (b bucketModel) rest(m State) int64 {
	if b.plain() {
		return 0
	}
	return *m.count(rest)
}

// raise adds a number of n-ths to the theoretical arrival time.
func (b bucketModel) raise(m State, by int64) {
	by += b.rest(m)
	m.Zone.Shift(tat, history.FloorDiv(by, b.N))
	if !b.plain() {
		*m.count(rest) = history.Mod(by, b.N)
	}
}

// become makes the theoretical arrival time the present and a number of n-ths.
func (b bucketModel) become(m State, ahead int64) {
	m.Zone.Set(tat, zone.Now, 0)
	if !b.plain() {
		*m.count(rest) = 0
	}
	b.raise(m, ahead)
}

// Admit: TAT + (c-1)T <= now + tau; then TAT' = max(now, TAT) + cT. A queue has let it through by the time it
// was answered.
func (b bucketModel) Admit(m State, a Request) []State {
	if a.Cost > b.Burst {
		return nil
	}
	var out []State
	room := (b.Burst - a.Cost) * b.Per
	for _, m := range b.created(m, 0, room) {
		r := b.rest(m)
		if !m.Zone.Limit(tat, zone.Now, history.FloorDiv(room-r, b.N)) || !b.released(m, a.End) {
			continue
		}
		idle := m.Clone()
		if idle.Zone.Limit(tat, zone.Now, history.FloorDiv(-r, b.N)) {
			b.become(idle, a.Cost*b.Per)
			out = append(out, idle)
		}
		if m.Zone.Limit(zone.Now, tat, history.FloorDiv(r-1, b.N)) {
			b.raise(m, a.Cost*b.Per)
			out = append(out, m)
		}
	}
	return out
}

// Pass creates the bucket, if it is not there; where denied requests are counted it takes what it costs.
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
		out = append(out, onlyIf(m.Zone.Limit(tat, zone.Now, history.FloorDiv(room-b.rest(m), b.N)), m)...)
	}
	return out
}

// released bounds the turn of a request that a queue admits: TAT - undelayed*T, or the present.
func (b bucketModel) released(m State, end int64) bool {
	return !b.queued || end == history.MaxTime ||
		m.Zone.Limit(tat, 0, end+b.late+history.FloorDiv(b.undelayed*b.Per-b.rest(m), b.N))
}

// Deny: max(now, TAT) + (c-1)T > now + tau. A denial that is counted takes the units left.
func (b bucketModel) Deny(m State, a Request) []State {
	least := (b.Burst-a.Cost)*b.Per + 1 // of the units in use
	if a.Cost > b.Burst {
		least = 0
	}
	var out []State
	for _, m := range b.created(m, least, b.Burst*b.Per) {
		if a.Cost <= b.Burst && !m.Zone.Limit(zone.Now, tat, history.FloorDiv(b.rest(m)-least, b.N)) {
			continue
		}
		if b.all {
			b.become(m, b.Burst*b.Per)
		}
		out = append(out, m)
	}
	return out
}

// Forget: a time that has passed at lo is as good as any other. In one that may have passed, the earliest is
// as good as any earlier, where nothing but the present depends on it.
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
		m.Zone.At[0*m.Zone.N+tat] = zone.NoBound
	}
}

// tat is the index of the theoretical arrival time of a bucket, rounded down to the unit of time. Where a
// bucket is not a plain one, its counts are wasCreated, 1 once a request has created it, and rest: the time
// is tat + rest/n units.
const (
	tat        = zone.FirstVariable
	wasCreated = 0
	rest       = 1
)

// handed returns the latest theoretical arrival time of b that never has more in use than l. A bucket that
// was not known to be the same, and may have other units, has as many in use, rounded up.
func (b Bucket) handed(l *history.Level) int64 {
	tat := l.TAT
	if b.N != l.N || b.Per != l.Per {
		units := -history.FloorDiv(l.At*l.N-l.TAT, l.Per)
		tat = l.At*b.N + units*b.Per
	}
	return min(tat, l.At*b.N+b.Burst*b.Per)
}

// mostUsed returns, of the buckets that a policy may be, the one with the most in use: the slowest and
// largest; ok=false where it is no bucket, or counts requests when they are complete.
func mostUsed(p spec.Policy) (b Bucket, ok bool) {
	if p.HasWindow() || p.Completes() {
		return b, false
	}
	if p.Count == spec.CountOwn {
		p.Count = spec.CountAll // as may what it admitted and another policy denied
	}
	return NewBucket(Slowest(p)), true
}

// LevelAt returns what may be in use of a policy's bucket at an instant, of what was decided before for sure;
// nil where it has none, or one that may be created with less than it holds.
func LevelAt(p spec.Policy, h *history.History, t int64) *history.Level {
	b, ok := mostUsed(p)
	if !ok || b.startLeast < b.Burst { // when it was created is not known
		return nil
	}
	m := b.meter(h)
	m.Excess(t)
	return &history.Level{At: t, TAT: max(m.tat, t*b.N), N: b.N, Per: b.Per}
}
