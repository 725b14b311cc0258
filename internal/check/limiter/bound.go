package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Bound asks the two questions of one policy. Both answers are sound. A breach proves that no decision times
// inside the intervals, no order and no phase of the box explain the history.
type Bound interface {
	// Over returns admissions that the policy could not all admit, or nil.
	Over(h *history.History) *Breach
	// Usage returns a meter that bounds from above how much may be in use at an instant.
	Usage(h *history.History) Meter
	// Scope tells what else the answers about denials depend on.
	Scope() Scope
}

// Scope is what a bound tells of itself. Durations are nanoseconds.
type Scope struct {
	// Memory is how long before a denial an admission may be decided and still count against the denial.
	Memory int64
	// Full is how many units must be in use, or counted, for a request of cost 1 to be denied.
	Full int64
	// All: denied requests are counted too.
	All bool
	// Crowd: a denial may explain other denials, so NoFirst is asked too.
	Crowd bool
	// Late: requests are counted when they are complete. The meter follows these charges. moments returns the
	// events at whose starts it may grow, ascending.
	Late    bool
	moments func(h *history.History) []history.Event
	// Low: nothing bounds what is in use, so every denial is explained.
	Low bool
	// Ban is how long a denial explains the denials after it; 0: it explains none.
	Ban int64
	// Growth, unless nil, says how bans grow; Ban is then the longest.
	Growth *growth
	// Silence is how long a silence must be to end a window that requests renew. Every: denied requests renew
	// the window too. Silence is 0 where Memory says all.
	Silence int64
	Every   bool
}

// Breach is a proved contradiction inside one history.
type Breach struct {
	Kind result.Kind
	// Seen and Bound are the fields of result.Finding with these names.
	Seen, Bound int64
	// Span is the length of time for which the bound was computed, in nanoseconds, clock errors included.
	Span int64
	// Events are the witness, in any order.
	Events []history.Event
	// Asked is the Seq of the denial of an under-admission.
	Asked int
	// Windows is the number of windows that a windowed bound spans, 0 for others.
	Windows int64
	// Open: every phase of the windows was refuted. Amid: the proof uses requests outside the witness,
	// whatever their answers were.
	Open, Amid bool
	// Creator is the first request of a bucket that was created with less than its burst, and that has
	// admitted too many units since. nil for other breaches.
	Creator *history.Event
	// Roomless: the first event was admitted although the other events left no room for it. These are denied
	// requests that counted, or requests in flight.
	Roomless bool
	// Crowd: none of the denials can be the first.
	Crowd bool
}

// Meter bounds from above what may be in use. It is asked at instants that do not decrease.
type Meter interface {
	// Excess compares two loads at the instant t: the greatest possible one, and the greatest that still
	// admits a request of cost 1. It returns the first less the second. A denial of cost c at t is explained
	// if excess + (c-1)*unit > 0. Unit is one unit of cost.
	Excess(t int64) int64
	Unit() int64
}

// inUse counts the units that may be in use while time goes on.
type inUse struct {
	// starts are the requests that have not begun yet, ascending by Start. ends are those that have not
	// surely ended, ascending by End.
	starts []history.Event
	ends   []history.Ending
	used   int64
}

// Unit is that of a meter of whole units.
func (*inUse) Unit() int64 { return 1 }

// begin adds the requests that may have begun by t.
func (u *inUse) begin(t int64) {
	for ; len(u.starts) > 0 && u.starts[0].Start <= t; u.starts = u.starts[1:] {
		u.used += u.starts[0].Cost
	}
}

// end takes off the requests that had surely ended before t.
func (u *inUse) end(t int64) {
	for ; len(u.ends) > 0 && u.ends[0].End < t; u.ends = u.ends[1:] {
		u.used -= u.ends[0].Cost
	}
}

// UnexplainedBy returns the indices in h.Denied of the denials that b cannot explain; nil: it explains all.
func UnexplainedBy(h *history.History, b Bound) []int32 {
	of := b.Scope()
	if len(h.Denied) == 0 || of.Low {
		return nil
	}
	counted := h.Counted(of.All)
	if of.Late {
		counted = of.moments(h)
	}
	out := unexplained(h, b.Usage(h), counted, of.All)
	if of.Growth != nil && !h.Joined(history.MaxTime) {
		return of.Growth.unexplained(h, out)
	}
	if of.Ban > 0 {
		return unbanned(h, out, of.Ban)
	}
	return out
}

