package limiter

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// reserved is the bound of a bucket or a fixed window that takes N units at the decision d, and settles the
// difference to the cost at the completion c:
//
//	                 d              c
//	cost > N        +N          +(cost-N)
//	cost < N        +N          -(N-cost)     at most what is counted is given back
//
// Over and Usage place these changes as the bounds of docs/theory.md say: for the least that may be counted,
// takings early and only if they are certain, gifts late and whenever they are possible. For the most it is
// the other way round. It looks at all requests for each question, so it judges at most mostReserved of a
// partition.
type reserved struct {
	history.Stay
	full int64
	// bucket is set for a bucket, opened for windows that requests open, else grid is. open are the openings
	// of the history that is judged.
	bucket *Bucket
	opened *First
	open   []Opening
	grid   Grid
	// plain is the bound of the same limit if each cost is known at the decision.
	plain Bound
}

// mostReserved is how many requests of a partition are judged under a limit that reserves.
const mostReserved = 1 << 11

func newReserved(p spec.Policy, box history.Interval) reserved {
	r := reserved{Stay: history.StayOf(p), full: p.Full(), plain: kindOf(p).counting(p, box)}
	switch {
	case NeedsPlacement(p):
		f := NewFirst(p)
		r.opened = &f
		return r
	case p.Fixed():
		r.grid = NewGrid(p, box.From, box.To)
		return r
	}
	b := NewBucket(p)
	r.bucket = &b
	return r
}

// mark is a change of what is counted. It matters at the instants after `after`. at is where it is placed, if
// that is not later than the instant that is asked for. Less of its units are gone after `gone`. from..to is
// the interval of the decision, seq the Seq of the request.
type mark struct {
	at, after, units, gone, less, from, to int64
	seq                                    int
}

// nobody is the Seq of no request.
const nobody = -1

// by returns the units of m that count at t.
func (m mark) by(t int64) int64 {
	if t > m.gone {
		return m.units - m.less
	}
	return m.units
}

// least returns the marks for the least that may be counted. Later marks come first. A gift may come as soon
// as the request may be complete. By then as much was taken, but time may have refilled it, or another window
// may have begun.
func (r reserved) least(h *history.History) []mark {
	var out []mark
	for _, ev := range h.Possible {
		fewest, _ := ev.Settles()
		since, until := ev.Since(), max(ev.Until(), ev.Since())
		taken, gift := r.Reserve, max(r.Reserve-fewest, 0)
		if gift > 0 {
			out = append(out, mark{at: until, after: since - 1, units: -gift, seq: ev.Seq},
				mark{at: ev.Start, after: min(ev.End, since-1), units: gift, from: ev.Start, to: ev.End,
					seq: ev.Seq})
			taken -= gift
		}
		if !ev.Surely(false) {
			continue
		}
		out = append(out, mark{at: ev.Start, after: ev.End, units: taken, from: ev.Start, to: ev.End,
			seq: ev.Seq})
		if rest := fewest - r.Reserve; rest > 0 {
			out = append(out, mark{at: since, after: max(ev.End, until), units: rest, from: ev.Start,
				to: ev.End, seq: ev.Seq})
		}
	}
	return latestFirst(out)
}

// most returns the marks for the most that may be counted. Later marks come first.
func (r reserved) most(h *history.History) []mark {
	var out []mark
	for _, ev := range h.Possible {
		_, most := ev.Settles()
		if r.Reserve == 1 { // some limiters count the request itself by it, and keep it
			most++
		}
		since, until := ev.Since(), max(ev.Until(), ev.Since())
		taken := mark{at: ev.End, after: ev.Start - 1, units: r.Reserve}
		switch rest := most - r.Reserve; {
		case rest > 0:
			out = append(out, mark{at: until, after: since - 1, units: rest})
		case rest == 0 || !ev.Surely(false):
		case r.bucket != nil && since > ev.End:
			out = append(out, mark{at: since, after: until, units: rest})
		default: // in a window, a gift belongs to what was taken there
			taken.gone, taken.less = until, -rest
		}
		out = append(out, taken)
	}
	return latestFirst(out)
}

