package search

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// places explains a history under a limit on requests in flight at given instants of the decisions: each
// request keeps its place until it must give it back, or until an admission needs it.
//
//	decided d    may be complete from d + least    must be complete by min(d + most, by)
//	   |----------------|-------------------------------|
//	      keeps its place   gives it to an admission
//
// To wait helps denials and harms no admission. Of those that may be complete the one that must be first
// gives its place: any other one can then stand in for it.
type places struct {
	limit, units int64
	// held are the requests in flight, ascending by when they must be complete.
	held []seat
}

// seat is what a request in flight holds, and when it may and must be complete.
type seat struct{ from, by, units int64 }

// onlyPlaces tells whether a limit is one on requests in flight and says nothing else.
func onlyPlaces(limit spec.Limit) bool {
	if len(limit) != 1 {
		return false
	}
	p := limit[0]
	return p.InFlight() && !limiter.Ranged(p) && p.BanTo == 0 && p.TTLTo == 0 && p.LevelTo == 0
}

// explains tells whether the limit gives the outcomes of h at the instants of decisions, which ascend.
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

// admit gives a request its place at an instant, which it must give back by another; ok=false where there is
// none.
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
