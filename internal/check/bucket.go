package check

import (
	"math/big"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// bucket is the bound of the token bucket, GCRA and the leaky bucket as a meter, which are one limiter:
// capacity B units, one unit every T = per/n nanoseconds. All times are multiplied by n, so that T is the
// integer per and nothing rounds.
//
//	over:   J[x,y] * per <= B*per + (y-x)*n                     for all x <= y
//	under:  max(t if p > 0, R(t)) + p*per + (c-1)*per > t + tau  for some t in the denial's interval, tau =
//	        (B-1)*per
//
// J[x,y] counts the units admitted certainly inside [x,y]; R(t) is the latest theoretical arrival time that
// admissions which ended before t can leave, p the units of those that may be decided at t.
type bucket struct {
	n, per, burst int64
	// batch is the number of units refilled at once, 1 for continuous refill; batched tells that they come in
	// batches.
	batch   int64
	batched bool
	// startLeast and startMost are the fewest and the most units that the bucket may hold when its first
	// request creates it.
	startLeast, startMost int64
	// all: a denied request takes what is there, up to its cost. Admissions are then bounded as without.
	all bool
}

func newBucket(p spec.Policy) bucket {
	n, per := p.Rate.N, int64(p.Rate.Per)
	shared := gcd(n, per)
	n, per = n/shared, per/shared
	b := bucket{n: n, per: per, burst: p.Full(), batch: 1, all: p.Count == spec.CountAll}
	b.startLeast, b.startMost = p.StartLevels()
	if p.Refill == spec.RefillInterval {
		b.batch, b.batched = max(p.Fill, 1), true
	}
	return b
}

// fits tells whether the products of b stay below 2^61 for a recording that lasts `span` nanoseconds.
func (b bucket) fits(span int64, units int64) bool {
	limit := big.NewInt(maxTime / 4)
	product := func(x, y int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(y)) }
	return product(span, b.n).Cmp(limit) < 0 && product(b.burst+units, b.per).Cmp(limit) < 0
}

// over sweeps the instants at which intervals end, keeping the starts that a violated span may still have.
func (b bucket) over(h *history) *breach {
	if br := tooDear(h, b.burst); br != nil {
		return br
	}
	if b.startMost < b.burst && !h.joined(maxTime) { // else it was created before
		if br := b.overSinceCreated(h); br != nil {
			return br
		}
	}
	c := candidates{n: b.n}
	if y, ok := b.firstOver(h, &c, make([]bool, len(h.admitted))); ok {
		return b.tightest(h, y)
	}
	return nil
}

// firstOver returns the earliest end of a violated span, ok=false where there is none. done is as long as
// h.admitted.
func (b bucket) firstOver(h *history, c *candidates, done []bool) (y int64, ok bool) {
	room := b.room()
	next, oldest := 0, 0
	for _, i := range h.admittedByEnd {
		y := h.admitted[i].e
		for ; next < len(h.admitted) && h.admitted[next].s <= y; next++ {
			c.insert(h.admitted[next].s)
		}
		c.admit(h.admitted[i].s, h.admitted[i].cost*b.per)
		if c.top-y*b.n > room {
			return y, true
		}
		for done[i] = true; oldest < len(done) && done[oldest]; oldest++ {
		}
		if oldest < len(done) {
			c.forget(h.admitted[oldest].s)
		}
	}
	return 0, false
}

// room is the volume that a span has room for, less what comes back continuously meanwhile: the burst. Where
// units come in batches a span of L has up to ceil(L/I) of them, I the time between two: ceil(a/b) =
// floor((a+b-1)/b), so that it is one batch more, less the smallest part.
func (b bucket) room() int64 {
	if b.batched {
		return (b.burst+b.batch)*b.per - 1
	}
	return b.burst * b.per
}

