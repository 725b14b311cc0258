package check

import (
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// overSweep asks the question of bound.over block by block, with the same formulas, and keeps of what came before only
// what can still matter.
type overSweep interface {
	// advance takes the events of a block: fresh are those that begin before the horizon, ascending by s, of which the
	// admissions count; ended are the admissions, of this block or of earlier ones, that end before the horizon, ascending by
	// e. No other begins or ends before the horizon. oldest is the earliest start of an admission that ends later.
	advance(fresh, ended []event, oldest, horizon int64) *alarm
}

// alarm is a breach whose events are not listed: they lie between from and to.
type alarm struct {
	breach
	from, to int64
}

// newOverSweep returns the sweep of a bound with one phase that counts admissions alone.
func newOverSweep(b bound) overSweep {
	switch b := b.(type) {
	case bucket:
		return newBucketOver(b)
	case queue:
		release := newBucketOver(b.release)
		release.singly, release.late = true, b.late
		return queueOver{newBucketOver(b.entry), release}
	case expiring:
		return &expiringOver{expiring: b, sweep: newOverSweep(b.bound), first: minTime, after: minTime}
	case windowLog:
		return &logOver{windowLog: b}
	case fixed:
		return &fixedOver{fixed: b}
	case refreshed: // which forgets its count after a silence
		only := expiring{bound: atMost{b}, forgetting: forgetting{ttl: b.size, longest: b.size, banned: b.banned || !b.every}}
		return &expiringOver{expiring: only, sweep: newOverSweep(only.bound), first: minTime, after: minTime}
	case atMost:
		return &atMostOver{quota: b.quota}
	case first:
		return &firstOver{openingSweep: openingSweep{first: b, after: minTime}}
	case counter:
		return &counterOver{counter: b, window: minTime}
	}
	panic("check: no sweep for this bound")
}

// bucketOver is bucket.over.
type bucketOver struct {
	bucket
	c candidates
	// singly counts every admission as one unit, late is how much later it may have been than it ended, in nanoseconds.
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
			br := breach{kind: verdict.OverAdmission, seen: (b.c.top - x*b.n) / b.per, bound: b.most(y - x), span: y - x}
			return &alarm{br, x, ev.e}
		}
	}
	begin(maxTime)
	if oldest < maxTime {
		b.c.forget(oldest)
	}
	return nil
}

// queueOver is queue.over.
type queueOver struct{ entry, release *bucketOver }

func (q queueOver) advance(fresh, ended []event, oldest, horizon int64) *alarm {
	if a := q.entry.advance(fresh, ended, oldest, horizon); a != nil {
		return a
	}
	return q.release.advance(fresh, ended, oldest, horizon)
}

// logOver is windowLog.over: of each admission of the last `spans` windows its start and whether it has ended.
type logOver struct {
	windowLog
	list []logged
	// base is the order of list[0]; leaving and units are those of overSpan, for 1, 2, ... windows.
	base    int32
	leaving [spans]int
	units   [spans]int64
}

type logged struct {
	s, cost int64
	done    bool
}

func (l *logOver) advance(fresh, ended []event, _, _ int64) *alarm {
	for i := range fresh {
		if fresh[i].outcome == timeline.Allowed {
			l.list = append(l.list, logged{s: fresh[i].s, cost: fresh[i].cost})
		}
	}
	for i := range ended {
		ev := &ended[i]
		own := int(ev.order - l.base) // negative where every span has passed it
		if own >= 0 {
			l.list[own].done = true
		}
		for k := range l.units {
			if a := l.end(ev, own, k); a != nil {
				return a
			}
		}
	}
	l.trim()
	return nil
}

