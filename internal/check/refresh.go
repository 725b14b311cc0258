package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// refreshed is the bound of a fixed window that requests start anew: its count is forgotten after a silence
// of its length, and not before.
//
//	over:   the admissions between two silences, none of which there can be in between, are at most the
//	        quota
//	under:  units that may have been admitted since the last silence that is certain reach the quota
type refreshed struct {
	quota int64
	// size is the least and sizeTo the greatest length of the window.
	size, sizeTo int64
	// all: denied requests count too. every: they start the window anew too, but for those inside a ban.
	all, every, banned bool
}

func newRefreshed(p spec.Policy) refreshed {
	return refreshed{p.Rate.N, int64(p.Rate.Per), int64(p.LongestWindow()), p.Count == spec.CountAll,
		p.Refresh == spec.RefreshAll, p.Ban > 0}
}

// sure tells whether a request surely started the window anew.
func (r refreshed) sure(ev event) bool {
	return ev.outcome == timeline.Allowed || (ev.outcome == timeline.Denied || ev.mute) && r.every &&
		!r.banned
}

// may tells whether a request may have started the window anew: one that is counted and costs too much opens
// one.
func (r refreshed) may(ev event) bool {
	return r.every || ev.outcome != timeline.Denied || r.all && ev.cost > r.quota
}

func (r refreshed) over(h *history) *breach {
	if br := tooDear(h, r.quota); br != nil {
		return br
	}
	from, begin, latest := r.sureFrom(h), 0, minTime
	sure := from // since when what starts a window anew is in this one
	for _, f := range append(silences(h.all, r.size, r.sure), phases{maxTime, maxTime}) {
		for ; begin < len(h.all) && max(latest, h.all[begin].e) < sure; begin++ {
			latest = max(latest, h.all[begin].e)
		}
		var open []event // those that are surely in the window that begins at the silence before
		for _, ev := range h.all[begin:] {
			if ev.s >= f.from {
				break
			}
			if (ev.s >= from || ev.s >= sure && r.sure(ev)) && ev.e < f.from &&
				(ev.outcome != timeline.Unknown || ev.mute) {
				open = append(open, ev)
			}
		}
		if br := r.overOpen(open); br != nil {
			return br
		}
		from, sure = f.to, f.ended(r.size)
	}
	return nil
}

// sureFrom returns since when requests may be in one window: from the beginning; but if what is counted need
// not start a window anew, from when a request surely has, as the window before may have ended until then.
func (r refreshed) sureFrom(h *history) int64 {
	if h.placed == nil || !r.all || r.every {
		return minTime
	}
	from := maxTime
	for _, ev := range h.all {
		if ev.s >= h.placed.since && r.sure(ev) {
			from = min(from, ev.e)
		}
	}
	return from
}

// overOpen: of what is surely in one window the admissions are at most the quota, or where denied requests
// count, what surely came before one leaves room for it.
func (r refreshed) overOpen(open []event) *breach {
	order := orderByEnd(open)
	var units int64
	for k, i := range order {
		if open[i].outcome != timeline.Allowed {
			continue
		}
		if units += open[i].cost; units > r.quota {
			return r.tooMany(open, order[:k+1], units)
		}
	}
	if !r.all || r.banned {
		return nil
	}
	units = 0
	before := 0
	for i := range open {
		for ; before < len(order) && open[order[before]].e < open[i].s; before++ {
			units += open[order[before]].cost
		}
		if open[i].outcome == timeline.Allowed && units+open[i].cost > r.quota {
			br := r.tooMany(open, append([]int32{int32(i)}, order[:before]...), units+open[i].cost)
			br.roomless = true // of the units some were denied
			return br
		}
	}
	return nil
}

// tooMany is the breach of the given ones of the requests in one window, with those among them that kept it
// open.
func (r refreshed) tooMany(open []event, these []int32, seen int64) *breach {
	br := &breach{kind: verdict.OverAdmission, seen: seen, bound: r.quota, windows: 1}
	for _, i := range these {
		if r.all || r.sure(open[i]) {
			br.events = append(br.events, open[i])
		}
	}
	br.span = spanOf(br.events)
	return br
}

// refreshedMeter counts the units that may have come since the last certain silence before t.
type refreshedMeter struct {
	refreshed
	starts []event
	i      int
	units  int64
	// until is the last end of those that may have started the window anew.
	until int64
}

func (r refreshed) usage(h *history) meter { return r.meter(h) }

