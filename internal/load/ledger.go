package load

import (
	"slices"
	"sync"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ledger has the observations of the clients of a phase, in chunks that never move. They stand in the order
// in which their requests began. A single event loop sends requests in that order, so its observations need
// no sorting.
//
// If the largest possible number is known, one chunk holds all of them, and they are not copied.
type ledger struct {
	mu     sync.Mutex
	chunks [][]timeline.Observation
	// most is how many observations there may be, 0 for unknown. n is how many there are, void how many of
	// those were dropped.
	most, n, void int
}

// leastChunk and mostChunk bound how many observations are allocated at once while their number is unknown:
// as many as there are already.
const leastChunk, mostChunk = 64, 1024

// next returns the place of a new observation.
func (l *ledger) next() *timeline.Observation {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := len(l.chunks) - 1
	if k < 0 || len(l.chunks[k]) == cap(l.chunks[k]) {
		room := min(max(l.n, leastChunk), mostChunk)
		if l.n == 0 && l.most > 0 {
			room = l.most
		}
		l.chunks = append(l.chunks, make([]timeline.Observation, 0, room))
		k++
	}
	last := len(l.chunks[k])
	l.chunks[k] = l.chunks[k][:last+1]
	l.n++
	return &l.chunks[k][last]
}

// drop takes back an observation. Its place stays empty.
func (l *ledger) drop(o *timeline.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*o = timeline.Observation{}
	l.void++
}

// takeTo appends the observations to out, and forgets them. If out is nil, a single chunk is not copied.
func (l *ledger) takeTo(out []timeline.Observation) []timeline.Observation {
	for i, c := range l.chunks {
		if l.void > 0 { // a dropped place has cost 0, an observation at least 1
			c = slices.DeleteFunc(c, func(o timeline.Observation) bool { return o.Cost == 0 })
		}
		if out == nil && len(l.chunks) == 1 {
			out = c
		} else {
			out = append(out, c...)
		}
		l.chunks[i] = nil
	}
	l.chunks, l.n, l.void = nil, 0, 0
	return out
}
