package limiter

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// settled is the bound of a policy that counts the cost of an admitted request when it is complete. The
// charge of each request is an event of its own. It falls into [since, until], and it has an interval of
// units too; see history.Stay.
//
//	over:   an admission needs an instant of its interval at which the charges that were certainly made,
//	        each with its fewest units, leave one unit
//	under:  a denial needs an instant of its interval at which the charges that may have been made, each
//	        with its most units, leave none
//
// Limiters are monotone in charges as they are in admissions (docs/theory.md, section 2). So Over leaves out
// the charges that are not certain. The embedded bound places charges as it places admissions. No number of
// admissions is too many by itself: before the first charge every admission is right.
type settled struct {
	counting
	history.Stay
	// debts is the bucket that may be in debt, opened the windows that charges open. nil: it is another
	// policy.
	debts  *Bucket
	opened *First
}

// counting is a bound that can count other events than admissions. overCounting asks of each admission of a
// history whether the certainly counted events leave room for it.
type counting interface {
	Bound
	overCounting(h *history.History, counted *history.Certain) *Breach
}

// settles returns the bound of a policy with charge=completion.
func settles(p spec.Policy, box history.Interval) Bound {
	stay := history.StayOf(p)
	if stay.Reserve > 0 {
		return newReserved(p, box)
	}
	s := settled{counting: kindOf(p).counting(p, box), Stay: stay}
	switch {
	case p.Bucketed():
		b := NewBucket(p)
		s.debts = &b
	case NeedsPlacement(p):
		f := NewFirst(p)
		s.opened = &f
	}
	return s
}

// charges returns the charges of h as a history of admissions, with the Seq of their requests. most: each
// with its most units, and also those that may not have been made. A charge that may be nothing may open a
// window or not.
func (c settled) charges(h *history.History, most bool) *history.History {
	of := h.Admitted
	if most {
		of = h.Possible
	}
	events := make([]history.Event, 0, len(of))
	for _, ev := range of {
		fewest, units := ev.Settles()
		if c.Single {
			fewest, units = 1, 1
		}
		if !most {
			units = fewest
		}
		if c.opened != nil && most && fewest == 0 {
			ev.Outcome = timeline.Unknown
		}
		ev.Start, ev.End, ev.Cost = ev.Since(), max(ev.Until(), ev.Since()), units
		if units > 0 || c.opened != nil && most {
			events = append(events, ev)
		}
	}
	return history.Of(events)
}

func (c settled) Over(h *history.History) *Breach {
	certain := c.charges(h, false).Admitted
	var br *Breach
	if c.opened != nil {
		br = c.opened.overCharged(h, certain, c.opened.Openings(c.charges(h, true)))
	} else {
		br = c.overCounting(h, history.NewCertain(certain))
	}
	if br != nil {
		br.Events = requestsOf(h, br.Events)
	}
	return br
}

// requestsOf returns the admission that found no room, which is the first event, and the requests of the
// charges that are the others.
func requestsOf(h *history.History, events []history.Event) []history.Event {
	named := map[int]bool{}
	for _, ev := range events[1:] {
		named[ev.Seq] = true
	}
	events = events[:1]
	for _, ev := range h.Admitted {
		if named[ev.Seq] {
			events = append(events, ev)
		}
	}
	return events
}

func (c settled) Usage(h *history.History) Meter {
	charges := c.charges(h, true)
	if c.debts != nil {
		return newDebtMeter(*c.debts, charges)
	}
	if c.opened != nil {
		return c.opened.Usage(charges)
	}
	return c.counting.Usage(charges)
}

func (c settled) Scope() Scope {
	of := c.counting.Scope()
	of.Memory, of.Late = history.Later(of.Memory, c.Most), true
	of.moments = func(h *history.History) []history.Event { return c.charges(h, true).Possible }
	if c.debts != nil {
		of.Memory = endless
	}
	return of
}

// endless is the memory of a bucket that may be in debt: it is longer than any recording.
const endless = history.MaxTime / 4

