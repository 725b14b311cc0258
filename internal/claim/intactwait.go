package claim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// retryAfter finds waits through the proxy that the origin cannot have stated. The notation may change:
// seconds and a date that mean the same wait are the same.
func (j *comparison) retryAfter(c class) {
	if !j.expects("Retry-After") {
		return
	}
	at := Only(c.origin, tells)
	if len(at) == 0 || len(at) < len(c.origin) {
		return
	}
	j.unreadable(c, at)
	if through := Only(c.proxy, tells); c.outcome == timeline.Denied && len(through) > 0 {
		j.longer(at, through)
		j.apart(c.limit)
	}
}

// tells tells whether o has a Retry-After that states a wait.
func tells(o *timeline.Observation) bool { _, ok := Told(o); return ok }

// unreadable finds values that cannot be read, if all values of the origin can. A number in a wrong notation
// may come from the origin itself, which had no fraction or negative wait before. It counts only if all
// values through the proxy are such and the origin has at least two. A negative number never counts.
func (j *comparison) unreadable(c class, at []*timeline.Observation) {
	has := Only(c.proxy, func(o *timeline.Observation) bool {
		_, ok := o.Fields.Get("Retry-After")
		return ok
	})
	var bad []*timeline.Observation
	numbers, negative := 0, false
	for _, o := range has {
		v, _ := o.Fields.Get("Retry-After")
		if _, err := headers.ParseRetryAfter(v); err == nil {
			continue
		}
		bad = append(bad, o)
		if v = strings.TrimSpace(v); !strings.Contains(v, ",") && v != "" &&
			strings.ContainsAny(v[:1], "+-.0123456789") {
			numbers++
			negative = negative || v[0] == '-'
		}
	}
	switch {
	case len(bad) == 0:
		return
	case negative, numbers == len(bad) && (len(bad) < len(has) || len(at) < 2):
		j.note("Retry-After cannot be read in %d of %d answers through the proxy to %s requests, but "+
			"the origin itself may write it that way", len(bad), len(has), c.outcome)
		return
	}
	v, _ := bad[0].Fields.Get("Retry-After")
	j.find(result.FieldChanged, at[0], bad,
		fmt.Sprintf("Retry-After can be read in all %s of the origin to %s requests (#%d); through the "+
			"proxy %d of %d cannot be: #%d has %s",
			text.Plural(len(at), "answer"), c.outcome, at[0].Seq, len(bad), len(has), bad[0].Seq,
			text.Quote(v)))
}

// longer finds waits that are longer than the limit can need, if the origin never states such waits.
func (j *comparison) longer(at, through []*timeline.Observation) {
	tooLong := func(o *timeline.Observation) bool {
		t, _ := Told(o)
		need, ok := j.r.LongestNeed(o, t)
		return ok && t.For > need
	}
	known := func(o *timeline.Observation) bool {
		t, _ := Told(o)
		_, ok := j.r.LongestNeed(o, t)
		return ok
	}
	if !slices.ContainsFunc(at, known) || slices.ContainsFunc(at, tooLong) {
		return
	}
	changed := Only(through, tooLong)
	if len(changed) == 0 {
		return
	}
	a, _ := Told(at[0])
	b, _ := Told(changed[0])
	need, _ := j.r.LongestNeed(changed[0], b)
	j.find(result.FieldChanged, at[0], changed,
		fmt.Sprintf("no denial of the origin states more than its limit can need (#%d: %s); through "+
			"the proxy %d of %d do: #%d has %s, but at most %d s can be needed",
			at[0].Seq, a, len(changed), len(through), changed[0].Seq, b, need/time.Second))
}

// offset is the closed interval of how far the clock that wrote a Date may be ahead of ours. below and top
// are the observations that bound it.
type offset struct {
	lo, hi     time.Duration
	below, top *timeline.Observation
}

// offsetOf returns the offset that one answer allows. The answer was written within [Sent, FirstByte]. Its
// clock then read between the Date and one second more, give or take StaleDate and its drift:
//
//	Date - stale - FirstByte <= offset <= Date + 1 s + stale - Sent
func (j *comparison) offsetOf(o *timeline.Observation) (offset, bool) {
	d, ok := Date(o)
	if !ok {
		return offset{}, false
	}
	since, slack := d.Sub(j.r.Header.Started), StaleDate+j.r.Header.ClockError+
		j.r.Header.Drift(o.FirstByte)
	return offset{lo: since - slack - o.FirstByte, hi: since + time.Second + slack - o.Sent, below: o,
		top: o}, true
}

// date finds Dates through the proxy that the clock which wrote all Dates of the origin cannot have written.
func (j *comparison) date(c class) {
	if !j.expects("Date") {
		return
	}
	var at *offset
	for _, o := range c.origin {
		x, ok := j.offsetOf(o)
		switch {
		case !ok:
			continue
		case at == nil:
			at = &x
			continue
		}
		if x.lo > at.lo {
			at.lo, at.below = x.lo, o
		}
		if x.hi < at.hi {
			at.hi, at.top = x.hi, o
		}
	}
	switch {
	case at == nil:
		return
	case at.lo > at.hi:
		j.note("the Date fields of the origin come from several clocks, so they are not compared")
		return
	}
	j.replaced(c, *at)
}

