package history

import "slices"

// QuietGap waits for a silence, known to be one, that is longer than the limiter remembers: until is since
// when there is none.
type QuietGap struct{ Until, Memory int64 }

// Lull returns the one that edges wait for, where the recording began amid traffic.
func (e *Edges) Lull() QuietGap { return QuietGap{e.From, e.Memory} }

// Ends tells whether a request, ascending by start, follows such a silence.
func (w *QuietGap) Ends(ev *Event) bool {
	if ev.Start > Later(w.Until, w.Memory) {
		return true
	}
	w.Until = max(w.Until, ev.End)
	return false
}

// Silences returns the closed intervals of instants at which a request may find that nothing was remembered
// for as long as ttl, ascending and apart. A silence that begins at t lasts until the first request that was
// sent later, and surely ended it, is answered, at the longest.
func Silences(all []Event, ttl int64, sure func(Event) bool) []Interval {
	var out []Interval
	next := MaxTime // the first end of what was sent later
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

// Ended returns since when a request that ends a silence of a length is after the one that may be found
// within f: it is not inside of it, and one before it is so much earlier than the one that finds it.
func (f Interval) Ended(length int64) int64 { return max(f.From, f.To-length+1) }

// Cover keeps, of requests that come ascending by start, as few as leave no silence longer than a time where
// all of them leave none.
type Cover struct {
	most int64
	// Last is the last one that is kept, next the last one that came.
	Last, Next Event
}

// NewCover begins with a request that is kept.
func NewCover(first *Event, most int64) Cover { return Cover{most, *first, *first} }

// Add takes the next request, and returns the one in front of it; kept tells that it must be.
func (l *Cover) Add(ev *Event) (before Event, kept bool) {
	before, l.Next = l.Next, *ev
	if kept = ev.End >= l.Last.Start+l.most && before.Start > l.Last.Start; kept {
		l.Last = before
	}
	return before, kept
}
