package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// forgetting is when a partition is forgotten: after a silence of its time to live.
type forgetting struct {
	// ttl is the least time to live, longest the most.
	ttl, longest int64
	// banned: a denied request may not have been seen.
	banned bool
}

func forgettingOf(p spec.Policy) forgetting {
	return forgetting{int64(p.TTL), int64(max(p.TTL, p.TTLTo)), p.Ban > 0}
}

// silences returns, ascending, from when to when the partition may be forgotten between two requests.
func (f forgetting) silences(all []event) []phases { return silences(all, f.ttl, f.sure) }

// life returns the number of events before the first silence in which the partition was surely forgotten, and
// none is missing.
func (f forgetting) life(events []event) int {
	w := lull{minTime, f.longest}
	for i := range events {
		if w.ends(&events[i]) && i > 0 {
			return i
		}
		w.until = max(w.until, events[i].e, events[i].from)
	}
	return len(events)
}

// sure tells whether a request was surely seen, and remembered anew what is known of its partition.
func (f forgetting) sure(ev event) bool {
	return ev.outcome == timeline.Allowed || ev.outcome == timeline.Denied && !f.banned
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
