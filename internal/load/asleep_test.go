package load

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestNoAnswerCountsAfterASleep: a sleep of this computer, which its clock does not show, ends the recording.
// The target went on meanwhile, so what it answers then says nothing. A recording that is kept on disk says
// the same.
func TestNoAnswerCountsAfterASleep(t *testing.T) {
	for _, tt := range []struct {
		by      time.Duration
		counted int
	}{{time.Hour, 2}, {-transport.Jump, 2}, {transport.Jump - 1, 10}} {
		for _, spool := range []bool{false, true} {
			virtual(t, func(http.ResponseWriter, *http.Request) {
				time.Sleep(3 * time.Millisecond)
			}, func(t *testing.T, o Options) {
				phases := []timeline.Phase{{Name: "p", Shape: timeline.Constant,
					Arrivals: each(10, time.Second, "k", 0)}}
				if spool { // a phase without a number of requests makes a long recording
					o.Spill = spillHere(t)
					phases = append(phases, timeline.Phase{Name: "closed", Shape: timeline.Closed, Clients: 1,
						Duration: time.Second, Partitions: []string{"k"}})
				}
				r := newRecorder(schedule(phases...), must(o.Complete()))
				asleep := 2001 * time.Millisecond // the third request is on its way
				r.jumped = func() time.Duration {
					if r.clock.Now() < asleep {
						return 0
					}
					return tt.by
				}
				tl, counted := r.record(t.Context()), 0
				if tl.Spool != nil {
					defer tl.Spool.Close()
				}
				for x := range tl.All() {
					if x.Phase == "p" && x.Outcome == timeline.Allowed {
						counted++
					}
				}
				ended := slices.Contains(tl.Header.Notes, transport.CauseSlept)
				if counted != tt.counted || ended != (counted < 10) || tl.Header.Interrupted != ended {
					t.Errorf("a jump of %v, spool %v: %d answers count, want %d; interrupted: %v, notes %q",
						tt.by, spool, counted, tt.counted, tl.Header.Interrupted, tl.Header.Notes)
				}
			})
		}
	}
}