// UnderBreach returns the breach of the denial h.Denied[j], which b cannot explain. Its events are the denial
// and every request that may have counted against the denial.
func UnderBreach(h *history.History, b Bound, j int32) *Breach {
	d, of, m := *h.Denial(j), b.Scope(), b.Usage(h)
	best := m.Excess(d.Start)
	br := &Breach{Kind: result.UnderAdmission, Bound: of.Full, Span: d.End - d.Start, Asked: d.Seq}
	br.Events = []history.Event{d}
	asked := h.Counted(of.All)
	if of.Late {
		asked = of.moments(h)
	}
	for _, ev := range asked {
		if ev.Seq != d.Seq && ev.Start > d.Start && ev.Start <= d.End {
			best = max(best, m.Excess(ev.Start))
		}
	}
	br.Events = append(br.Events, of.mattering(h, d)...)
	// excess is the load less full-1 units. Rounded up, the load is the most units that may have been in use.
	load := best + (of.Full-1)*m.Unit()
	if of.All {
		load -= d.Cost * m.Unit()
	}
	br.Seen = max(0, -history.FloorDiv(-load, m.Unit()))
	return br
}

// mattering returns the requests, other than d, that may have counted against the denial d.
func (of Scope) mattering(h *history.History, d history.Event) []history.Event {
	if of.Silence > 0 {
		return of.sinceSilence(h, d)
	}
	var out []history.Event
	for _, ev := range h.Counted(of.All) {
		if ev.Seq != d.Seq && ev.Start <= d.End && ev.End >= d.Start-of.Memory {
			out = append(out, ev)
		}
	}
	return out
}

// EdgesOf returns the edges of a recording for a limit, or nil if the recording has no edges. The error of
// the clocks moves both edges inwards.
func EdgesOf(h timeline.Header, limit spec.Limit) *history.Edges {
	if h.CompleteFrom == 0 && h.CompleteUntil == 0 {
		return nil
	}
	e := &history.Edges{Until: history.MaxTime, Begun: history.MaxTime, Drop: true}
	if from := int64(h.CompleteFrom); from > 0 {
		e.From = from + int64(h.ClockError+h.Drift(h.CompleteFrom))
	}
	if until := int64(h.CompleteUntil); until != 0 {
		e.Until = until - int64(h.ClockError+h.Drift(h.CompleteUntil))
	}
	for _, p := range limit {
		e.Memory = max(e.Memory, NewBound(p, 0, 0).Scope().Memory)
		e.Drop, e.Renews = e.Drop && ChangesNothing(p), e.Renews || p.TTL > 0
		if RemembersStart(p) || p.Refill == spec.RefillInterval {
			e.Begun, e.Again = e.Until, e.Again || p.TTL > 0
		}
		e.Opened = e.Opened || p.Windowed() && p.Align == spec.AlignFirst
	}
	return e
}

// Scratch answers the questions of a bound without a witness, and reuses its memory. It serves many calls:
// one history under policies that differ in one parameter, or very many small histories. The zero value is
// ready. It serves one goroutine.
type Scratch struct{ sweep sweep }

// Refutes tells whether JudgeOne would return a breach.
func (a *Scratch) Refutes(h *history.History, b Bound, mode result.Conformance) bool {
	return mode != result.LowerBound && b.Over(h) != nil ||
		mode != result.UpperBound && (a.under(h, b) || NoFirst(h, b) != nil) ||
		(mode == "" || mode == result.Exact) && Banned(h, b) != nil
}

// under tells whether UnexplainedBy would return any denial.
func (a *Scratch) under(h *history.History, b Bound) bool {
	of := b.Scope()
	if of.Low || of.Late || of.Ban > 0 {
		return len(UnexplainedBy(h, b)) > 0
	}
	if len(h.Denied) == 0 {
		return false
	}
	pending, out := a.sweep.pending[:0], a.sweep.out[:0]
	a.sweep = sweep{h: h, m: b.Usage(h), own: of.All, pending: pending, out: out, once: true}
	return len(a.sweep.unexplained(h.Counted(of.All))) > 0
}
