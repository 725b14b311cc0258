package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

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
		refreshedUntil(out, p, h)
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

// refreshedUntil takes what a history has before the instant of w.
func refreshedUntil(w *placement, p spec.Policy, h *history) {
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

// handed returns the openings that were handed on, with what a history tells of them.
func (in *opener) handed(w *placement, sizeTo int64) []opening {
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

// handed returns the latest theoretical arrival time of b that never has more in use than l. A bucket that was
// not known to be the same, and may have other units, has as many in use, rounded up.
func (b bucket) handed(l *level) int64 {
	tat := l.tat
	if b.n != l.n || b.per != l.per {
		units := -floorDiv(l.at*l.n-l.tat, l.per)
		tat = l.at*b.n + units*b.per
	}
	return min(tat, l.at*b.n+b.burst*b.per)
}

// mostUsed returns, of the buckets that a policy may be, the one with the most in use: the slowest and
// largest; ok=false where it is no bucket, or counts requests when they are complete.
func mostUsed(p spec.Policy) (b bucket, ok bool) {
	if p.HasWindow() || p.Completes() {
		return b, false
	}
	if p.Count == spec.CountOwn {
		p.Count = spec.CountAll // as may what it admitted and another policy denied
	}
	return newBucket(slowest(p)), true
}

// levelAt returns what may be in use of a policy's bucket at an instant, of what was decided before for sure;
// nil where it has none, or one that may be created with less than it holds.
func levelAt(p spec.Policy, h *history, t int64) *level {
	b, ok := mostUsed(p)
	if !ok || b.startLeast < b.burst { // when it was created is not known
		return nil
	}
	m := b.meter(h)
	m.excess(t)
	return &level{at: t, tat: max(m.tat, t*b.n), n: b.n, per: b.per}
}

// placed tells whether requests place what pol remembers: the first one its windows, or its bucket that is
// not full, and after each time that it was forgotten another one. Left out of a witness they would place it
// elsewhere, and the witness could fail for what is nothing wrong in the recording.
func placed(pol spec.Policy) bool {
	return pol.Windowed() && pol.Align == spec.AlignFirst && !pol.Refreshes() || pol.TTL > 0 &&
		remembersStart(pol)
}

// keepsItsBeginning tells whether p remembers for ever when it was created: one that starts otherwise than
// full, or is filled up in batches from then on. Where a recording began amid traffic that is not known.
func keepsItsBeginning(p spec.Policy) bool {
	return remembersStart(p) || p.Start == spec.StartUnknown || p.Refill == spec.RefillInterval
}

// remembersStart tells whether p is known to hold less than a full bucket when it is created.
func remembersStart(p spec.Policy) bool {
	_, p = p.Ends()
	_, most := p.StartLevels()
	return most < p.Full()
}

// startsLow tells whether p may hold less than a full bucket when it is created: of a range of bursts, the
// largest.
func startsLow(p spec.Policy) bool {
	_, p = p.Ends()
	least, _ := p.StartLevels()
	return least < p.Full()
}