// latestFirst sorts marks. Of those at one instant, takings come first.
func latestFirst(marks []mark) []mark {
	slices.SortFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.units, a.units))
	})
	return marks
}

// level returns what is in use at t in a bucket, in units times Per. It is the largest sum of the changes
// since some instant, less what was refilled since. low: changes at one instant count together. The request
// `but` is left out.
func (r reserved) level(marks []mark, t int64, low bool, but int) int64 {
	var sum, most int64
	last := t
	for _, m := range marks {
		if t <= m.after || m.seq == but {
			continue
		}
		if m.units >= history.AnyCost-r.Reserve {
			return endless
		}
		at := min(m.at, t)
		if !low || at != last {
			most = max(most, sum-(t-last)*r.bucket.N)
		}
		sum, last = sum+m.by(t)*r.bucket.Per, at
	}
	return max(most, sum-(t-last)*r.bucket.N)
}

// counted returns what is counted in a window: the takings in it, and gifts from an instant on. The request
// `but` is left out.
func counted(marks []mark, t int64, in func(mark) bool, gifts int64, but int) int64 {
	var sum int64
	for _, m := range marks {
		switch {
		case t <= m.after, m.seq == but:
		case m.units > 0 && in(m), m.units < 0 && m.at >= gifts:
			sum += m.by(t)
		}
	}
	return max(sum, 0)
}

// from tells of takings whether they are placed at t or later.
func from(t int64) func(mark) bool { return func(m mark) bool { return m.at >= t } }

// openings returns when windows may begin: a decision opens one, and so may a completion that takes more.
func (r reserved) openings(h *history.History) []Opening {
	if r.opened == nil {
		return nil
	}
	events := slices.Clone(h.Possible)
	for _, ev := range h.Possible {
		if _, most := ev.Settles(); most > r.Reserve {
			ev.Start, ev.End, ev.Seq = ev.Since(), max(ev.Until(), ev.Since()), nobody-1-ev.Seq
			ev.Outcome = timeline.Unknown
			events = append(events, ev)
		}
	}
	return r.opened.Openings(history.Of(events))
}

// together refutes requests that came together. Each admission is counted as its estimate, or as what its
// answer cost, whichever is less: that is counted of it from its decision on. So what adds up to a breach is
// one here too, unless another request, which was decided before, may give back what it took: before the
// first of them, at which a bucket holds no more than its burst, or before the window of all of them.
func (r reserved) together(h *history.History) *Breach {
	var kept []history.Event
	for _, ev := range h.Admitted {
		fewest, _ := ev.Settles()
		if ev.Cost = min(r.Reserve, fewest); ev.Cost > 0 {
			kept = append(kept, ev)
		}
	}
	br := r.overKept(kept)
	if br == nil {
		return nil
	}
	begun, first, last := history.MaxTime, history.MaxTime, history.MinTime
	for _, ev := range br.Events {
		begun, first, last = min(begun, ev.Start), min(first, ev.End), max(last, ev.End)
	}
	before := func(ev history.Event) bool {
		if r.bucket != nil {
			return ev.Start < begun
		}
		within := ev.Start >= begun && ev.End <= last
		if r.opened != nil {
			lo, hi := r.opened.seat(r.open, ev.Start, ev.End)
			_, k := r.opened.seat(r.open, br.Events[0].Start, br.Events[0].End)
			within = lo == hi && lo == k
		}
		return ev.Start <= first && (!within || br.Windows > 1)
	}
	for _, ev := range h.Possible {
		fewest, _ := ev.Settles()
		if fewest < r.Reserve && max(ev.Until(), ev.Since()) >= begun && before(ev) {
			return nil
		}
	}
	return br
}

// overKept returns admissions that the limit could not all admit if each cost was known at the decision.
func (r reserved) overKept(kept []history.Event) *Breach {
	if r.opened == nil {
		return r.plain.Over(history.Of(kept))
	}
	return Overfull(kept, func() func(int) Seat { return r.opened.seats(kept, r.open) }, r.full)
}

