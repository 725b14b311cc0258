package limiter

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// mostHanded is the largest number of windows that are told apart: more there are only where no admission is
// certain.
const mostHanded = 1 << 10

// NeedsPlacement tells whether what came before a piece has placed windows of a policy. Those of a counter
// among several policies are bounded wherever they begin.
func NeedsPlacement(p spec.Policy) bool {
	return p.Fixed() && p.Align == spec.AlignFirst
}

// ChangesNothing tells whether a request that p denies leaves it as it was; where a silence places what it
// remembers, there was none.
func ChangesNothing(p spec.Policy) bool {
	return (p.Count == "" || p.Count == spec.CountAdmitted) && p.Ban == 0 && p.Refresh != spec.RefreshAll &&
		(p.TTL == 0 || !Placed(p))
}

// PlacementAt returns what is known at an instant t inside of a history, in which none is missing that may
// have been decided until a later one, under a policy that is one of several or alone. It is nil where the
// partition may have been forgotten before.
func PlacementAt(p spec.Policy, several bool, h *history.History, t, until int64) *history.Placement {
	if p.TTL > 0 {
		if h = reborn(p, h, t); ForgottenBy(p, h, t, until) {
			return nil
		}
	}
	out := &history.Placement{Since: t, Until: history.MinTime}
	if p.Refreshes() {
		refreshedUntil(out, p, h)
		return out
	}
	f := NewFirst(p)
	f.others = p.Count == spec.CountOwn || f.all && (several || Ranged(p)) // see SweptWindows
	out.Windows = f.Openings(h)
	for n := len(out.Windows); n > 0 && out.Windows[n-1].From > until; n-- {
		out.Windows = out.Windows[:n-1]
	}
	next := history.Opening{From: until + 1, To: history.MaxTime}
	if n := len(out.Windows); n > 0 {
		next.From = max(next.From, out.Windows[n-1].From+f.size)
	}
	for out.Windows = append(out.Windows, next); out.Windows[0].To < history.MaxTime &&
		out.Windows[0].To+f.SizeTo <= t; {
		out.Windows = out.Windows[1:]
	}
	if out.Windows = slices.Clone(out.Windows); len(out.Windows) > mostHanded {
		// the first one that is not over
		out.Windows = []history.Opening{{From: t - f.SizeTo + 1, To: history.MaxTime}}
	}
	return out
}

// reborn returns a history from the last request before an instant t, or that all from t on follow, that
// surely found nothing remembered.
func reborn(p spec.Policy, h *history.History, t int64) *history.History {
	f := forgettingOf(p)
	k, last := 0, history.MinTime
	for i := 0; i < len(h.All); {
		n := f.life(h.All[i:])
		last = max(last, history.LastEnd(h.All[i:i+n]))
		if i += n; i == len(h.All) || last >= t {
			break
		}
		k = i
	}
	if k == 0 {
		return h
	}
	return h.From(k)
}

// ForgottenBy tells whether a partition may have been forgotten after one of the requests that were decided
// before t.
func ForgottenBy(p spec.Policy, h *history.History, t, until int64) bool {
	f := forgettingOf(p)
	for _, silence := range f.silences(closed(h, until)) {
		if silence.From < t+f.ttl {
			return true
		}
	}
	return false
}

// closed returns the events of h and, after them, one that may come next.
func closed(h *history.History, until int64) []history.Event {
	return append(slices.Clone(h.All), history.Event{Start: until + 1, End: until + 1})
}

// refreshedUntil takes what a history has before the instant of w.
func refreshedUntil(w *history.Placement, p spec.Policy, h *history.History) {
	tight, _ := p.Ends()
	if p.Count == spec.CountOwn { // see newOwning
		tight.Count, tight.Refresh = spec.CountAll, spec.RefreshAll
	}
	m := newRefreshed(tight).meter(h)
	w.Units, w.Until = m.units, m.until
	for i := range m.starts {
		ev := &m.starts[i]
		if ev.Start >= w.Since {
			return
		}
		if m.take(ev) {
			w.Units = 0
		}
		if ev.End < w.Since { // else it is in the history that follows
			w.Units += m.charge(ev)
			w.Until = max(w.Until, m.renewed(ev))
		}
	}
}

// handed returns the openings that were handed on, with what a history tells of them.
func (in *opener) handed(w *history.Placement, sizeTo int64) []history.Opening {
	out := slices.Clone(w.Windows)
	at := w.Since
	for i := range out {
		if at < history.MaxTime {
			out[i].To = min(out[i].To, in.earliestEnd(at))
		}
		at = history.MaxTime
		if out[i].To < history.MaxTime {
			at = out[i].To + sizeTo
		}
	}
	if last := &out[len(out)-1]; last.From > w.Since { // its opener was not known yet
		if at := in.earliestDecision(last.From); at < history.MaxTime {
			last.From = at
		}
	}
	return out
}

// handed returns the latest theoretical arrival time of b that never has more in use than l. A bucket that
// was not known to be the same, and may have other units, has as many in use, rounded up.
func (b Bucket) handed(l *history.Level) int64 {
	tat := l.TAT
	if b.N != l.N || b.Per != l.Per {
		units := -history.FloorDiv(l.At*l.N-l.TAT, l.Per)
		tat = l.At*b.N + units*b.Per
	}
	return min(tat, l.At*b.N+b.Burst*b.Per)
}

// mostUsed returns, of the buckets that a policy may be, the one with the most in use: the slowest and
// largest; ok=false where it is no bucket, or counts requests when they are complete.
func mostUsed(p spec.Policy) (b Bucket, ok bool) {
	if p.HasWindow() || p.Completes() {
		return b, false
	}
	if p.Count == spec.CountOwn {
		p.Count = spec.CountAll // as may what it admitted and another policy denied
	}
	return NewBucket(Slowest(p)), true
}

// LevelAt returns what may be in use of a policy's bucket at an instant, of what was decided before for sure;
// nil where it has none, or one that may be created with less than it holds.
func LevelAt(p spec.Policy, h *history.History, t int64) *history.Level {
	b, ok := mostUsed(p)
	if !ok || b.startLeast < b.Burst { // when it was created is not known
		return nil
	}
	m := b.meter(h)
	m.Excess(t)
	return &history.Level{At: t, TAT: max(m.tat, t*b.N), N: b.N, Per: b.Per}
}

// Placed tells whether requests place what pol remembers: the first one its windows, or its bucket that is
// not full, and after each time that it was forgotten another one. Left out of a witness they would place it
// elsewhere, and the witness could fail for what is nothing wrong in the recording.
func Placed(pol spec.Policy) bool {
	return pol.Windowed() && pol.Align == spec.AlignFirst && !pol.Refreshes() || pol.TTL > 0 &&
		RemembersStart(pol)
}

// KeepsItsBeginning tells whether p remembers for ever when it was created: one that starts otherwise than
// full, or is filled up in batches from then on. Where a recording began amid traffic that is not known.
func KeepsItsBeginning(p spec.Policy) bool {
	return RemembersStart(p) || p.Start == spec.StartUnknown || p.Refill == spec.RefillInterval
}

// RemembersStart tells whether p is known to hold less than a full bucket when it is created.
func RemembersStart(p spec.Policy) bool {
	_, p = p.Ends()
	_, most := p.StartLevels()
	return most < p.Full()
}

// StartsLow tells whether p may hold less than a full bucket when it is created: of a range of bursts, the
// largest.
func StartsLow(p spec.Policy) bool {
	_, p = p.Ends()
	least, _ := p.StartLevels()
	return least < p.Full()
}
