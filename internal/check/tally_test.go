package check

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestCertainCountsWhatLiesWithin holds the quick count against one by one, for instants that mostly grow.
func TestCertainCountsWhatLiesWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	quick := 0
	for range 200 {
		h := &history{}
		at := int64(0)
		for i := range 300 {
			at += r.Int64N(6)
			ev := event{s: at, e: at + r.Int64N(20), cost: 1 + r.Int64N(3), seq: i, outcome: timeline.Allowed}
			if r.IntN(20) == 0 {
				ev.e = 2000 // no answer
			}
			h.all = append(h.all, ev)
		}
		h.split()
		c := newCertain(h.all)
		for _, i := range h.admittedByEnd {
			ev := h.admitted[i]
			after := ev.s - 1 - r.Int64N(200)
			if r.IntN(3) == 0 {
				after = ev.s / 300 * 300
			}
			want := c.listed(c.firstAfter(after), ev.s, ev)
			before := len(c.across)
			if got := c.within(after, ev.s, ev); got != want {
				t.Fatalf("within(%d, %d): got %d, want %d", after, ev.s, got, want)
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

// TestLoadsOfWindows: windows are found in any order, those without units too.
func TestLoadsOfWindows(t *testing.T) {
	l := &loads{}
	for _, k := range []int64{-3, -3, 0, 1, 7} {
		l.add(k, 2)
	}
	var got []int64
	for _, k := range []int64{-4, -3, 0, 7, 8, 1, -3, -9, 6} {
		got = append(got, l.in(k))
	}
	if want := []int64{0, 4, 2, 2, 0, 2, 4, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
