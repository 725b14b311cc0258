package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAProcessThatStoodStillSaysSo: looks that come late tell of a stall, small delays do not, nor does a run
// without any.
func TestAProcessThatStoodStillSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(&timeline.Schedule{}, &Options{})
		r.clock = clock{start: time.Now()}
		pauses := []time.Duration{5 * ms, 29 * ms, 30 * ms, 5 * ms, 2 * time.Second, 5 * ms}
		r.feel(func() bool {
			if len(pauses) == 0 {
				return false
			}
			time.Sleep(pauses[0])
			pauses = pauses[1:]
			return true
		})
		want := []timeline.Stall{{From: 34 * ms, To: 64 * ms}, {From: 69 * ms, To: 2069 * ms}}
		if d := cmp.Diff(want, r.stalls); d != "" {
			t.Error(d)
		}
	})
	virtual(t, ok, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{Name: "a", Shape: timeline.Constant,
			Arrivals: each(3, time.Second, "k", 0)}), o)
		if len(tl.Header.Stalls) > 0 {
			t.Errorf("got stalls %v of a run in virtual time, want none", tl.Header.Stalls)
		}
	})
}
