package history

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAdmissionsAloneAreKeptOnce: where all events were admitted, Admitted has their memory. When some are
// divided off later, the events stay as they were.
func TestAdmissionsAloneAreKeptOnce(t *testing.T) {
	h := &History{}
	for seq := range 4 {
		h.All = append(h.All, Event{Start: int64(seq), End: 9, Cost: 1, Seq: seq, Outcome: timeline.Allowed})
	}
	if h.Split(); len(h.Admitted) != 4 || &h.Admitted[0] != &h.All[0] || cap(h.Admitted) != 4 {
		t.Errorf("got %d admitted, want those of All themselves", len(h.Admitted))
	}
	h.All[0].Outcome = timeline.Denied
	want := slices.Clone(h.All)
	if h.Split(); !slices.Equal(h.All, want) || !slices.Equal(h.Admitted, want[1:]) ||
		!slices.Equal(h.Denied, []int32{0}) {
		t.Errorf("got all %v, admitted %v, denied %v", h.All, h.Admitted, h.Denied)
	}
}
