package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAProcessThatStoodStillSaysSo: a late look shows a stall, a small delay does not.
func TestAProcessThatStoodStillSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stalls
		pauses := []time.Duration{5 * ms, 29 * ms, 30 * ms, 5 * ms, 2 * time.Second, 5 * ms}
		s.feel(Clock{Start: time.Now()}, func() bool {
			if len(pauses) == 0 {
				return false
			}
			time.Sleep(pauses[0])
			pauses = pauses[1:]
			return true
		})
		want := []timeline.Stall{{From: 34 * ms, To: 64 * ms}, {From: 69 * ms, To: 2069 * ms}}
		if d := cmp.Diff(want, s.All()); d != "" {
			t.Error(d)
		}
	})
}

// TestALateLookTellsOfAStall: a late look shows a stall, also before any was noted.
func TestALateLookTellsOfAStall(t *testing.T) {
	var s Stalls
	if s.Now(time.Second, 1029*ms, 0) || !s.Now(time.Second, 1030*ms, 0) {
		t.Error("a look 29 ms late tells of a stall, or one 30 ms late of none")
	}
}