// overCounting asks of each admission whether some instant of its interval has a unit left beside the charges
// that were certainly made before it. Each charge is placed at its earliest. Between the ends of two charges
// the debt only falls. So it tries the ends of charges, at which the charge itself may come after, and the
// ends of the interval.
//
//	certain        [--a--]   [-b-]
//	admission        s [-----------------] e      try s, the end of a, the end of b, and e
func (b Bucket) overCounting(h *history.History, counted *history.Certain) *Breach {
	certain := counted.Events()
	byEnd := history.OrderByEnd(certain)
	instants := make([]int64, 0, len(certain)+2*len(h.Admitted))
	for i := range certain {
		if certain[i].End < history.MaxTime {
			instants = append(instants, certain[i].End)
		}
	}
	for i := range h.Admitted {
		instants = append(instants, h.Admitted[i].Start, h.Admitted[i].End)
	}
	slices.Sort(instants)
	m := debt{Bucket: b, c: candidatesFor(len(certain), b.N), certain: certain, byEnd: byEnd}
	defer m.c.free()
	waiting, next := []history.Event{}, 0
	for _, t := range slices.Compact(instants) {
		load := m.least(t)
		for ; next < len(h.Admitted) && h.Admitted[next].Start <= t; next++ {
			waiting = append(waiting, h.Admitted[next])
		}
		keep := waiting[:0]
		for _, ev := range waiting {
			switch {
			case load+ev.Cost*b.Per <= b.Burst*b.Per:
			case ev.End <= t:
				return b.inDebt(ev, certain, load)
			default:
				keep = append(keep, ev)
			}
		}
		waiting = keep
	}
	return nil
}

// inDebt returns the breach of an admission that found nothing left.
func (b Bucket) inDebt(ev history.Event, certain []history.Event, load int64) *Breach {
	br := &Breach{Kind: result.OverAdmission, Seen: load/b.Per + ev.Cost, Bound: b.Burst,
		Span: ev.End - ev.Start, Events: []history.Event{ev}}
	for _, c := range certain {
		if c.End < ev.End {
			br.Events = append(br.Events, c)
		}
	}
	return br
}

// debt follows the least that the charges which ended before an instant can have left in use.
type debt struct {
	Bucket
	c           candidates
	certain     []history.Event
	byEnd       []int32
	begun, gone int
}

// least returns the least load at t, in units times Per. It is asked at instants that ascend.
func (m *debt) least(t int64) int64 {
	for ; m.begun < len(m.certain) && m.certain[m.begun].Start <= t; m.begun++ {
		m.c.insert(m.certain[m.begun].Start)
	}
	for ; m.gone < len(m.byEnd) && m.certain[m.byEnd[m.gone]].End < t; m.gone++ {
		ev := &m.certain[m.byEnd[m.gone]]
		m.c.admit(ev.Start, ev.Cost*m.Per)
	}
	if len(m.c.list) == 0 {
		return 0
	}
	return max(m.c.top-t*m.N, 0)
}

// debtMeter bounds from above what charges left in use. A bucket may be below zero, for as long as it takes.
type debtMeter struct {
	Bucket
	inUse
	tat int64
	// any is from when on a charge of any size may have been made.
	any int64
}

func newDebtMeter(b Bucket, charges *history.History) Meter {
	m := &debtMeter{Bucket: b, tat: history.MinTime, any: history.MaxTime}
	known := make([]history.Event, 0, len(charges.Possible))
	for _, ev := range charges.Possible {
		if ev.Cost < history.AnyCost {
			known = append(known, ev)
			continue
		}
		m.any = min(m.any, ev.Start)
	}
	m.starts, m.ends = known, history.Endings(known)
	return m
}

func (m *debtMeter) Unit() int64 { return m.Per }

func (m *debtMeter) Excess(t int64) int64 {
	if t >= m.any {
		return history.MaxTime / 4
	}
	m.begin(t)
	for ; len(m.ends) > 0 && m.ends[0].End < t; m.ends = m.ends[1:] {
		e := m.ends[0]
		m.used -= e.Cost
		m.tat = max(e.End*m.N, m.tat) + e.Cost*m.Per
	}
	at := m.tat
	if m.used > 0 {
		at = max(at, t*m.N)
	}
	return max(at+m.used*m.Per-t*m.N, 0) - (m.Burst-1)*m.Per
}

// LongestDebts returns, by Seq of each denial of h, the longest time from its decision until the bucket p has
// room for it, if nothing else arrives. Each request is charged from its decision on: a later charge of it
// makes no longer wait, beside the time until it comes. Denials for which no time is surely enough are
// missing.
func LongestDebts(p spec.Policy, h *history.History) map[int]time.Duration {
	b, waits := NewBucket(p), map[int]time.Duration{}
	events := slices.Clone(h.Possible)
	for i := range events {
		ev := &events[i]
		_, most := ev.Settles()
		if ev.Cost, ev.End = max(most, p.Reserve), max(ev.Until(), ev.Since()); p.Unit == spec.UnitRequest {
			ev.Cost = 1
		}
	}
	m := newDebtMeter(b, history.Of(events))
	denied := slices.SortedStableFunc(h.Denials(),
		func(a, b *history.Event) int { return cmp.Compare(a.End, b.End) })
	for _, d := range denied {
		if over := m.Excess(d.End) + (d.Cost-1)*b.Per; over < endless {
			waits[d.Seq] = time.Duration(max(0, -history.FloorDiv(-over, b.N)) + d.End - d.Start)
		}
	}
	return waits
}
