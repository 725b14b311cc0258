package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var ringKind = kind{
	fits: func(p spec.Policy) bool { return p.Fixed() && p.Slots > 1 },
	bound: func(p spec.Policy, box history.Interval, _ bool) Bound {
		return newRing(p, box.From, box.To)
	},
	counting: fixedCounting,
}

// ring is the bound of a window that is divided into slots. In any n consecutive slots at most quota units
// are counted. Its Grid are the slots.
//
//	over:   the admissions that must lie in m*n consecutive slots are at most quota * m
//	under:  units that may lie in the denial's slot, or in the n-1 before it, and start before it reach the
//	        quota
type ring struct {
	Grid
	n, quota int64
	all      bool
}

func newRing(p spec.Policy, from, to int64) ring {
	// Where n does not divide the window, as when its length is measured, slots have either rounded length.
	n := p.Slots
	w := Grid{from, to, max(int64(p.Rate.Per)/n, 1), (int64(p.LongestWindow()) + n - 1) / n}
	return ring{w, n, p.Rate.N, p.Count == spec.CountAll}
}

func (r ring) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, r.quota); br != nil {
		return br
	}
	if r.all {
		if br := r.overCounting(h, h.Certain()); br != nil {
			return br
		}
	}
	for m := int64(1); m <= Spans; m++ {
		if br := r.overSpan(h, m); br != nil {
			return br
		}
	}
	return nil
}

// overSpan looks for more than m*quota units that certainly lie in m*n consecutive slots. Of the slots that
// end with the slot of y, it takes the latest possible first one.
func (r ring) overSpan(h *history.History, m int64) *Breach {
	since := func(y int64) int64 { return r.LastOf(y) - m*r.n + 1 }
	br := overSpan(h, m*r.quota, r.FirstOf, since)
	if br != nil {
		br.Windows, br.Bound = m, m*r.quota
	}
	return br
}

// overCounting asks of each admission for a slot that leaves room for it. The certainly counted units in the
// ring before it, and its own, are at most the quota.
func (r ring) overCounting(h *history.History, counted *history.Certain) *Breach {
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		first, last := r.FirstOf(ev.Start), r.LastOf(ev.End)
		if last-first >= r.n { // no other request need be in the ring with it
			continue
		}
		// The later the slot of the admission, the fewer units are still in the ring.
		seen := counted.Within(r.Latest(last-r.n)-1, ev.Start, ev) + ev.Cost
		if seen <= r.quota {
			continue
		}
		begin := r.Latest(first - r.n)
		br := &Breach{Kind: result.OverAdmission, Seen: seen, Bound: r.quota, Windows: 1, Roomless: true,
			Events: []history.Event{ev}, Span: ev.End - ev.Start}
		for _, other := range counted.Events() {
			if other.Seq != ev.Seq && other.Start >= begin && other.End < ev.Start &&
				(other.Outcome != timeline.Unknown || other.Unprovable) {
				br.Events = append(br.Events, other)
			}
		}
		return br
	}
	return nil
}

func (r ring) Usage(h *history.History) Meter { return newWindowMeter(h, r.Grid, r.n, r.quota, r.all) }

func (r ring) Scope() Scope {
	return Scope{Memory: r.n * r.sizeTo, Full: r.quota, All: r.all, Crowd: r.all}
}
