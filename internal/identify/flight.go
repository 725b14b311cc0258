package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// places has, for each client, when the requests that may have held a place were sent, and when they were
// over; both ascend. Denied requests held none.
type places map[string]*struct{ sent, over []time.Duration }

// PlacesOf returns the places of a recording, in n log n.
func PlacesOf(tl *timeline.Timeline) places {
	late, out := Lateness(tl), places{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Outcome == timeline.Denied {
			continue
		}
		p := out[o.Partition]
		if p == nil {
			p = &struct{ sent, over []time.Duration }{}
			out[o.Partition] = p
		}
		over := max(o.FirstByte, o.Done)
		if !o.Answered { // it was over soon, or never began
			over = o.Sent + late
		}
		p.sent, p.over = append(p.sent, o.Sent), append(p.over, over)
	}
	for _, p := range out {
		slices.Sort(p.sent)
		slices.Sort(p.over)
	}
	return out
}

// Held is the most requests of a client that may have held a place at some instant in a closed interval.
func (p places) Held(client string, from, to time.Duration) int64 {
	c := p[client]
	if c == nil {
		return 0
	}
	begun, _ := slices.BinarySearch(c.sent, to+1)
	over, _ := slices.BinarySearch(c.over, from)
	return int64(begun - over)
}