// tightest returns the breach that ends at y with the latest start, which has the fewest admissions.
func (b bucket) tightest(h *history, y int64) *breach {
	var inside []event
	var units int64
	for i := len(h.admitted) - 1; i >= 0; i-- {
		ev := h.admitted[i]
		if ev.e > y {
			continue
		}
		inside = append(inside, ev)
		units += ev.cost
		if units*b.per-(y-ev.s)*b.n > b.room() {
			return &breach{kind: verdict.OverAdmission, seen: units, bound: b.most(y - ev.s), span: y - ev.s,
				events: inside}
		}
	}
	panic("check: a violated span vanished")
}

// most returns the most units that can be admitted within a closed span of the given length in nanoseconds.
func (b bucket) most(span int64) int64 {
	return (b.room() + span*b.n) / b.per
}

// overSinceCreated bounds the admissions since the bucket was created, at the earliest at the first start,
// with no more than startMost units.
func (b bucket) overSinceCreated(h *history) *breach {
	if len(h.all) == 0 {
		return nil
	}
	first := h.all[0].s
	var units int64
	for k, i := range h.admittedByEnd {
		units += h.admitted[i].cost
		span := h.admitted[i].e - first
		if most := b.startMost + (span*b.n+(b.batch-1)*b.per)/b.per; units > most {
			br := &breach{kind: verdict.OverAdmission, seen: units, bound: most, span: span,
				creator: &h.all[0]}
			for _, j := range h.admittedByEnd[:k+1] {
				br.events = append(br.events, h.admitted[j])
			}
			return br
		}
	}
	return nil
}

// bucketMeter follows R(t) and p. Times inside are scaled by n.
type bucketMeter struct {
	bucket
	starts []event
	ends   []ending
	i, k   int
	// tat is R(t), pending is p.
	tat, pending int64
	// from is when requests that are missing may have left the bucket empty; minTime where none can.
	from int64
}

func (b bucket) usage(h *history) meter { return b.meter(h) }

func (b bucket) meter(h *history) *bucketMeter {
	m := &bucketMeter{bucket: b, starts: h.counted(b.all), ends: h.countedEnds(b.all)}
	m.tat, m.from = minTime, minTime
	switch {
	case h.level != nil:
		m.tat = b.handed(h.level)
		// it has those that another policy keeps in the piece
		for ; m.k < len(m.ends) && m.ends[m.k].e < h.level.at; m.k++ {
			m.pending -= m.ends[m.k].cost
		}
	case h.joined(b.memory()):
		m.tat, m.from = b.joined(h)
	case b.startLeast < b.burst && len(h.all) > 0:
		m.tat = b.created(h, b.startLeast)
	}
	return m
}

// joined is the latest theoretical arrival time that requests which are missing can leave, and when they may
// have left it: after the first request of h is decided, but not after the last one that is missing.
func (b bucket) joined(h *history) (tat, from int64) {
	from = h.all[0].from
	return max(b.created(h, 0), from*b.n+b.burst*b.per), from
}

// created is the latest theoretical arrival time of a bucket that holds so many units when the first request
// of h is decided.
func (b bucket) created(h *history, level int64) int64 {
	return h.firstEnd()*b.n + (b.burst-level)*b.per
}

func (m *bucketMeter) unit() int64 { return m.per }

func (m *bucketMeter) excess(t int64) int64 {
	tau := (m.burst - 1) * m.per
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.pending += m.starts[m.i].cost
	}
	for ; m.k < len(m.ends) && m.ends[m.k].e < t; m.k++ {
		e := m.ends[m.k]
		m.pending -= e.cost
		m.tat = min(max(e.e*m.n, m.tat)+e.cost*m.per, max(e.e, m.from)*m.n+tau+m.per)
	}
	at := m.tat
	if m.pending > 0 {
		at = max(at, t*m.n)
	}
	// What is in use is never negative: a request that costs more than the burst is denied by an idle bucket
	// too.
	return max(at+(m.pending+m.batch-1)*m.per-t*m.n, 0) - tau
}

func (b bucket) memory() int64 { return (b.burst+b.batch)*b.per/b.n + 1 }

func (b bucket) scope() scope { return scope{memory: b.memory(), full: b.burst, all: b.all} }

