package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

// tat is the index of the theoretical arrival time of a bucket, rounded down to the unit of time. Where a
// bucket is not a plain one, its counts are wasCreated, 1 once a request has created it, and rest: the time
// is tat + rest/n units.
const (
	tat        = firstVariable
	wasCreated = 0
	rest       = 1
)

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
