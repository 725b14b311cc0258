package history

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// zone is an interval in which the count of a partition was cleared, and the number of the success that did
// it: -1 if there were several.
type zone struct {
	Interval
	by int
}

// side tells whether an event surely came before the zone (-1) or after it (1). What was answered when
// another request was sent came before that one, but nobody knows which one of several that was.
func (z zone) side(ev *Event) int {
	one := z.by >= 0
	switch {
	case ev.End < z.From, one && ev.End == z.From && ev.Start < z.To:
		return -1
	case ev.Start > z.To, one && ev.Start == z.To && ev.End > z.From:
		return 1
	}
	return 0
}

// Lives divides a partition at the successes that clear its count. Each life begins with a new partition, and
// the success that ends it is its last admission. The count may be cleared at any time between the decision
// on the success and its answer, so a request in flight then may belong to either life: it has no outcome in
// both. An unanswered request may have been a success at any later time, and so may one that is missing at an
// edge of the recording, so no admission counts there.
//
//	       success              success
//	A  A  [////A///]  A  D  A  [////A////]  A  A
//	      ?? in flight: in both
//
// Each life has the name of the partition.
func (p Partition) Lives(pol spec.Policy, h timeline.Header) (out []Partition) {
	clock, end := int64(h.ClockError), int64(h.Ended)
	w := Widening{Left: clock, Right: clock}
	zones, known := p.zones(pol, w, h)
	before := zone{Interval{MinTime, MinTime}, -1}
	var open []int // the observations that may come after the zone before
	next := 0
	for _, after := range append(zones, zone{Interval{MaxTime, MaxTime}, -1}) {
		for ; next < len(p.Obs) && int64(p.Obs[next].Sent)-clock <= after.To; next++ {
			open = append(open, next)
		}
		life := p
		life.Obs = nil
		open = slices.DeleteFunc(open, func(i int) bool {
			o := p.Obs[i]
			ev := NewEvent(&o, w, end)
			until := after.side(&ev)
			sure := i == after.by || before.side(&ev) > 0 && until < 0
			if !sure || o.Outcome == timeline.Allowed && (ev.Start < known.From || ev.End >= known.To) {
				o.Outcome = timeline.Unknown
			}
			if until <= 0 {
				life.Obs = append(life.Obs, o)
			}
			return until < 0 || i == after.by
		})
		if life.Seen.Known = Known(life.Obs); life.Seen.Known > 0 || out == nil && after.From == MaxTime {
			out = append(out, life)
			p.Seen.Unclassified = 0 // it is counted once
		}
		before = after
	}
	return out
}

// zones returns when the count was surely cleared: ascending intervals that do not overlap. No unseen request
// may have cleared it within the known interval.
func (p Partition) zones(pol spec.Policy, w Widening, h timeline.Header) (out []zone, known Interval) {
	known = Interval{MinTime, MaxTime}
	if h.CompleteFrom > 0 {
		known.From = int64(h.CompleteFrom) + w.Right
	}
	if h.CompleteUntil != 0 {
		known.To = int64(h.CompleteUntil) - w.Left
	}
	for i := range p.Obs {
		o := &p.Obs[i]
		z := zone{Interval{int64(o.Sent) - w.Left, int64(max(o.Sent, o.FirstByte)) + w.Right}, i}
		switch n := len(out); {
		case !o.Answered:
			known.To = min(known.To, z.From)
		case o.Outcome == timeline.Denied || !pol.Clears(int(o.Status)):
		case n > 0 && z.From < out[n-1].To:
			out[n-1] = zone{Interval{out[n-1].From, max(out[n-1].To, z.To)}, -1}
		default:
			out = append(out, z)
		}
	}
	return out, known
}
