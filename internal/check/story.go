package check

import (
	"cmp"
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// story looks for one explanation of a history, along one order of decisions: where it finds one, no search can refute the
// history. It costs O(n), and finds nearly all there is where requests seldom overlap. The zero value is ready.
type story struct {
	order []int32
}

// told tells whether the bucket explains h when its requests are decided in the order in which they were sent, or in that
// of the middles of their intervals. False says nothing.
func (st *story) told(b bucket, h *history) bool {
	if b.startLeast < b.burst || b.all || b.batched || len(h.all) == 0 || h.joined(b.memory()) {
		return false
	}
	st.order = st.order[:0]
	for i := range h.all {
		if h.all[i].outcome != timeline.Unknown { // which explains as well where it was not admitted
			st.order = append(st.order, int32(i))
		}
	}
	if st.along(b, h.all, 0) {
		return true
	}
	slices.SortStableFunc(st.order, func(i, j int32) int { return cmp.Compare(h.all[i].s+h.all[i].e, h.all[j].s+h.all[j].e) })
	return st.along(b, h.all, h.lag)
}

// along follows the range of theoretical arrival times that the decisions may leave. Where the intervals of two neighbours
// overlap they are parted in the middle, so that each decision can be made without regard to the others. An admission at d
// needs tat <= d + room, room = (B-c)T, and leaves max(d, tat) + cT; a denial needs tat > d + room.
//
// Where a clock lags, d is what it shows: in the order of the sends there are decisions for it, max(d, the send), as early as
// it shows anything. In another order it is taken to show the decision itself, which is after the send: lag after the start.
func (st *story) along(b bucket, all []event, lag int64) bool {
	if len(st.order) == 0 {
		return true
	}
	from := all[st.order[0]].s + lag
	lo := from * b.n
	hi := lo
	for k, i := range st.order {
		ev := &all[i]
		from = max(from, ev.s+lag)
		until, next := ev.e, from
		if k+1 < len(st.order) {
			if after := &all[st.order[k+1]]; after.s+lag < until {
				next = max(from, after.s+lag)
				last := min(until, after.e)
				if next > last {
					return false
				}
				next += (last - next) / 2
				until = next
			}
		}
		room := (b.burst - ev.cost) * b.per
		switch {
		case room < 0:
			return false
		case ev.outcome == timeline.Allowed:
			if lo > until*b.n+room {
				return false
			}
			lo, hi = max(lo, from*b.n)+ev.cost*b.per, max(until*b.n, min(hi, until*b.n+room))+ev.cost*b.per
		default:
			if hi <= from*b.n+room {
				return false
			}
			lo = max(lo, from*b.n+room+1)
		}
		from = next
	}
	return true
}