// end moves the span of k+1 windows to the end of ev.
func (l *logOver) end(ev *event, own, k int) *alarm {
	n := int64(k + 1)
	x := ev.e - n*l.window + 1
	if ev.s >= x {
		l.units[k] += ev.cost
	}
	for ; l.leaving[k] < len(l.list) && l.list[l.leaving[k]].s < x; l.leaving[k]++ {
		if gone := &l.list[l.leaving[k]]; gone.done && l.leaving[k] != own {
			l.units[k] -= gone.cost
		}
	}
	if l.units[k] <= n*l.quota {
		return nil
	}
	br := breach{kind: verdict.OverAdmission, seen: l.units[k], bound: n * l.quota, span: n*l.window - 1, windows: n}
	return &alarm{br, x, ev.e}
}

// trim forgets what every span has passed; the longest span passes last.
func (l *logOver) trim() {
	gone := l.leaving[spans-1]
	if gone < 64 || gone*2 < len(l.list) {
		return
	}
	l.list = append(l.list[:0], l.list[gone:]...)
	l.base += int32(gone)
	for k := range l.leaving {
		l.leaving[k] -= gone
	}
}

// fixedOver is fixed.over: it places the admissions of each window once no further one can lie in it.
type fixedOver struct {
	fixed
	seats []seat
	next  int
	// waiting may lie in window `window`, or in a later one.
	waiting seatHeap
	window  int64
}

func (f *fixedOver) advance(fresh, _ []event, _, horizon int64) *alarm {
	f.seats, f.next = refill(f.seats, f.next, nil)
	for i := range fresh {
		if ev := &fresh[i]; ev.outcome == timeline.Allowed {
			f.seats = append(f.seats, seat{lo: f.first(ev.s), hi: f.last(ev.e), cost: ev.cost})
		}
	}
	open := f.first(horizon)
	for {
		k := open
		switch {
		case len(f.waiting) > 0:
			k = f.window
		case f.next < len(f.seats):
			k = f.seats[f.next].lo
		}
		if k >= open {
			return nil
		}
		if !f.fill(k) {
			br := breach{kind: verdict.OverAdmission, bound: f.quota, seen: f.quota + 1, span: f.size, windows: 1}
			return &alarm{br, f.earliest(k), f.latest(k) - 1}
		}
		f.window = k + 1
	}
}

// fill places what must lie in window k, then what may, as overfull does. It returns false where that is too much.
func (f *fixedOver) fill(k int64) bool {
	room := f.quota
	for ; f.next < len(f.seats) && f.seats[f.next].lo <= k; f.next++ {
		if f.seats[f.next].hi > k {
			f.waiting.push(f.seats[f.next])
			continue
		}
		room -= f.seats[f.next].cost
	}
	return room >= 0 && f.waiting.settle(room, k)
}

// counterOver is counter.overAdmitted.
type counterOver struct {
	counter
	// window is that of the last end; inside and before are the units that must lie in it and in the one before it, either
	// those that may lie in both.
	window, inside, before, either int64
}

func (c *counterOver) advance(_, ended []event, _, _ int64) *alarm {
	for i := range ended {
		ev := &ended[i]
		k := c.last(ev.e)
		if k != c.window {
			if c.before = 0; k == c.window+1 {
				c.before = c.inside
			}
			c.window, c.inside, c.either = k, 0, 0
		}
		switch c.first(ev.s) {
		case k:
			c.inside += ev.cost
		case k - 1:
			c.either += ev.cost
		default:
			continue
		}
		left := c.from + (k+1)*c.size - ev.e
		if load := c.weighted(c.before+c.either, left) + c.inside - 1; load >= c.quota && c.inside > 0 {
			br := breach{kind: verdict.OverAdmission, seen: load + 1, bound: c.quota, span: ev.e - c.earliest(k-1), windows: 2}
			return &alarm{br, c.earliest(k - 1), ev.e}
		}
	}
	return nil
}

// refill appends more to a list of which the first `used` are used up, and forgets those when they are half of it.
func refill[T any](list []T, used int, more []T) ([]T, int) {
	if used > 0 && used*2 >= len(list) {
		list, used = append(list[:0], list[used:]...), 0
	}
	return append(list, more...), used
}
