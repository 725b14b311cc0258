package limiter

import (
	"math"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// sweep asks for every denial whether some instant of its interval explains it.
//
// The load of every limiter here falls between two starts of counted requests, and at the end of a window. So
// the instants worth trying are the start of the denial and the starts of counted requests inside its
// interval:
//
//	denial                s [-----------------------] e      try s, b and c
//	counted         [--a--]    [---b---]    [--c--]
type sweep struct {
	h *history.History
	m Meter
	// own: the meter counts the denial itself, so the cost of the denial is taken off.
	own  bool
	unit int64
	// pending are the indices of the denials that have begun and are not yet explained. earliest is the least
	// of their ends. dearest is the largest of their extras.
	pending  []int32
	earliest int64
	dearest  int64
	out      []int32
	// once: the sweep stops at the first denial that nothing explains.
	once bool
}

// unexplained returns the indices in h.Denied of the denials that no instant of their interval explains, in
// the order of their ends. counted are the events that the meter counts, ascending by Start.
func unexplained(h *history.History, m Meter, counted []history.Event, own bool) []int32 {
	w := &sweep{h: h, m: m, own: own}
	return w.unexplained(counted)
}

func (w *sweep) unexplained(counted []history.Event) []int32 {
	w.unit, w.earliest = w.m.Unit(), history.MaxTime
	next, last := 0, history.MinTime
	for j := range int32(len(w.h.Denied)) {
		d := w.h.Denial(j)
		for ; next < len(counted) && counted[next].Start <= d.Start; next++ {
			if len(w.pending) > 0 && counted[next].Start > last {
				w.settle(counted[next].Start)
				last = counted[next].Start
			}
		}
		if len(w.pending) > 0 && d.Start > last {
			w.settle(d.Start)
		}
		last = d.Start
		if w.begin(j, d); w.once && len(w.out) > 0 {
			return w.out
		}
	}
	for ; len(w.pending) > 0 && next < len(counted); next++ {
		w.settle(counted[next].Start)
	}
	return append(w.out, w.pending...)
}

// begin asks for the denial j at its own start.
func (w *sweep) begin(j int32, d *history.Event) {
	if w.explains(w.m.Excess(d.Start), d) {
		return
	}
	w.pending = append(w.pending, j)
	w.earliest = min(w.earliest, d.End)
	w.dearest = max(w.dearest, w.extra(d))
}

// extra returns what the cost of a denial adds to the excess: a dear request is easier to deny.
func (w *sweep) extra(d *history.Event) int64 {
	if w.own {
		return -w.unit
	}
	return (d.Cost - 1) * w.unit
}

func (w *sweep) explains(excess int64, d *history.Event) bool { return excess+w.extra(d) > 0 }

// settle drops the pending denials that the instant t explains. Those that ended before t go to out.
func (w *sweep) settle(t int64) {
	excess := w.m.Excess(t)
	if w.earliest >= t && excess+w.dearest <= 0 {
		return
	}
	keep := w.pending[:0]
	w.earliest, w.dearest = history.MaxTime, history.MinTime/2
	for _, j := range w.pending {
		d := w.h.Denial(j)
		switch {
		case d.End < t:
			w.out = append(w.out, j)
		case !w.explains(excess, d):
			keep = append(keep, j)
			w.earliest = min(w.earliest, d.End)
			w.dearest = max(w.dearest, w.extra(d))
		}
	}
	w.pending = keep
}

// NoFirst asks whether any denial of h can be the first, where denied requests count or ban. Only admissions
// come before the first denial. Asked alone, each denial could be explained by the other denials. It returns
// nil where one can be the first, and where the question does not apply.
func NoFirst(h *history.History, b Bound) *Breach {
	of := b.Scope()
	if !of.Crowd || of.Late || len(h.Denied) < 2 {
		return nil
	}
	until := history.MaxTime // the instant by which the first denial was decided
	for d := range h.Denials() {
		until = min(until, d.End)
	}
	crowd := &history.History{}
	for d := range h.Denials() {
		if d.Start <= until {
			crowd.All = append(crowd.All, *d)
		}
	}
	before := &history.History{Lag: h.Lag, Lags: h.Lags}
	begun, next := h.All[:history.StartingBefore(h.All, until+1)], 0
	before.All = make([]history.Event, 0, len(begun))
	for i := range begun { // the crowd is in the same order
		if next < len(crowd.All) && crowd.All[next].Seq == begun[i].Seq {
			next++
			continue
		}
		before.All = append(before.All, begun[i])
	}
	before.Split()
	mayBan := func(ev history.Event) bool { return ev.Outcome != timeline.Allowed }
	if of.Ban > 0 && slices.ContainsFunc(before.All, mayBan) {
		return nil
	}
	br := &Breach{Kind: result.NoExplanation, Windows: 1, Crowd: true,
		Events: append(slices.Clone(before.All), crowd.All...)}
	for i := range crowd.All {
		crowd.All[i].End = until
	}
	crowd.Split()
	if len(unexplained(crowd, b.Usage(before), before.All, false)) < len(crowd.All) {
		return nil
	}
	br.Seen, br.Bound, br.Span = int64(len(br.Events)), int64(len(br.Events))-1, SpanOf(br.Events)
	return br
}

// candidates are the left ends that a violated span may have. The value of a candidate x is its scaled time
// plus the volume of the recorded admissions that start at x or later. A span [x,y] is violated if the value
// less the scaled y exceeds the room of the bucket.
//
// Candidates ascend strictly by x and by value. Whatever is added to a later one is added to every earlier
// one too, so a later one with a smaller value is dropped. Values are kept as gaps, so that adding to all
// candidates up to a point changes one gap. Each operation costs O(1) amortised, apart from the search among
// the requests in flight.
type candidates struct {
	n    int64 // scale of time
	list []candidate
	// top is the value of the last candidate.
	top int64
}

type candidate struct{ x, gap int64 }

// candidateLists are memory for reuse: measuring a bucket asks for candidates often.
var candidateLists = make(chan []candidate, 4)

// candidatesFor returns candidates at the scale n, with room for `most` of them.
func candidatesFor(most int, n int64) candidates {
	select {
	case list := <-candidateLists:
		return candidates{n: n, list: slices.Grow(list[:0], most)}
	default:
		return candidates{n: n, list: make([]candidate, 0, most)}
	}
}

// free gives the memory back. c must not be used after that.
func (c *candidates) free() {
	select {
	case candidateLists <- c.list:
	default:
	}
}

// insert adds the candidate x, which is not less than any candidate so far.
func (c *candidates) insert(x int64) {
	value := x * c.n
	switch {
	case len(c.list) == 0:
		c.list, c.top = append(c.list, candidate{x, 0}), value
	case value > c.top:
		c.list = append(c.list, candidate{x, value - c.top})
		c.top = value
	}
}

// admit adds the volume of an admission that starts at s to every candidate at or before s.
func (c *candidates) admit(s, volume int64) {
	last := len(c.list) - 1
	k := last
	for k >= 0 && c.list[k].x > s {
		k--
	}
	if k < 0 {
		return
	}
	if k == last {
		c.top += volume
		return
	}
	j := k + 1
	gap := c.list[j].gap - volume
	for gap <= 0 {
		if j == last {
			c.top -= gap
			c.list = c.list[:k+1]
			return
		}
		j++
		gap += c.list[j].gap
	}
	c.list = append(c.list[:k+1], c.list[j:]...)
	c.list[k+1].gap = gap
}

// AdmittedOnly returns the bucket that alone bounds what p admits. p has one value for each parameter; its
// bucket is created full and filled continuously, and only admissions take from it. The fraction of its rate
// is not reduced. ok=false: p is no such policy.
func AdmittedOnly(p spec.Policy) (b Bucket, ok bool) {
	b = NewBucket(p)
	b.N, b.Per = p.Rate.N, int64(p.Rate.Per)
	return b, p.Bucketed() && !p.Queued() && !Ranged(p) && p.Ban == 0 && p.TTL == 0 &&
		p.Charge != spec.ChargeCompletion && !b.batched && b.StartMost == b.Burst
}

// LeastBurst returns the smallest burst, at least 1, under which h is not over-admitted.
func (b Bucket) LeastBurst(h *history.History) int64 {
	worst := b.peak(h, math.MaxInt64)
	least := max(-history.FloorDiv(worst.span*b.N-worst.units*b.Per, b.Per), 1)
	for i := range h.Admitted {
		least = max(least, h.Admitted[i].Cost)
	}
	return least
}

// LongestPeriod returns the longest period for b.N units, at most `most` nanoseconds, under which h is not
// over-admitted. It returns less than `least` where no period from least on will do. Each violated span tells
// which period it allows, so few spans are asked. This is Newton's method: the excess of the worst span is
// convex in the period.
func (b Bucket) LongestPeriod(h *history.History, least, most int64) int64 {
	if tooDear(h.Admitted, b.Burst) != nil {
		return least - 1
	}
	for b.Per = most; b.Per >= least; {
		worst := b.peak(h, math.MaxInt64)
		if worst.units*b.Per-worst.span*b.N <= b.Burst*b.Per {
			break
		}
		b.Per = worst.span * b.N / (worst.units - b.Burst)
	}
	return b.Per
}

// peak is a span of a history: its units, its length in nanoseconds, its end, and over: its units at the
// scale of the bucket, less what is refilled meanwhile.
type peak struct{ units, span, end, over int64 }

// peak returns the span of h that admits the most, less what is refilled meanwhile. It returns the first span
// whose excess is more than enough. units and span are 0 where nothing was admitted.
//
// A violated span begins at the start of an admission and ends at the end of one.
func (b Bucket) peak(h *history.History, enough int64) peak {
	c := candidatesFor(len(h.Admitted), b.N)
	defer c.free()
	next, worst := 0, peak{over: math.MinInt64}
	for _, i := range h.AdmittedByEnd {
		ev := &h.Admitted[i]
		for ; next < len(h.Admitted) && h.Admitted[next].Start <= ev.End; next++ {
			c.insert(h.Admitted[next].Start)
		}
		c.admit(ev.Start, b.units(ev)*b.Per)
		y := b.end(ev)
		if over := c.top - y*b.N; over > worst.over {
			x := c.list[len(c.list)-1].x
			worst = peak{(c.top - x*b.N) / b.Per, y - x, y, over}
			if over > enough {
				break
			}
		}
	}
	return worst
}

// tooDear returns the breach of the first admission that costs more than a full limiter admits, or nil.
// Earlier requests and the starts of windows do not matter.
func tooDear(admitted []history.Event, full int64) *Breach {
	for i := range admitted {
		if ev := &admitted[i]; ev.Cost > full {
			return &Breach{Kind: result.OverAdmission, Seen: ev.Cost, Bound: full, Windows: 1,
				Events: []history.Event{*ev}}
		}
	}
	return nil
}

// overSpan looks for more than `most` units in one span. A span that ends at y has the admissions with End <=
// y and place(Start) >= since(y). Neither function ever decreases. The breach lists the latest admissions
// that are too many.
func overSpan(h *history.History, most int64, place, since func(t int64) int64) *Breach {
	if history.Volume(h.Admitted) <= most {
		return nil
	}
	done := make([]bool, len(h.Admitted))
	var units int64
	var leaving int // the index of the first admission that does not begin before the span
	for _, i := range h.AdmittedByEnd {
		ev := &h.Admitted[i]
		x := since(ev.End)
		if done[i] = true; place(ev.Start) >= x {
			units += ev.Cost
		}
		for ; leaving < len(h.Admitted) && place(h.Admitted[leaving].Start) < x; leaving++ {
			if done[leaving] && int(i) != leaving {
				units -= h.Admitted[leaving].Cost
			}
		}
		if units > most {
			return latestOver(h, ev.End, most)
		}
	}
	return nil
}

// latestOver returns the breach of the latest admissions that end by y and exceed `most` units.
func latestOver(h *history.History, y, most int64) *Breach {
	br := &Breach{Kind: result.OverAdmission}
	from, n := len(h.Admitted), 0
	for br.Seen <= most {
		from--
		if ev := &h.Admitted[from]; ev.End <= y {
			n++
			br.Seen += ev.Cost
			br.Span = y - ev.Start
		}
	}
	br.Events = endedBy(h.Admitted[from:], y, n)
	return br
}

// endedBy returns the n admissions of span that end by y, latest first. There may be very many, so the list
// is allocated once.
func endedBy(span []history.Event, y int64, n int) []history.Event {
	out := make([]history.Event, 0, n)
	for i := len(span) - 1; i >= 0; i-- {
		if span[i].End <= y {
			out = append(out, span[i])
		}
	}
	return out
}
