package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// fixed is the bound of the fixed window with a phase in a box.
//
//	over:   the admissions that must lie in windows k1..k2 are at most quota * (k2-k1+1)   (Hall's
//	        condition, by earliest deadline)
//	under:  units that may lie in the denial's window and start before it reach the quota
type fixed struct {
	windows
	quota int64
	all   bool
}

func newFixed(p spec.Policy, from, to int64) fixed {
	return fixed{newWindows(p, from, to), p.Rate.N, p.Count == spec.CountAll}
}

func (f fixed) over(h *history) *breach {
	if br := tooDear(h, f.quota); br != nil {
		return br
	}
	if f.all {
		return f.overCounting(h, h.surely())
	}
	return overfull(h.admitted, func() func(int) seat {
		return func(i int) seat {
			ev := &h.admitted[i]
			return seat{lo: f.first(ev.s), hi: f.last(ev.e), cost: ev.cost}
		}
	}, f.quota)
}

// overCounting: an admission needs a window in which fewer than the quota of what is counted was certainly
// before it.
func (f fixed) overCounting(h *history, counted []event) *breach {
	c := newCertain(counted)
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		k := f.first(ev.s)
		// In a later window the certain load at its beginning is nothing, so only one window can be violated.
		if k != f.last(ev.e) {
			continue
		}
		begin := f.latest(k - 1)
		if c.within(begin-1, ev.s, ev)+ev.cost <= f.quota {
			continue
		}
		br := &breach{kind: verdict.OverAdmission, seen: ev.cost, bound: f.quota, windows: 1, roomless: true,
			events: []event{ev}, span: ev.e - ev.s}
		for _, other := range counted {
			if other.seq != ev.seq && other.s >= begin && other.e < ev.s {
				br.events = append(br.events, other)
				br.seen += other.cost
			}
		}
		return br
	}
	return nil
}

func (f fixed) usage(h *history) meter { return newWindowMeter(h, f.windows, 1, f.quota, f.all) }

func (f fixed) scope() scope { return scope{memory: f.sizeTo, full: f.quota, all: f.all} }
