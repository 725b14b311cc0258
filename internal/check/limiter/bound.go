// Package limiter has the limiters that are judged: one file a limiter, one file an axis. Each has two faces.
//
// A Bound asks the two questions of a whole history, or of one block after the other, in O(n log n): were
// more admitted than any decision times allow, and is there a denial that no instant of its interval
// explains? It may miss, and never accuses.
//
// A Model is the limiter as a timed automaton: what the exact search (package search) runs on zones. At a
// single point it is the limiter of package reference, which a test holds it to.
//
// An axis (ban.go, ttl.go, charged.go, ranges.go) wraps both faces of another limiter.
package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Bound asks the two questions of one policy about a history. Both answers are sound: a breach proves that no
// decision times inside the intervals, no order and (for a box of phases) no phase of the box explains the
// history.
type Bound interface {
	// Over returns the admissions that could not all be admitted, or nil.
	Over(h *history.History) *Breach
	// Usage returns the meter that bounds from above how much may be in use at an instant.
	Usage(h *history.History) Meter
	// Scope is what else the questions of denials depend on.
	Scope() Scope
}

// Scope is what a bound says of itself.
type Scope struct {
	// Memory is how long before a denial an admission can have been decided and still count against it, in
	// nanoseconds.
	Memory int64
	// Full is the number of units that must be in use, or counted, before a request of cost 1 is denied.
	Full int64
	// All tells that denied requests are counted too.
	All bool
	// Crowd tells that a denial explains others, and that of many denials one is asked as the first.
	Crowd bool
	// Late: requests are counted when they are complete, and the meter follows their charges.
	Late bool
	// Low: nothing bounds what may be in use, so that every denial is explained.
	Low bool
	// Ban is how long, in nanoseconds, a denial explains those that follow it; 0 where it explains none.
	Ban int64
	// Silence is how long one must be, in nanoseconds, for a window that requests start anew to end, and
	// every tells that denied requests start it anew; 0 where memory says all.
	Silence int64
	Every   bool
}

// Breach is a proved contradiction inside one history.
type Breach struct {
	Kind verdict.Kind
	// Seen and bound are what Finding calls Seen and Bound.
	Seen, Bound int64
	// Span is the widened length of time the bound was computed for, in nanoseconds.
	Span int64
	// Events are the witness, in any order.
	Events []history.Event
	// Asked is the number of the denial of an under-admission.
	Asked int
	// Windows is the number of windows a windowed bound spans, 0 elsewhere.
	Windows int64
	// Open tells that every phase of the windows was refuted. amid: it is one among requests that are not in
	// the witness, and whatever these were answered.
	Open, Amid bool
	// Creator is the first request of a bucket that began with less than it holds, since when the admissions
	// were too many; else nil.
	Creator *history.Event
	// Roomless: the first of the events was admitted although others, denied ones that counted or ones in
	// flight, left no room for it.
	Roomless bool
	// Crowd: none of the denials can be the first.
	Crowd bool
}

// Meter bounds from above what may be in use, along a sweep of instants that do not decrease.
type Meter interface {
	// Excess returns, at instant t, by how much the greatest possible load exceeds the greatest that still
	// admits a request of cost 1: a denial of cost c at t is explained if excess + (c-1)*unit > 0. One unit
	// of cost is unit.
	Excess(t int64) int64
	Unit() int64
}

// NewBound returns the bound of a policy. from and to are the box of phases, which only windowed policies
// read.
func NewBound(p spec.Policy, from, to int64) Bound { return boundAmong(p, from, to, false) }

// NewBoundAmong returns the bound of one of several policies: a denied request that it counts may have opened
// a window, as another policy may have denied it.
func NewBoundAmong(p spec.Policy, from, to int64) Bound {
	return boundAmong(p, from, to, p.Count == spec.CountAll)
}

// boundAmong returns the bound of a policy. others: a request that another policy denied may have opened a
// window.
func boundAmong(p spec.Policy, from, to int64, others bool) Bound {
	if tight, loose := p.Ends(); tight != loose {
		if p.Queued() && p.BurstTo > 0 {
			// a longer one that starts at a level has more in front of the first
			loose.Start = spec.StartUnknown
		}
		return sided{boundAmong(tight, from, to, others), boundAmong(loose, from, to, others)}
	}
	switch {
	case p.Count == spec.CountOwn:
		return newOwning(p, from, to)
	case p.TTL > 0:
		return newExpiring(p, from, to, others)
	case p.Charge == spec.ChargeCompletion && !p.InFlight():
		return charged{kindOf(p).counting(p, history.Interval{From: from, To: to}), history.StayOf(p)}
	case p.Ban > 0:
		return newBanned(p, from, to, others)
	}
	return plainBound(p, from, to, others)
}

// UnexplainedBy returns the indices in h.Denied that b cannot explain.
func UnexplainedBy(h *history.History, b Bound) []int32 {
	of := b.Scope()
	if len(h.Denied) == 0 || of.Low {
		return nil
	}
	counted := h.Counted(of.All)
	if of.Late {
		counted = chargesOf(h).Possible
	}
	out := unexplained(h, b.Usage(h), counted, of.All)
	if of.Ban > 0 {
		return unbanned(h, out, of.Ban)
	}
	return out
}

