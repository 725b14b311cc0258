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

func newRing(p spec.Policy, from, to int64) fixed {
	// Where n does not divide the window, as when its length is measured, slots have either rounded length.
	n := p.Slots
	w := Grid{from, to, max(int64(p.Rate.Per)/n, 1), (int64(p.LongestWindow()) + n - 1) / n}
	return fixed{w, n, p.Rate.N, p.Count == spec.CountAll}
}

func (f fixed) overSpans(h *history.History) *Breach {
	for m := int64(1); m <= Spans; m++ {
		if br := f.overSpan(h, m); br != nil {
			return br
		}
	}
	return nil
}

// overSpan looks for more than m*quota units that certainly lie in m*n consecutive slots. Of the slots that
// end with the slot of y, it takes the latest possible first one.
func (f fixed) overSpan(h *history.History, m int64) *Breach {
	since := func(y int64) int64 { return f.LastOf(y) - m*f.n + 1 }
	br := overSpan(h, m*f.quota, f.FirstOf, since)
	if br != nil {
		br.Windows, br.Bound = m, m*f.quota
	}
	return br
}

// overCounting asks of each admission for a slot that leaves room for it. The certainly counted units in the
// ring before it, and its own, are at most the quota.
func (f fixed) overCounting(h *history.History, counted *history.Certain) *Breach {
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		first, last := f.FirstOf(ev.Start), f.LastOf(ev.End)
		if last-first >= f.n { // no other request need be in the ring with it
			continue
		}
		// The later the slot of the admission, the fewer units are still in the ring.
		seen := counted.Within(f.Latest(last-f.n)-1, ev.Start, ev) + ev.Cost
		if seen <= f.quota {
			continue
		}
		begin := f.Latest(first - f.n)
		br := &Breach{Kind: result.OverAdmission, Seen: seen, Bound: f.quota, Windows: 1, Roomless: true,
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
