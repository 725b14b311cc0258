package history

import (
	"slices"
)

// The ends of time: far beyond any recording, far from overflow.
const (
	MaxTime = int64(1) << 61
	MinTime = -MaxTime
)

// Later returns t+d. It is MaxTime if t or d is.
func Later(t, d int64) int64 {
	if t == MaxTime || d == MaxTime {
		return MaxTime
	}
	return min(t+d, MaxTime)
}

// Gcd returns the greatest common divisor of two non-negative numbers (Euclid).
func Gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// FloorDiv returns a/b, rounded down. b is positive.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Mod returns a - b*FloorDiv(a, b), which lies in [0, b).
func Mod(a, b int64) int64 { return a - FloorDiv(a, b)*b }

// Interval is a closed interval, in nanoseconds since the start of the recording: often a box of window
// phases.
type Interval struct{ From, To int64 }

// Cut divides b in two. The upper part begins at `at`.
func (b Interval) Cut(at int64) (lower, upper Interval) {
	return Interval{b.From, at - 1}, Interval{at, b.To}
}

// Middle returns where the upper half of b begins, in (b.From, b.To].
func (b Interval) Middle() int64 { return b.From + (b.To-b.From+1)/2 }

// QuietGap waits for a certain silence that is longer than the limiter remembers. Until is the instant since
// which no request was decided. Memory is how long the limiter remembers. Both are nanoseconds.
type QuietGap struct{ Until, Memory int64 }

// Ends tells whether ev follows such a silence. Requests come ascending by Start.
func (w *QuietGap) Ends(ev *Event) bool {
	if ev.Start > Later(w.Until, w.Memory) {
		return true
	}
	w.Until = max(w.Until, ev.End)
	return false
}

// Silences returns the closed intervals of instants at which a request may end a silence of at least ttl
// nanoseconds. They ascend and are apart. all ascends by Start. A silence that begins at t lasts, at the
// longest, until the first later request that surely ends it (sure) is answered.
//
//	sent last at t         t + ttl              e: the next sure request is answered
//	   |......................[====================]
//	                          From                To
func Silences(all []Event, ttl int64, sure func(Event) bool) []Interval {
	var out []Interval
	next := MaxTime // the first End of the sure requests that start later
	last := MinTime
	for _, ev := range all {
		last = max(last, ev.End)
	}
	for i := len(all) - 1; i >= 0; i-- {
		ev := all[i]
		f := Interval{ev.Start + ttl, min(next, last)}
		if n := len(out); f.From <= f.To && n > 0 && f.To >= out[n-1].From {
			out[n-1].From = min(f.From, out[n-1].From)
		} else if f.From <= f.To {
			out = append(out, f)
		}
		if sure(ev) {
			next = min(next, ev.End)
		}
	}
	slices.Reverse(out)
	return out
}

// Ended returns an instant. f tells where a silence of the given length may end. A renewing request that
// starts at the instant or later comes after that silence: one before the silence is at least length earlier
// than its end.
func (f Interval) Ended(length int64) int64 { return max(f.From, f.To-length+1) }

// Cover keeps as few requests as prove that no silence was longer than `most` nanoseconds, where all the
// requests together prove it. Requests come ascending by Start.
type Cover struct {
	most int64
	// Last is the last request that was kept, Next the last one that came.
	Last, Next Event
}

// NewCover keeps the first request.
func NewCover(first *Event, most int64) Cover { return Cover{most, *first, *first} }

// Add takes the next request and returns the one before it. kept: that one must be kept.
func (l *Cover) Add(ev *Event) (before Event, kept bool) {
	before, l.Next = l.Next, *ev
	if kept = ev.End >= l.Last.Start+l.most && before.Start > l.Last.Start; kept {
		l.Last = before
	}
	return before, kept
}