// UnderBreach returns the breach of the denial h.Denied[j], which b cannot explain: the denial and everything
// that may have counted against it.
func UnderBreach(h *history.History, b Bound, j int32) *Breach {
	d, of, m := h.Denied[j], b.Scope(), b.Usage(h)
	best := m.Excess(d.Start)
	br := &Breach{Kind: verdict.UnderAdmission, Bound: of.Full, Span: d.End - d.Start, Asked: d.Seq}
	br.Events = []history.Event{d}
	asked := h.Counted(of.All)
	if of.Late {
		asked = chargesOf(h).Possible
	}
	for _, ev := range asked {
		if ev.Seq != d.Seq && ev.Start > d.Start && ev.Start <= d.End {
			best = max(best, m.Excess(ev.Start))
		}
	}
	br.Events = append(br.Events, of.mattering(h, d)...)
	// excess is the load less full-1 units; at most this many units, rounded up, could have been in use.
	load := best + (of.Full-1)*m.Unit()
	if of.All {
		load -= d.Cost * m.Unit()
	}
	br.Seen = max(0, -history.FloorDiv(-load, m.Unit()))
	return br
}

// mattering returns the requests that may have counted against a denial, itself left out.
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

// EdgesOf returns the edges of a recording for a limit, or nil if it has none. What the clocks leave open is
// outside.
func EdgesOf(h timeline.Header, limit spec.Limit) *history.Edges {
	if h.CompleteFrom == 0 && h.CompleteUntil == 0 {
		return nil
	}
	e := &history.Edges{Until: history.MaxTime, Begun: history.MaxTime, Drop: true}
	if from := int64(h.CompleteFrom); from > 0 {
		e.From = from + int64(h.ClockError+h.Drift(h.CompleteFrom))
	}
	if until := int64(h.CompleteUntil); until > 0 {
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

// Scratch asks the questions of a bound for the answer alone, without a witness, and again and again in the
// same memory: of one history under policies that differ in one parameter, or of very many small histories.
// The zero value is ready. It serves one goroutine.
type Scratch struct{ sweep sweep }

// Refutes is JudgeOne without its breach.
func (a *Scratch) Refutes(h *history.History, b Bound, mode verdict.Conformance) bool {
	return mode != verdict.LowerBound && b.Over(h) != nil ||
		mode != verdict.UpperBound && (a.under(h, b) || NoFirst(h, b) != nil)
}

// under tells whether UnexplainedBy finds anything.
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

// Sweeping is a bound that asks of the admissions of a recording block by block too.
type Sweeping interface {
	Bound
	Sweep() Sweep
}

// Sweep asks the question of Bound.Over block by block, and keeps of what came before only what can matter.
// A history in memory is one block.
type Sweep interface {
	// Take returns nil as long as all blocks may be right. Nothing is taken after an alarm.
	Take(b Block) *Alarm
}

// Block is what a recording has from one horizon to the next.
type Block struct {
	// Begun are the requests that begin before the horizon, and in no block before, ascending by start. Of
	// them the admissions count.
	Begun []history.Event
	// Ended are the admissions of this block, or of earlier ones, that end before the horizon, and ByEnd
	// their indices ascending by end.
	Ended []history.Event
	ByEnd []int32
	// Oldest is the earliest start of an admission that ends later. No other request begins before the
	// horizon. Both are MaxTime in the last block.
	Oldest, Horizon int64
}

// MostListed is the most of the requests in a breach that are listed.
const MostListed = 1 << 14

// Alarm is a breach whose events are not listed: they lie between from and to. placing are requests by which
// it is known where windows begin.
type Alarm struct {
	Breach
	From, To int64
	Placing  []history.Event
}

// TooDear is the alarm of the first admission that costs more than a full start admits, or nil.
func TooDear(admitted []history.Event, full int64) *Alarm {
	br := tooDear(admitted, full)
	if br == nil {
		return nil
	}
	return &Alarm{Breach: *br, From: br.Events[0].Start, To: br.Events[0].End}
}

// SweepingOf returns the bound of a policy without ranges that counts admissions.
func SweepingOf(p spec.Policy) Sweeping {
	if p.TTL > 0 {
		alive := p
		alive.TTL = 0
		return sweptLives{newExpiring(p, 0, 0, false), SweepingOf(alive)}
	}
	if p.Queued() {
		return newQueue(p)
	}
	return NewBucket(p)
}

// SweepingWindows returns the bound of the admissions in windows that requests place; others: what another
// policy denied, or one with a smaller quota, may have placed them too.
func SweepingWindows(p spec.Policy, others bool) Sweeping {
	f := NewFirst(p)
	f.others = p.Count == spec.CountOwn || f.all && others
	if p.Count == spec.CountOwn || f.all && p.Ban > 0 { // inside a ban a denied request is not counted
		p.Count, f.all = spec.CountAdmitted, false
	}
	if p.Refreshes() {
		return newRefreshed(p)
	}
	return f
}
