package check

import "slices"

// lull waits for a silence, known to be one, that is longer than the limiter remembers: until is since when
// there is none.
type lull struct{ until, memory int64 }

// lull returns the one that edges wait for, where the recording began amid traffic.
func (e *edges) lull() lull { return lull{e.from, e.memory} }

// ends tells whether a request, ascending by start, follows such a silence.
func (w *lull) ends(ev *event) bool {
	if ev.s > later(w.until, w.memory) {
		return true
	}
	w.until = max(w.until, ev.e)
	return false
}

// silences returns the closed intervals of instants at which a request may find that nothing was remembered
// for as long as ttl, ascending and apart. A silence that begins at t lasts until the first request that was
// sent later, and surely ended it, is answered, at the longest.
func silences(all []event, ttl int64, sure func(event) bool) []phases {
	var out []phases
	next := maxTime // the first end of what was sent later
	last := minTime
	for _, ev := range all {
		last = max(last, ev.e)
	}
	for i := len(all) - 1; i >= 0; i-- {
		ev := all[i]
		f := phases{ev.s + ttl, min(next, last)}
		if n := len(out); f.from <= f.to && n > 0 && f.to >= out[n-1].from {
			out[n-1].from = min(f.from, out[n-1].from)
		} else if f.from <= f.to {
			out = append(out, f)
		}
		if sure(ev) {
			next = min(next, ev.e)
		}
	}
	slices.Reverse(out)
	return out
}

// ended returns since when a request that ends a silence of a length is after the one that may be found
// within f: it is not inside of it, and one before it is so much earlier than the one that finds it.
func (f phases) ended(length int64) int64 { return max(f.from, f.to-length+1) }

// links keeps, of requests that come ascending by start, as few as leave no silence longer than a time where
// all of them leave none.
type links struct {
	most int64
	// last is the last one that is kept, next the last one that came.
	last, next event
}

// newLinks begins with a request that is kept.
func newLinks(first *event, most int64) links { return links{most, *first, *first} }

// add takes the next request, and returns the one in front of it; kept tells that it must be.
func (l *links) add(ev *event) (before event, kept bool) {
	before, l.next = l.next, *ev
	if kept = ev.e >= l.last.s+l.most && before.s > l.last.s; kept {
		l.last = before
	}
	return before, kept
}
