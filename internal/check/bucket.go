package check

import (
	"math/big"

	"github.com/rlcheck/rlcheck/internal/spec"
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
	for a, b := n, per; ; a, b = b, a%b {
		if b == 0 {
			n, per = n/a, per/a
			break
		}
	}
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
		m.tat = h.level.of(b)
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
