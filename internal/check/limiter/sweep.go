package limiter

import (
	"math"
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// sweep asks for every denial of a history whether some instant of its interval explains it.
//
// The instants worth trying for a denial are its own start and every start of a counted request inside its
// interval: between two of these the load of every limiter here only falls, also where a window ends.
type sweep struct {
	h *history.History
	m Meter
	// own tells that the meter counts the denial itself, whose cost is then taken off.
	own  bool
	unit int64
	// pending are the denials begun and not yet explained; earliest is the smallest end among them, dearest
	// the largest cost that helps to explain one.
	pending  []int32
	earliest int64
	dearest  int64
	out      []int32
	// once ends the sweep with the first denial that nothing explains.
	once bool
}

// unexplained returns the indices in h.Denied of the denials that no instant of their interval explains, in
// the order in which their intervals end. counted are the events that the meter counts, ascending by s.
func unexplained(h *history.History, m Meter, counted []history.Event, own bool) []int32 {
	w := &sweep{h: h, m: m, own: own}
	return w.unexplained(counted)
}

func (w *sweep) unexplained(counted []history.Event) []int32 {
	w.unit, w.earliest = w.m.Unit(), history.MaxTime
	next, last := 0, history.MinTime
	for j := range w.h.Denied {
		d := &w.h.Denied[j]
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
		if w.begin(int32(j), d); w.once && len(w.out) > 0 {
			return w.out
		}
	}
	for ; len(w.pending) > 0 && next < len(counted); next++ {
		w.settle(counted[next].Start)
	}
	return append(w.out, w.pending...)
}

// begin asks for denial j at its own start.
func (w *sweep) begin(j int32, d *history.Event) {
	if w.explains(w.m.Excess(d.Start), d) {
		return
	}
	w.pending = append(w.pending, j)
	w.earliest = min(w.earliest, d.End)
	w.dearest = max(w.dearest, w.extra(d))
}

// extra is what a denial adds to the excess: a dear request is easier to deny.
func (w *sweep) extra(d *history.Event) int64 {
	if w.own {
		return -w.unit
	}
	return (d.Cost - 1) * w.unit
}

func (w *sweep) explains(excess int64, d *history.Event) bool { return excess+w.extra(d) > 0 }

// settle drops the pending denials that instant t explains and gives up those that ended before it.
func (w *sweep) settle(t int64) {
	excess := w.m.Excess(t)
	if w.earliest >= t && excess+w.dearest <= 0 {
		return
	}
	keep := w.pending[:0]
	w.earliest, w.dearest = history.MaxTime, history.MinTime/2
	for _, j := range w.pending {
		d := &w.h.Denied[j]
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

// NoFirst asks whether one of the denials of h can be the first, where denied requests are counted, or ban:
// then none of the others came before it. Asked alone, each denial of a crowd could be explained by the
// others. It returns nil where one can, and where that proves nothing.
func NoFirst(h *history.History, b Bound) *Breach {
	of := b.Scope()
	if !of.Crowd || of.Late || len(h.Denied) < 2 {
		return nil
	}
	until := history.MaxTime // by when the first one was decided
	for i := range h.Denied {
		until = min(until, h.Denied[i].End)
	}
	crowd := slices.Clone(h.Denied[:history.StartingBefore(h.Denied, until+1)])
	before := &history.History{All: h.Before(until).Except(crowd), Lag: h.Lag, Lags: h.Lags, Level: h.Level,
		Placed: h.Placed}
	before.Split()
	mayBan := func(ev history.Event) bool { return ev.Outcome != timeline.Allowed }
	if of.Ban > 0 && slices.ContainsFunc(before.All, mayBan) {
		return nil
	}
	br := &Breach{Kind: verdict.NoExplanation, Windows: 1, Crowd: true,
		Events: append(slices.Clone(before.All), crowd...)}
	for i := range crowd {
		crowd[i].End = until
	}
	before.Denied = crowd
	if len(unexplained(before, b.Usage(before), before.All, false)) < len(crowd) {
		return nil
	}
	br.Seen, br.Bound, br.Span = int64(len(br.Events)), int64(len(br.Events))-1, SpanOf(br.Events)
	return br
}

// candidates are the left ends that a violated span may have. The value of a candidate x is its scaled time
// plus the volume of the admissions since recorded that start at or after it; a span [x,y] is violated when
// the value exceeds the scaled y by more than the room of the bucket.
//
// Candidates ascend by x and strictly by value: whatever is added to a later one is added to every earlier
// one too, so a later one with a smaller value can be forgotten. Values are kept as gaps, so that adding to
// all candidates up to a point touches one gap. Each operation costs O(1) amortised, but for the search among
// the requests in flight.
type candidates struct {
	n    int64 // scale of time
	list []candidate
	head int
	// low is the value of list[head], top the value of the last one.
	low, top int64
}

type candidate struct{ x, gap int64 }

// candidateLists are the memory of candidates that are free: to measure a bucket asks for them often.
var candidateLists = make(chan []candidate, 4)

// candidatesFor returns candidates at the scale n with room for so many.
func candidatesFor(most int, n int64) candidates {
	select {
	case list := <-candidateLists:
		return candidates{n: n, list: slices.Grow(list[:0], most)}
	default:
		return candidates{n: n, list: make([]candidate, 0, most)}
	}
}

// free gives the memory back; nothing may be added any more.
func (c *candidates) free() {
	select {
	case candidateLists <- c.list:
	default:
	}
}

// insert adds the candidate x, which must not be less than any before it.
func (c *candidates) insert(x int64) {
	value := x * c.n
	switch {
	case len(c.list) == c.head:
		c.list, c.head = append(c.list[:0], candidate{x, 0}), 0
		c.low, c.top = value, value
	case value > c.top:
		if c.head > 1024 && c.head > len(c.list)/2 {
			c.list, c.head = append(c.list[:0], c.list[c.head:]...), 0
		}
		c.list = append(c.list, candidate{x, value - c.top})
		c.top = value
	}
}

// admit adds the volume of an admission that starts at s to every candidate at or before s.
func (c *candidates) admit(s, volume int64) {
	last := len(c.list) - 1
	k := last
	for k >= c.head && c.list[k].x > s {
		k--
	}
	if k < c.head {
		return
	}
	c.low += volume
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

// forget drops the candidates whose value is less than the scaled s, where no admission to come starts before
// s: the candidate at s, or one before it that was as good when s was inserted, will do better. Those of
// equal value stay: one of them may be just that candidate.
func (c *candidates) forget(s int64) {
	for len(c.list)-c.head > 1 && c.low < s*c.n {
		c.head++
		c.low += c.list[c.head].gap
	}
}

// Sweep implements Sweeping.
func (b Bucket) Sweep() Sweep { return &bucketSweep{Bucket: b, c: candidates{n: b.N}} }

// bucketSweep tries the instants at which intervals end, keeping the starts that a violated span may still
// have.
type bucketSweep struct {
	Bucket
	c candidates
}

// Take implements Sweep.
func (b *bucketSweep) Take(k Block) *Alarm {
	next := 0
	begin := func(until int64) {
		for ; next < len(k.Begun) && k.Begun[next].Start <= until; next++ {
			if k.Begun[next].Outcome == timeline.Allowed {
				b.c.insert(k.Begun[next].Start)
			}
		}
	}
	for _, i := range k.ByEnd {
		ev := &k.Ended[i]
		begin(ev.End)
		b.c.admit(ev.Start, b.units(ev)*b.Per)
		if y := b.end(ev); b.c.top-y*b.N > b.Room() {
			x := b.c.list[len(b.c.list)-1].x
			br := Breach{Kind: verdict.OverAdmission, Seen: (b.c.top - x*b.N) / b.Per,
				Bound: b.most(y - x), Span: y - x}
			return &Alarm{Breach: br, From: x, To: ev.End}
		}
	}
	begin(history.MaxTime)
	if k.Oldest < history.MaxTime {
		b.c.forget(k.Oldest)
	}
	return nil
}

// AdmittedOnly returns the bucket that alone bounds what a policy of one value for each parameter admits: it
// is full when it is created, filled continuously, and nothing but admissions is taken from it. The fraction
// of its rate is not shortened. ok=false where there is none.
func AdmittedOnly(p spec.Policy) (b Bucket, ok bool) {
	b = NewBucket(p)
	b.N, b.Per = p.Rate.N, int64(p.Rate.Per)
	return b, p.Bucketed() && !p.Queued() && !Ranged(p) && p.Ban == 0 && p.TTL == 0 &&
		p.Charge != spec.ChargeCompletion && !b.batched && b.StartMost == b.Burst
}

// LeastBurst returns the smallest burst, at least 1, under which h is not over-admitted.
func (b Bucket) LeastBurst(h *history.History) int64 {
	units, span := b.peak(h)
	least := max(-history.FloorDiv(span*b.N-units*b.Per, b.Per), 1)
	for i := range h.Admitted {
		least = max(least, h.Admitted[i].Cost)
	}
	return least
}

// LongestPeriod returns the longest period of the rate, at most `most` nanoseconds for b.N units, under which
// h is not over-admitted; less than `least` where there is none from there on. Each span that is violated
// says itself which periods it allows, so that few are asked (Newton's method: what the worst span holds too
// much is convex in the period).
func (b Bucket) LongestPeriod(h *history.History, least, most int64) int64 {
	if tooDear(h.Admitted, b.Burst) != nil {
		return least - 1
	}
	for b.Per = most; b.Per >= least; {
		units, span := b.peak(h)
		if units*b.Per-span*b.N <= b.Burst*b.Per {
			break
		}
		b.Per = span * b.N / (units - b.Burst)
	}
	return b.Per
}

// peak returns the span of h in which most is admitted, less what comes back meanwhile: its units and its
// length in nanoseconds. Both are 0 where nothing was admitted.
func (b Bucket) peak(h *history.History) (units, span int64) {
	c := candidatesFor(len(h.Admitted), b.N)
	defer c.free()
	next, worst := 0, int64(math.MinInt64)
	for _, i := range h.AdmittedByEnd {
		ev := &h.Admitted[i]
		for ; next < len(h.Admitted) && h.Admitted[next].Start <= ev.End; next++ {
			c.insert(h.Admitted[next].Start)
		}
		c.admit(ev.Start, ev.Cost*b.Per)
		if over := c.top - ev.End*b.N; over > worst {
			x := c.list[len(c.list)-1].x
			worst, units, span = over, (c.top-x*b.N)/b.Per, ev.End-x
		}
	}
	return units, span
}

// tooDear returns the breach of the first admission that costs more than a full start admits, whatever came
// before it and wherever windows begin, or nil.
func tooDear(admitted []history.Event, full int64) *Breach {
	for i := range admitted {
		if ev := &admitted[i]; ev.Cost > full {
			return &Breach{Kind: verdict.OverAdmission, Seen: ev.Cost, Bound: full, Windows: 1,
				Events: []history.Event{*ev}}
		}
	}
	return nil
}

// overSpan looks for more than `most` units in one span: those of the admissions that end by an instant y and
// do not begin before since(y), where one that starts at s begins at place(s). Neither ever decreases. The
// breach has the latest admissions that are too many.
func overSpan(h *history.History, most int64, place, since func(t int64) int64) *Breach {
	done := make([]bool, len(h.Admitted))
	var units int64
	var leaving int // admissions that begin before the span
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

// latestOver is the breach of the latest admissions that end by y and are more than `most` units.
func latestOver(h *history.History, y, most int64) *Breach {
	br := &Breach{Kind: verdict.OverAdmission}
	for i := len(h.Admitted) - 1; br.Seen <= most; i-- {
		if ev := h.Admitted[i]; ev.End <= y {
			br.Events = append(br.Events, ev)
			br.Seen += ev.Cost
			br.Span = y - ev.Start
		}
	}
	return br
}

// endedBy returns the n admissions of a span that end by y, the latest first. They may be very many, and are
// asked for again and again: the list does not grow.
func endedBy(span []history.Event, y int64, n int) []history.Event {
	out := make([]history.Event, 0, n)
	for i := len(span) - 1; i >= 0; i-- {
		if span[i].End <= y {
			out = append(out, span[i])
		}
	}
	return out
}

// refill appends more to a list of which the first `used` are used up, and forgets those when they are half
// of it.
func refill[T any](list []T, used int, more []T) ([]T, int) {
	if used > 0 && used*2 >= len(list) {
		list, used = append(list[:0], list[used:]...), 0
	}
	return append(list, more...), used
}
