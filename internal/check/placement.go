package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// placement is what is known at an instant, from what was decided before, of fixed windows that requests
// place.
//
//	piece k     ..[ window )....[ window )..[ window )..          until
//	                                   since
//	piece k+1                          |.[ window )..[ window )...
type placement struct {
	// since is the instant: every request that may have been decided since then is in the history.
	since int64
	// windows are those that may be open at that instant or begin after it, as far as they are known; the
	// ones before the first of them are over by then.
	windows []opening
	// units are the most that may have come since the last certain silence, of what was decided before and is
	// not in the history, where requests start windows anew; until is the last end of those that may have
	// done so.
	units, until int64
}

// mostHanded is the largest number of windows that are told apart: more there are only where no admission is
// certain.
const mostHanded = 1 << 10

// needsPlacement tells whether what came before a piece has placed windows of a policy. Those of a counter
// among several policies are bounded wherever they begin.
func needsPlacement(p spec.Policy) bool {
	return p.Fixed() && p.Align == spec.AlignFirst
}

// changesNothing tells whether a request that p denies leaves it as it was; where a silence places what it
// remembers, there was none.
func changesNothing(p spec.Policy) bool {
	return (p.Count == "" || p.Count == spec.CountAdmitted) && p.Ban == 0 && p.Refresh != spec.RefreshAll &&
		(p.TTL == 0 || !placed(p))
}

// placementAt returns what is known at an instant t inside of a history, in which none is missing that may
// have been decided until a later one, under a policy that is one of several or alone. It is nil where the
// partition may have been forgotten before.
func placementAt(p spec.Policy, several bool, h *history, t, until int64) *placement {
	if p.TTL > 0 {
		if h = reborn(p, h, t); forgottenBy(p, h, t, until) {
			return nil
		}
	}
	out := &placement{since: t, until: minTime}
	if p.Refreshes() {
		out.refreshed(p, h)
		return out
	}
	f := newFirst(p)
	f.others = p.Count == spec.CountOwn || f.all && (several || ranged(p)) // see sweptWindows
	out.windows = f.openings(h)
	for n := len(out.windows); n > 0 && out.windows[n-1].from > until; n-- {
		out.windows = out.windows[:n-1]
	}
	next := opening{until + 1, maxTime}
	if n := len(out.windows); n > 0 {
		next.from = max(next.from, out.windows[n-1].from+f.size)
	}
	for out.windows = append(out.windows, next); out.windows[0].to < maxTime &&
		out.windows[0].to+f.sizeTo <= t; {
		out.windows = out.windows[1:]
	}
	if out.windows = slices.Clone(out.windows); len(out.windows) > mostHanded {
		out.windows = []opening{{t - f.sizeTo + 1, maxTime}} // the first one that is not over
	}
	return out
}

// reborn returns a history from the last request before an instant t, or that all from t on follow, that
// surely found nothing remembered.
func reborn(p spec.Policy, h *history, t int64) *history {
	f := forgettingOf(p)
	k, last := 0, minTime
	for i := 0; i < len(h.all); {
		n := f.life(h.all[i:])
		last = max(last, lastEnd(h.all[i:i+n]))
		if i += n; i == len(h.all) || last >= t {
			break
		}
		k = i
	}
	if k == 0 {
		return h
	}
	return h.from(k)
}

// forgottenBy tells whether a partition may have been forgotten after one of the requests that were decided
// before t.
func forgottenBy(p spec.Policy, h *history, t, until int64) bool {
	f := forgettingOf(p)
	for _, silence := range f.silences(closed(h, until)) {
		if silence.from < t+f.ttl {
			return true
		}
	}
	return false
}

// closed returns the events of h and, after them, one that may come next.
func closed(h *history, until int64) []event {
	return append(slices.Clone(h.all), event{s: until + 1, e: until + 1})
}

// refreshed takes what a history has before the instant.
func (w *placement) refreshed(p spec.Policy, h *history) {
	tight, _ := p.Ends()
	if p.Count == spec.CountOwn { // see newOwning
		tight.Count, tight.Refresh = spec.CountAll, spec.RefreshAll
	}
	m := newRefreshed(tight).meter(h)
	w.units, w.until = m.units, m.until
	for i := range m.starts {
		ev := &m.starts[i]
		if ev.s >= w.since {
			return
		}
		if m.take(ev) {
			w.units = 0
		}
		if ev.e < w.since { // else it is in the history that follows
			w.units += m.charge(ev)
			w.until = max(w.until, m.renewed(ev))
		}
	}
}

// openings returns those that were handed on, with what a history tells of them.
func (w *placement) openings(in *opener, sizeTo int64) []opening {
	out := slices.Clone(w.windows)
	at := w.since
	for i := range out {
		if at < maxTime {
			out[i].to = min(out[i].to, in.earliestEnd(at))
		}
		at = maxTime
		if out[i].to < maxTime {
			at = out[i].to + sizeTo
		}
	}
	if last := &out[len(out)-1]; last.from > w.since { // its opener was not known yet
		if at := in.earliestDecision(last.from); at < maxTime {
			last.from = at
		}
	}
	return out
}

// placementsAt notes what is known at an instant inside of the last piece of the windows that requests place.
// It is nothing where a partition may have been forgotten, or was in use when its recording began: then the
// next piece begins after a silence.
func (x *pieces) placementsAt(t, until int64) {
	e := x.edges(until)
	x.placements = nil
	if !e.opened {
		return
	}
	for _, h := range x.histories {
		if e.from > 0 && !e.placed && (len(h.all) == 0 || max(e.from, h.all[0].s-e.memory) > t) {
			return // what came before the silence is a part of the next piece
		}
	}
	placements := make([]*placement, len(x.histories))
	for i, p := range x.plan.c.limit {
		if !needsPlacement(p) {
			continue
		}
		if placements[i] = placementAt(p, len(x.histories) > 1, x.histories[i], t,
			e.until); placements[i] == nil {
			return
		}
	}
	x.placements = placements
}
