package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var refreshedKind = kind{
	bound: func(p spec.Policy, _ history.Interval, _ bool) Bound {
		return newRefreshed(p)
	},
	counting: fixedCounting,
	model: func(p spec.Policy, _ history.Interval, _ []int64) Model {
		return newRefreshModel(p)
	},
}

// refreshed is the bound of a fixed window that requests renew. Its count is forgotten after a silence of its
// length, and not before: it is a quota that is never given back, with a time to live.
//
//	over:   the admissions of a stretch in which there can be no such silence are at most the quota
//	under:  units that may have been admitted since the last certain silence reach the quota
type refreshed struct {
	forgetting
	quota int64
	// all: denied requests are counted too. every: denied requests renew the window too, unless a ban is on
	// (banned).
	all, every, banned bool
}

func newRefreshed(p spec.Policy) refreshed {
	every := p.Refresh == spec.RefreshAll
	return refreshed{forgetting{int64(p.Rate.Per), int64(p.LongestWindow()), every && p.Ban == 0}, p.Rate.N,
		p.Count == spec.CountAll, every, p.Ban > 0}
}

// may tells whether a request may have renewed the window. A counted denial that costs more than the quota
// opens one.
func (r refreshed) may(ev history.Event) bool {
	return r.every || ev.Outcome != timeline.Denied || r.all && ev.Cost > r.quota
}

func (r refreshed) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, r.quota); br != nil {
		return br
	}
	return r.lives(h, false, r.overLife)
}

// overLife bounds the requests that surely lie in one window. The admissions are at most the quota. Where
// denied requests count, each admission needs room beside the requests that surely came before it.
func (r refreshed) overLife(h *history.History) *Breach {
	var open []history.Event
	for _, ev := range h.All {
		if ev.Outcome != timeline.Unknown || ev.Unprovable {
			open = append(open, ev)
		}
	}
	order := history.OrderByEnd(open)
	var units int64
	for k, i := range order {
		if open[i].Outcome != timeline.Allowed {
			continue
		}
		if units += open[i].Cost; units > r.quota {
			return r.tooMany(open, order[:k+1], units)
		}
	}
	if !r.all || r.banned {
		return nil
	}
	units = 0
	before := 0
	for i := range open {
		for ; before < len(order) && open[order[before]].End < open[i].Start; before++ {
			units += open[order[before]].Cost
		}
		if open[i].Outcome == timeline.Allowed && units+open[i].Cost > r.quota {
			br := r.tooMany(open, append([]int32{int32(i)}, order[:before]...), units+open[i].Cost)
			br.Roomless = true // some of the units were denied
			return br
		}
	}
	return nil
}

// tooMany returns the breach of the given requests of a window, with those among them that kept the window
// open.
func (r refreshed) tooMany(open []history.Event, these []int32, seen int64) *Breach {
	br := &Breach{Kind: result.OverAdmission, Seen: seen, Bound: r.quota, Windows: 1}
	for _, i := range these {
		if r.all || r.sure(open[i]) {
			br.Events = append(br.Events, open[i])
		}
	}
	br.Span = SpanOf(br.Events)
	return br
}

// refreshedMeter counts the units that may have come since the last certain silence before t.
type refreshedMeter struct {
	refreshed
	inUse
	// until is the last End of the requests that may have renewed the window.
	until int64
}

func (r refreshed) Usage(h *history.History) Meter {
	return &refreshedMeter{r, inUse{starts: h.Counted(r.all || r.every)}, history.MinTime}
}

func (m *refreshedMeter) Excess(t int64) int64 {
	for ; len(m.starts) > 0 && m.starts[0].Start <= t; m.starts = m.starts[1:] {
		m.take(&m.starts[0])
	}
	if t >= m.until+m.longest {
		return 1 - m.quota // no window can be open
	}
	return m.used - m.quota + 1
}

// take takes the next request, which may come after a certain silence.
func (m *refreshedMeter) take(ev *history.Event) {
	if ev.Start >= m.until+m.longest {
		m.used = 0
	}
	m.used += m.charge(ev)
	m.until = max(m.until, m.renewed(ev))
}

// charge returns the units with which a request may have been counted.
func (m *refreshedMeter) charge(ev *history.Event) int64 {
	if m.all || ev.Outcome != timeline.Denied {
		return ev.Cost
	}
	return 0
}

// renewed returns until when a request may have renewed the window, MinTime if it did not.
func (m *refreshedMeter) renewed(ev *history.Event) int64 {
	if m.all || m.may(*ev) {
		return ev.End
	}
	return history.MinTime
}

// sinceSilence returns the requests, other than d, that may have mattered to the denial d. They came after
// the last certain silence before d, or before a ban that may have caused d.
func (of Scope) sinceSilence(h *history.History, d history.Event) []history.Event {
	var out []history.Event
	until := history.MinTime
	for _, ev := range h.Counted(of.All || of.Every) {
		if ev.Start > d.End {
			break
		}
		if ev.Start >= until+of.Silence && ev.Start <= d.Start-of.Ban {
			out = out[:0]
		}
		if until = max(until, ev.End); ev.Seq != d.Seq {
			out = append(out, ev)
		}
	}
	return out
}

func (r refreshed) Scope() Scope {
	return Scope{Memory: r.longest, Full: r.quota, All: r.all, Silence: r.longest, Every: r.every}
}

// newRefreshModel returns the model of a fixed window that requests renew.
func newRefreshModel(p spec.Policy) Model {
	tally := tallyModel{refreshed: newRefreshed(p), scale: 1}
	return ttlModel{around{tally}, tally.ttl, tally.ttl, p.Refresh == spec.RefreshAdmitted}
}

// tallyModel is a quota that is never given back. Its count is the units that were counted.
type tallyModel struct {
	base
	refreshed
	scale int64
}

func (r tallyModel) Traits() Traits { return Traits{Scale: r.scale, Counted: r.all} }

func (r tallyModel) Scaled(k int64) Model {
	r.scale *= k
	return r
}

func (r tallyModel) Start(begin int64) State {
	return State{Counts: make([]int64, 1), Zone: NewZone(begin)}
}

func (r tallyModel) Admit(m State, a Request) []State {
	*m.count(0) += a.Cost
	return onlyIf(*m.count(0) <= r.quota, m)
}

func (r tallyModel) Deny(m State, a Request) []State {
	full := *m.count(0)+a.Cost > r.quota
	if r.all {
		*m.count(0) = r.quota
	}
	return onlyIf(full, m)
}

func (r tallyModel) Pass(m State, a Request) []State {
	if r.all {
		return r.Admit(m, a)
	}
	return onlyIf(*m.count(0)+a.Cost <= r.quota, m)
}
