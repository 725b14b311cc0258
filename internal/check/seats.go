package check

import "container/heap"

// seat says that event index may lie in the windows lo..hi.
type seat struct {
	lo, hi int64
	index  int32
}

// seatHeap orders the events that are not placed yet by the last window they may lie in.
type seatHeap []seat

func (q seatHeap) Len() int           { return len(q) }
func (q seatHeap) Less(a, b int) bool { return q[a].hi < q[b].hi }
func (q seatHeap) Swap(a, b int)      { q[a], q[b] = q[b], q[a] }
func (q *seatHeap) Push(x any)        { *q = append(*q, x.(seat)) }
func (q *seatHeap) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// overfull places each event in one of its windows, earliest deadline first, at most quota units a window, where an event
// of several units may be divided. For a set of windows without gaps that is possible exactly when Hall's condition
// holds; where it fails, overfull returns the events that must lie in windows k1..k2 and are too many. seats ascend by lo.
func overfull(evs []event, seats []seat, quota int64) *breach {
	var waiting seatHeap
	next := 0
	for next < len(seats) || len(waiting) > 0 {
		k := int64(0)
		if len(waiting) > 0 {
			k = waiting[0].lo
		} else {
			k = seats[next].lo
		}
		room := quota
		for ; next < len(seats) && seats[next].lo <= k; next++ {
			if seats[next].hi > k {
				heap.Push(&waiting, seats[next])
				continue
			}
			room -= evs[seats[next].index].cost
		}
		if room < 0 {
			return crowd(evs, seats[:next], k, quota)
		}
		if br := settleWindow(evs, seats[:next], &waiting, k, room, quota); br != nil {
			return br
		}
	}
	return nil
}

// settleWindow fills what is left of window k and moves on those that wait: their first window is now k+1.
func settleWindow(evs []event, placed []seat, waiting *seatHeap, k, room, quota int64) *breach {
	for room > 0 && len(*waiting) > 0 {
		cost := evs[(*waiting)[0].index].cost
		if cost > room {
			return dividedWindow(waiting, k) // costs differ: the rest of this window is given away, in the target's favour
		}
		room -= cost
		heap.Pop(waiting)
	}
	if len(*waiting) > 0 && (*waiting)[0].hi <= k {
		return crowd(evs, placed, k, quota)
	}
	return advanceWaiting(waiting, k)
}

// dividedWindow places a dear event that does not fit although room is left: it counts as placed.
func dividedWindow(waiting *seatHeap, k int64) *breach {
	heap.Pop(waiting)
	return advanceWaiting(waiting, k)
}

func advanceWaiting(waiting *seatHeap, k int64) *breach {
	for i := range *waiting {
		(*waiting)[i].lo = k + 1
	}
	return nil
}

// crowd finds the latest k1 such that the events confined to windows k1..k2 exceed their quota, and returns just as many
// of them as prove it.
func crowd(evs []event, seats []seat, k2, quota int64) *breach {
	br := &breach{kind: OverAdmission}
	for i := len(seats) - 1; i >= 0; i-- {
		if seats[i].hi > k2 {
			continue
		}
		ev := evs[seats[i].index]
		br.events = append(br.events, ev)
		br.seen += ev.cost
		if n := k2 - seats[i].lo + 1; br.seen > n*quota {
			br.bound, br.windows = n*quota, n
			br.span = spanOf(br.events)
			return br
		}
	}
	return nil
}

// spanOf returns the time from the first start to the last end of evs.
func spanOf(evs []event) int64 {
	lo, hi := evs[0].s, evs[0].e
	for _, ev := range evs {
		lo, hi = min(lo, ev.s), max(hi, ev.e)
	}
	return hi - lo
}
