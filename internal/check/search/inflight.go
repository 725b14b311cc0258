package search

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// places explains a history under a limit on requests in flight, with the decisions at given instants. A
// request keeps its place until its completion is due, or until an admission needs the place.
//
//	decided d    may be complete from d + least    must be complete by min(d + most, by)
//	   |----------------|-------------------------------|
//	      keeps its place   gives it to an admission
//
// Waiting helps denials and harms no admission. Of the requests that may be complete, the one that must be
// complete first gives its place. Any other request can then stand in for it (exchange argument).
type places struct {
	limit, units int64
	// held are the requests in flight, ascending by when they must be complete. units is the sum of their
	// units.
	held []seat
}

// seat is a request in flight: it may be complete at from and must be by `by`, in nanoseconds. It holds
// units.
type seat struct{ from, by, units int64 }

// onlyPlaces tells whether a limit is a plain limit on requests in flight: no other policy, ban, TTL or
// range.
func onlyPlaces(limit spec.Limit) bool {
	if len(limit) != 1 {
		return false
	}
	p := limit[0]
	return p.InFlight() && !limiter.Ranged(p) && p.BanTo == 0 && p.TTLTo == 0 && p.LevelTo == 0
}

// explains tells whether the limit gives the outcomes of h at the instants of decisions, ascending.
func (x *places) explains(h *history.History, decisions []decision) bool {
	x.held, x.units = x.held[:0], 0
	for _, d := range decisions {
		ev := &h.All[d.of]
		gone := 0
		for ; gone < len(x.held) && x.held[gone].by < d.at; gone++ {
			x.units -= x.held[gone].units
		}
		x.held = slices.Delete(x.held, 0, gone)
		if ev.Outcome == timeline.Denied {
			if x.units+ev.Cost <= x.limit {
				return false
			}
			continue
		}
		by := min(history.Later(d.at, ev.Most()), ev.By())
		if by < d.at+ev.Least() || !x.admit(ev, d.at, by) {
			return false
		}
	}
	return true
}

// admit gives a request a place from `at` until `by` at the latest. Where places are short, requests that may
// be complete by `at` give theirs. ok=false: there is no place.
func (x *places) admit(ev *history.Event, at, by int64) (ok bool) {
	x.held = slices.DeleteFunc(x.held, func(s seat) bool {
		leaves := x.units+ev.Cost > x.limit && s.from <= at
		if leaves {
			x.units -= s.units
		}
		return leaves
	})
	if x.units+ev.Cost > x.limit {
		return false
	}
	k, _ := slices.BinarySearchFunc(x.held, by, func(s seat, by int64) int { return cmp.Compare(s.by, by) })
	x.held = slices.Insert(x.held, k, seat{at + ev.Least(), by, ev.Cost})
	x.units += ev.Cost
	return true
}
