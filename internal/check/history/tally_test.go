package history

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestCertainCountsWhatLiesWithin compares the quick count with one that goes through all events, for
// instants that mostly grow.
func TestCertainCountsWhatLiesWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	quick := 0
	for range 200 {
		h := &History{}
		at := int64(0)
		for i := range 300 {
			at += r.Int64N(6)
			ev := Event{Start: at, End: at + r.Int64N(20), Cost: 1 + r.Int64N(3), Seq: i,
				Outcome: timeline.Allowed}
			if r.IntN(20) == 0 {
				ev.End = 2000 // no answer
			}
			h.All = append(h.All, ev)
		}
		h.Split()
		c := NewCertain(h.All)
		for _, i := range h.AdmittedByEnd {
			ev := h.Admitted[i]
			after := ev.Start - 1 - r.Int64N(200)
			if r.IntN(3) == 0 {
				after = ev.Start / 300 * 300
			}
			want := c.listed(c.firstAfter(after), ev.Start, ev)
			before := len(c.across)
			if got := c.Within(after, ev.Start, ev); got != want {
				t.Fatalf("within(%d, %d): got %d, want %d", after, ev.Start, got, want)
			}
			if len(c.across) != before {
				quick++
			}
		}
	}
	if quick == 0 {
		t.Error("nothing was counted quickly")
	}
}

// TestEventsAreSmall: a judgement keeps about four copies of each event of a piece, and one observation.
func TestEventsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(Event{}); size > 48 {
		t.Errorf("an event takes %d bytes, want at most 48", size)
	}
	if size := unsafe.Sizeof(Observation{}); size > 48 {
		t.Errorf("an observation takes %d bytes, want at most 48", size)
	}
}