// replaced finds the answers through the proxy whose offset does not meet at.
func (j *comparison) replaced(c class, at offset) {
	var changed []*timeline.Observation
	var origin *timeline.Observation
	var first offset
	for _, o := range c.proxy {
		x, ok := j.offsetOf(o)
		if !ok || x.lo <= at.hi && x.hi >= at.lo {
			continue
		}
		if changed = append(changed, o); origin == nil {
			first, origin = x, at.below
			if x.lo > at.hi {
				origin = at.top
			}
		}
	}
	if len(changed) == 0 {
		return
	}
	j.find(result.FieldChanged, origin, changed,
		fmt.Sprintf("the clock of the origin's Date fields is %s to %s ahead of ours (#%d); through "+
			"the proxy %d of %d Date fields of %s requests come from another clock: #%d of one %s to "+
			"%s ahead",
			Seconds(at.lo, time.Millisecond), Seconds(at.hi, time.Millisecond), origin.Seq,
			len(changed), len(c.proxy), c.outcome,
			changed[0].Seq, Seconds(first.lo, time.Millisecond),
			Seconds(first.hi, time.Millisecond)))
}

// opening is the first phase of the partitions of one side: how fresh partitions answer a burst.
type opening struct {
	// denials are those that state a wait.
	denials []*timeline.Observation
	// span is the longest time that the opening of one partition took, from its first Sent to its last
	// FirstByte.
	span time.Duration
	cost int64
}

// apart finds a wait in the opening of a partition through the proxy that is shorter or longer than every
// wait in openings at the origin. In a fresh partition a denial waits for the admissions of its own opening.
// So two true waits differ by at most the spans of the openings. The notation adds less than a second, a Date
// that is cut to the second adds another, and an old one adds a third.
//
// The waits must follow from the burst alone: not from when it was sent, and not from which of several
// policies denies. Nobody else may have used the partitions.
func (j *comparison) apart(limit spec.Limit) {
	if j.r.Shared || j.r.Used || len(limit) != 1 || byTheClock(limit[0]) {
		return
	}
	at, ok := openingOf(j.r, true, limit)
	through, ok2 := openingOf(j.r, false, limit)
	if !ok || !ok2 || at.cost != through.cost {
		return
	}
	noise := at.span + through.span + 2*time.Second + 2*j.r.Header.ClockError
	noise += 2 * max(limit[0].Tick, j.r.Header.Tick)
	if slices.ContainsFunc(slices.Concat(at.denials, through.denials), countsFromDate) {
		noise += StaleDate
	}
	short, long := waitRange(at.denials)
	if wait(long)-wait(short) > noise {
		j.note("the origin tells one burst waits from %s to %s, so the waits are not compared",
			Seconds(wait(short), time.Second), Seconds(wait(long), time.Second))
		return
	}
	report := func(than string, o *timeline.Observation, changed []*timeline.Observation) {
		if len(changed) == 0 {
			return
		}
		a, _ := Told(o)
		b, _ := Told(changed[0])
		j.find(result.FieldChanged, o, changed,
			fmt.Sprintf("no denial of the origin's bursts states a %s wait than #%d: %s; through the "+
				"proxy %d of %d do: #%d has %s, and noise explains at most %s",
				than, o.Seq, a, len(changed), len(through.denials), changed[0].Seq, b,
				Seconds(noise, time.Millisecond)))
	}
	report("shorter", short, Only(through.denials,
		func(o *timeline.Observation) bool { return wait(short)-wait(o) > noise }))
	report("longer", long, Only(through.denials,
		func(o *timeline.Observation) bool { return wait(o)-wait(long) > noise }))
}

// byTheClock tells whether the waits of p depend on when a burst is sent, or on what came before it.
func byTheClock(p spec.Policy) bool {
	return p.Windowed() && p.Align != spec.AlignFirst || p.Refill == spec.RefillInterval ||
		p.Start == spec.StartUnknown || p.LevelTo > 0
}

func countsFromDate(o *timeline.Observation) bool { t, _ := Told(o); return t.IsDate }

// wait returns the wait that o states. It must state one.
func wait(o *timeline.Observation) time.Duration { t, _ := Told(o); return t.For }

// waitRange returns the observations with the shortest and the longest wait. obs is not empty.
func waitRange(obs []*timeline.Observation) (short, long *timeline.Observation) {
	short, long = obs[0], obs[0]
	for _, o := range obs {
		if wait(o) < wait(short) {
			short = o
		}
		if wait(o) > wait(long) {
			long = o
		}
	}
	return short, long
}

// openingOf returns the openings of the partitions that only one side used and only limit counts. It leaves
// out partitions with an answer missing or unknown in the opening. ok=false: the requests differ in cost, or
// there is no denial.
func openingOf(r *Recording, origin bool, limit spec.Limit) (out opening, ok bool) {
	type side struct {
		phase         string
		first, last   time.Duration
		denials       []*timeline.Observation
		mixed, closed bool
	}
	sides := map[string]*side{}
	var order []*side
	for i := range r.Observations {
		o := &r.Observations[i]
		s := sides[o.Partition]
		if s == nil {
			s = &side{phase: o.Phase, first: o.Sent}
			sides[o.Partition], order = s, append(order, s)
		}
		s.mixed = s.mixed || o.Origin != origin || !slices.Equal(r.LimitOf(o), limit)
		if s.closed = s.closed || o.Phase != s.phase; s.closed {
			s.mixed = s.mixed || o.Sent <= s.last
			continue
		}
		s.mixed = s.mixed || !o.Answered || o.Outcome == timeline.Unknown
		s.last = max(s.last, DecidedBy(o))
		if out.cost == 0 && o.Origin == origin {
			out.cost = o.Cost
		}
		s.mixed = s.mixed || o.Cost != out.cost
		if o.Outcome == timeline.Denied && tells(o) {
			s.denials = append(s.denials, o)
		}
	}
	for _, s := range order {
		if s.mixed || len(s.denials) == 0 {
			continue
		}
		out.denials = append(out.denials, s.denials...)
		out.span = max(out.span, s.last-s.first)
	}
	return out, len(out.denials) > 0
}