func (r refreshed) meter(h *history) *refreshedMeter {
	m := &refreshedMeter{refreshed: r, starts: h.counted(r.all || r.every), until: minTime}
	if h.placed != nil {
		m.units, m.until = h.placed.units, h.placed.until
	}
	return m
}

func (m *refreshedMeter) unit() int64 { return 1 }

func (m *refreshedMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.take(&m.starts[m.i])
	}
	if t >= m.until+m.sizeTo {
		return 1 - m.quota // no window can be open
	}
	return m.units - m.quota + 1
}

// take takes the next request, and tells whether it comes after a certain silence.
func (m *refreshedMeter) take(ev *event) (anew bool) {
	if anew = ev.s >= m.until+m.sizeTo; anew {
		m.units = 0
	}
	m.units += m.charge(ev)
	m.until = max(m.until, m.renewed(ev))
	return anew
}

// charge returns the units that a request may have been counted with.
func (m *refreshedMeter) charge(ev *event) int64 {
	if m.all || ev.outcome != timeline.Denied {
		return ev.cost
	}
	return 0
}

// renewed returns until when a request may have started the window anew, minTime if it did not.
func (m *refreshedMeter) renewed(ev *event) int64 {
	if m.all || m.may(*ev) {
		return ev.e
	}
	return minTime
}

// sinceSilence returns the requests that may have come after the last certain silence before a denial, or
// before a ban that may have caused it, and mattered to it; itself left out.
func (of scope) sinceSilence(h *history, d event) []event {
	var out []event
	until := minTime
	for _, ev := range h.counted(of.all || of.every) {
		if ev.s > d.e {
			break
		}
		if ev.s >= until+of.silence && ev.s <= d.s-of.ban {
			out = out[:0]
		}
		if until = max(until, ev.e); ev.seq != d.seq {
			out = append(out, ev)
		}
	}
	return out
}

func (r refreshed) scope() scope {
	return scope{memory: r.sizeTo, full: r.quota, all: r.all, silence: r.sizeTo, every: r.every}
}

// newRefreshModel returns the model of a fixed window that requests start anew.
func newRefreshModel(p spec.Policy) model {
	tally := tallyModel{refreshed: newRefreshed(p), scale: 1}
	return ttlModel{around{tally}, tally.size, tally.size, p.Refresh == spec.RefreshAdmitted}
}

// tallyModel is a quota that never comes back: its count is what was counted.
type tallyModel struct {
	base
	refreshed
	scale int64
}

func (r tallyModel) traits() traits { return traits{scale: r.scale, counted: r.all} }

func (r tallyModel) scaled(k int64) model {
	r.scale *= k
	return r
}

func (r tallyModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 1), zone: newZone(begin)}
}

func (r tallyModel) admit(m memoryState, a ask) []memoryState {
	*m.count(0) += a.cost
	return onlyIf(*m.count(0) <= r.quota, m)
}

func (r tallyModel) deny(m memoryState, a ask) []memoryState {
	full := *m.count(0)+a.cost > r.quota
	if r.all {
		*m.count(0) = r.quota
	}
	return onlyIf(full, m)
}

func (r tallyModel) pass(m memoryState, a ask) []memoryState {
	if r.all {
		return r.admit(m, a)
	}
	return onlyIf(*m.count(0)+a.cost <= r.quota, m)
}

// swept of a window that requests start anew is that of one which nothing ends, forgotten after a silence.
func (r refreshed) swept() overSweep {
	only := expiring{forgetting: forgetting{ttl: r.size, longest: r.size, banned: r.banned || !r.every}}
	anew := func() overSweep { return &atMostOver{quota: r.quota} }
	return &expiringOver{expiring: only, anew: anew, sweep: anew(), linking: true,
		first: minTime, after: minTime}
}

// atMostOver counts all admissions.
type atMostOver struct {
	quota, units int64
	counted      []event
}

func (x *atMostOver) advance(_, ended []event, _, _ int64) *alarm {
	for i := range ended {
		ev := &ended[i]
		x.counted = append(x.counted, *ev)
		if x.units += ev.cost; x.units > x.quota {
			from := x.counted[0].s
			for i := range x.counted {
				from = min(from, x.counted[i].s)
			}
			br := breach{kind: verdict.OverAdmission, seen: x.units, bound: x.quota, span: ev.e - from,
				windows: 1}
			return &alarm{breach: br, from: from, to: ev.e, placing: x.counted}
		}
	}
	return nil
}