func (r reserved) Over(h *history.History) *Breach {
	if len(h.All) > mostReserved {
		return nil
	}
	r.open = r.openings(h)
	if br := r.together(h); br != nil {
		return br
	}
	marks := r.least(h)
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		units, room := r.fewest(marks, ev)
		if room {
			continue
		}
		br := &Breach{Kind: result.OverAdmission, Seen: units + ev.Cost, Bound: r.full, Windows: 1,
			Span: ev.End - ev.Start, Events: []history.Event{ev}}
		for _, other := range h.Admitted {
			if other.Seq != ev.Seq && other.Start < ev.End {
				br.Events = append(br.Events, other)
			}
		}
		return br
	}
	return nil
}

// fewest returns the fewest units that may be counted at an instant of an admission, and whether they leave
// room for it. Its own changes come after it. What is counted grows only where a mark
// begins to matter, and falls at once only where a gift does.
func (r reserved) fewest(marks []mark, ev history.Event) (units int64, room bool) {
	units = history.MaxTime
	try := func(t int64) bool {
		n := r.leastAt(marks, ev, t)
		units = min(units, n)
		return n+ev.Cost <= r.full
	}
	if try(ev.Start) || try(ev.End) {
		return units, true
	}
	for _, m := range marks {
		t := m.after
		if m.units < 0 {
			t++
		}
		if t > ev.Start && t < ev.End && try(t) {
			return units, true
		}
	}
	return units, false
}

// leastAt returns the fewest whole units that may be counted at an instant of an admission, rounded up.
func (r reserved) leastAt(marks []mark, ev history.Event, t int64) int64 {
	if r.bucket != nil {
		return -history.FloorDiv(-r.level(marks, t, true, ev.Seq), r.bucket.Per)
	}
	if r.opened != nil {
		k, ok := r.opened.sureWindow(r.open, ev.Start, ev.End)
		if !ok {
			return 0
		}
		in := func(m mark) bool { // what is taken at the completion, too: the window is open from d to t
			lo, hi := r.opened.seat(r.open, m.from, m.to)
			return lo == k && hi == k
		}
		return counted(marks, t, in, r.open[k].From, ev.Seq)
	}
	k := r.grid.FirstOf(ev.Start)
	if k != r.grid.LastOf(ev.End) {
		return 0
	}
	return counted(marks, t, from(r.grid.Latest(k-1)), r.grid.earliest(k), ev.Seq)
}

// reservedMeter bounds from above what is counted.
type reservedMeter struct {
	reserved
	marks []mark
}

func (r reserved) Usage(h *history.History) Meter {
	r.open = r.openings(h)
	return reservedMeter{r, r.most(h)}
}

func (m reservedMeter) Unit() int64 {
	if m.bucket != nil {
		return m.bucket.Per
	}
	return 1
}

func (m reservedMeter) Excess(t int64) int64 {
	if len(m.marks) > 2*mostReserved {
		return endless
	}
	if m.bucket != nil {
		return m.level(m.marks, t, false, nobody) - (m.full-1)*m.bucket.Per
	}
	begin := m.begin(t)
	return counted(m.marks, t, from(begin), begin, nobody) - m.full + 1
}

// begin returns the earliest instant at which the window of t may have begun: MaxTime if none can be open.
func (m reservedMeter) begin(t int64) int64 {
	w := m.grid
	if m.opened == nil {
		return max(w.earliest(w.FirstOf(t)), t-w.sizeTo+1)
	}
	k, _ := m.opened.seat(m.open, t, t)
	if k < 0 || m.open[k].To < history.MaxTime && m.open[k].To+m.opened.SizeTo <= t {
		return history.MaxTime
	}
	return max(m.open[k].From, t-m.opened.SizeTo+1)
}

// moments returns the events at whose starts what is counted may grow, ascending.
func (r reserved) moments(h *history.History) []history.Event {
	events := slices.Clone(h.Possible)
	for _, ev := range h.Possible {
		ev.Start, ev.End = ev.Since(), max(ev.Until(), ev.Since())
		events = append(events, ev)
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Start, b.Start) })
	return events
}

func (r reserved) Scope() Scope {
	size := r.grid.sizeTo
	if r.opened != nil {
		size = r.opened.SizeTo
	}
	of := Scope{Memory: history.Later(size, r.Most), Full: r.full, Late: true, moments: r.moments}
	if r.bucket != nil {
		of.Memory = endless
	}
	return of
}
