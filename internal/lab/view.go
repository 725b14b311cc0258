package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// bucketView explains the state of a bucket or queue: how much is taken, and what has come back since
// something was last added. Amounts are in nanoseconds times N.
type bucketView struct {
	n, per, limit, batch, undelayed uint64
	full                            int64
	queue                           bool
}

func newBucketView(p spec.Policy) bucketView {
	b := bucketView{n: uint64(p.Rate.N), per: uint64(p.Rate.Per),
		limit: uint64(p.Full()) * uint64(p.Rate.Per), full: p.Full(),
		undelayed: uint64(p.Undelayed) * uint64(p.Rate.Per), queue: p.Queued()}
	if p.Refill == spec.RefillInterval {
		b.batch = uint64(p.Fill) * uint64(p.Rate.Per)
	}
	return b
}

func (b bucketView) view(numbers []int64, _ time.Duration, cost int64, allow bool) view {
	taken, into := uint64(numbers[0])*1000, uint64(numbers[1])*1000
	v := view{remaining: int64((b.limit - taken) / b.per), reset: b.until(taken, into)}
	switch {
	case allow && b.queue:
		if before := taken - uint64(cost)*b.per; before > b.undelayed {
			v.delay = b.until(before-b.undelayed, 0)
		}
	case cost > b.full:
		v.wait = reference.Never
	default:
		if room := b.limit - uint64(cost)*b.per; taken > room {
			v.wait = b.until(taken-room, into)
		}
	}
	return v
}

// until returns the time until need has come back, rounded up to the nanosecond.
func (b bucketView) until(need, into uint64) time.Duration {
	if need == 0 {
		return 0
	}
	if b.batch != 0 {
		need = (need+b.batch-1)/b.batch*b.batch - into
	}
	return time.Duration((need + b.n - 1) / b.n)
}

// windowView explains the state of a fixed window: its start, or -1 if none is open, and its count.
type windowView struct{ spec.Policy }

func (w windowView) view(numbers []int64, at time.Duration, cost int64, _ bool) view {
	start, used := numbers[0], numbers[1]
	v := view{remaining: w.Rate.N - used}
	if start >= 0 {
		v.reset = w.Rate.Per - (at - micros(start))
	}
	switch {
	case cost > w.Rate.N:
		v.wait = reference.Never
	case cost > v.remaining:
		v.wait = v.reset
	}
	return v
}

// logView explains the state of a log: its units, the time of its newest entry, and the time of the entry
// that must leave before a denied request fits.
type logView struct {
	quota int64
	keep  time.Duration
}

func newLogView(p spec.Policy) logView {
	l := logView{quota: p.Rate.N, keep: p.Rate.Per}
	if p.Boundary == spec.Closed {
		l.keep++
	}
	return l
}

func (l logView) view(numbers []int64, at time.Duration, cost int64, _ bool) view {
	v := view{remaining: l.quota - numbers[0]}
	if newest := numbers[1]; newest >= 0 {
		v.reset = l.keep - (at - micros(newest))
	}
	if leaves := numbers[2]; leaves >= 0 {
		v.wait = l.keep - (at - micros(leaves))
	}
	if cost > l.quota {
		v.wait = reference.Never
	}
	return v
}

// counterView explains the state of a sliding window counter: the start of the present window, or -1 if none
// is open, the count of the window before, and its own count.
type counterView struct{ spec.Policy }

func (c counterView) view(numbers []int64, at time.Duration, cost int64, _ bool) view {
	prev, cur, into := numbers[1], numbers[2], time.Duration(0)
	if numbers[0] >= 0 {
		into = at - micros(numbers[0])
	}
	counts := reference.Counts{Prev: prev, Cur: cur, Into: into, Window: c.Rate.Per, Rounding: c.Rounding}
	v := view{wait: counts.Wait(c.Rate.N, cost)}
	v.remaining, v.reset = counts.View(c.Rate.N)
	return v
}