// bucketModel is a bucket with continuous refill, or a queue.
type bucketModel struct {
	base
	bucket
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

func newBucketModel(p spec.Policy) bucketModel {
	b := bucketModel{bucket: newBucket(p), scale: 1, queued: p.Queued(), undelayed: p.Undelayed,
		late: int64(p.Tick)}
	if b.n > mostRests {
		b.scale, b.late, b.n = b.n, b.late*b.n, 1
	}
	return b
}

func (b bucketModel) traits() traits {
	return traits{scale: b.scale, counted: b.all, created: b.startLeast < b.burst}
}

func (b bucketModel) scaled(k int64) model {
	b.scale *= k
	b.per *= k
	b.late *= k
	return b
}

// plain: the bucket is full when it is created, and no time is a fraction.
func (b bucketModel) plain() bool { return b.startLeast == b.burst && b.n == 1 }

func (b bucketModel) start(begin int64) memoryState {
	m := memoryState{zone: newZone(begin, begin)}
	if !b.plain() {
		m.counts = make([]int64, 2)
		if b.startLeast == b.burst {
			m.counts[wasCreated] = 1
		}
	}
	return m
}

// created returns the states of a bucket that exists: those of one that this request creates, with lo..hi
// units times per in use.
func (b bucketModel) created(m memoryState, lo, hi int64) []memoryState {
	if b.plain() || *m.count(wasCreated) == 1 {
		return []memoryState{m}
	}
	lo, hi = max(lo, (b.burst-b.startMost)*b.per), min(hi, (b.burst-b.startLeast)*b.per)
	var out []memoryState
	for r := range b.n {
		from, to := -floorDiv(r-lo, b.n), floorDiv(hi-r, b.n)
		if from > to {
			continue
		}
		one := m.clone()
		one.zone.spread(tat, now, from, to)
		*one.count(wasCreated), *one.count(rest) = 1, r
		out = append(out, one)
	}
	return out
}

// rest returns what the theoretical arrival time is more than tat, in n-ths of a unit of time.
func (b bucketModel) rest(m memoryState) int64 {
	if b.plain() {
		return 0
	}
	return *m.count(rest)
}

// raise adds a number of n-ths to the theoretical arrival time.
func (b bucketModel) raise(m memoryState, by int64) {
	by += b.rest(m)
	m.zone.shift(tat, floorDiv(by, b.n))
	if !b.plain() {
		*m.count(rest) = mod(by, b.n)
	}
}

// become makes the theoretical arrival time the present and a number of n-ths.
func (b bucketModel) become(m memoryState, ahead int64) {
	m.zone.set(tat, now, 0)
	if !b.plain() {
		*m.count(rest) = 0
	}
	b.raise(m, ahead)
}

// admit: TAT + (c-1)T <= now + tau; then TAT' = max(now, TAT) + cT. A queue has let it through by the time it
// was answered.
func (b bucketModel) admit(m memoryState, a ask) []memoryState {
	if a.cost > b.burst {
		return nil
	}
	var out []memoryState
	room := (b.burst - a.cost) * b.per
	for _, m := range b.created(m, 0, room) {
		r := b.rest(m)
		if !m.zone.limit(tat, now, floorDiv(room-r, b.n)) || !b.released(m, a.end) {
			continue
		}
		idle := m.clone()
		if idle.zone.limit(tat, now, floorDiv(-r, b.n)) {
			b.become(idle, a.cost*b.per)
			out = append(out, idle)
		}
		if m.zone.limit(now, tat, floorDiv(r-1, b.n)) {
			b.raise(m, a.cost*b.per)
			out = append(out, m)
		}
	}
	return out
}

// pass creates the bucket, if it is not there; where denied requests are counted it takes what it costs.
func (b bucketModel) pass(m memoryState, a ask) []memoryState {
	switch {
	case a.cost > b.burst:
		return nil
	case b.all:
		return b.admit(m, ask{a.cost, maxTime}) // it is not waited for
	}
	var out []memoryState
	room := (b.burst - a.cost) * b.per
	for _, m := range b.created(m, 0, room) {
		out = append(out, onlyIf(m.zone.limit(tat, now, floorDiv(room-b.rest(m), b.n)), m)...)
	}
	return out
}

// released bounds the turn of a request that a queue admits: TAT - undelayed*T, or the present.
func (b bucketModel) released(m memoryState, end int64) bool {
	return !b.queued || end == maxTime ||
		m.zone.limit(tat, 0, end+b.late+floorDiv(b.undelayed*b.per-b.rest(m), b.n))
}

// deny: max(now, TAT) + (c-1)T > now + tau. Where the denial is counted it takes what is left.
func (b bucketModel) deny(m memoryState, a ask) []memoryState {
	least := (b.burst-a.cost)*b.per + 1 // of what is in use
	if a.cost > b.burst {
		least = 0
	}
	var out []memoryState
	for _, m := range b.created(m, least, b.burst*b.per) {
		if a.cost <= b.burst && !m.zone.limit(now, tat, floorDiv(b.rest(m)-least, b.n)) {
			continue
		}
		if b.all {
			b.become(m, b.burst*b.per)
		}
		out = append(out, m)
	}
	return out
}

// forget: a time that has passed at lo is as good as any other. In one that may have passed, the earliest is
// as good as any earlier, where nothing but the present depends on it.
func (b bucketModel) forget(m memoryState, lo int64) {
	if !b.plain() && *m.count(wasCreated) == 0 {
		return
	}
	if b.rest(m) > 0 {
		lo--
	}
	switch {
	case m.zone.bound(tat, 0) <= lo:
		m.zone.free(tat, lo)
		if !b.plain() {
			*m.count(rest) = 0
		}
	case m.zone.n == tat+1 && -m.zone.bound(0, tat) <= lo:
		m.zone.at[0*m.zone.n+tat] = noBound
	}
}

// tat is the index of the theoretical arrival time of a bucket, rounded down to the unit of time. Where a
// bucket is not a plain one, its counts are wasCreated, 1 once a request has created it, and rest: the time
// is tat + rest/n units.
const (
	tat        = firstVariable
	wasCreated = 0
	rest       = 1
)

func (b bucket) exceeds(h *history, a *asker) bool {
	if b.startMost < b.burst {
		return b.over(h) != nil
	}
	if tooDear(h, b.burst) != nil {
		return true
	}
	c := candidates{n: b.n, list: a.list[:0]}
	_, over := b.firstOver(h, &c, a.marks(len(h.admitted)))
	a.list = c.list
	return over
}

func (b bucket) swept() overSweep { return newBucketOver(b) }

// bucketOver is bucket.over.
type bucketOver struct {
	bucket
	c candidates
	// singly counts every admission as one unit, late is how much later it may have been than it ended, in
	// nanoseconds.
	singly bool
	late   int64
}

func newBucketOver(b bucket) *bucketOver {
	return &bucketOver{bucket: b, c: candidates{n: b.n}}
}

func (b *bucketOver) advance(fresh, ended []event, oldest, _ int64) *alarm {
	next := 0
	begin := func(until int64) {
		for ; next < len(fresh) && fresh[next].s <= until; next++ {
			if fresh[next].outcome == timeline.Allowed {
				b.c.insert(fresh[next].s)
			}
		}
	}
	for i := range ended {
		ev := &ended[i]
		begin(ev.e)
		cost := ev.cost
		if b.singly {
			cost = 1
		}
		b.c.admit(ev.s, cost*b.per)
		if y := ev.e + b.late; b.c.top-y*b.n > b.room() {
			x := b.c.list[len(b.c.list)-1].x
			br := breach{kind: verdict.OverAdmission, seen: (b.c.top - x*b.n) / b.per,
				bound: b.most(y - x), span: y - x}
			return &alarm{breach: br, from: x, to: ev.e}
		}
	}
	begin(maxTime)
	if oldest < maxTime {
		b.c.forget(oldest)
	}
	return nil
}
