package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
