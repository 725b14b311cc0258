package load

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// turns are the turns of a recorder that may send until a time, and whose phases begin as told.
type turns struct {
	begins []time.Duration
	until  time.Duration
	start  time.Time
	met    []int
}

func (u *turns) Meet(_ context.Context, i int) bool { u.met = append(u.met, i); return true }

func (u *turns) Begin(_ context.Context, i int, start time.Time, due time.Duration) (time.Duration, bool) {
	u.start = start
	if u.begins[i] < 0 {
		return due, true
	}
	return u.begins[i], true
}

func (u *turns) Permit() bool { return u.start.IsZero() || time.Since(u.start) < u.until }

func TestSharedPhasesBeginTogether(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		u := &turns{begins: []time.Duration{300 * ms, 700 * ms, -1}, until: time.Hour}
		o.Share = &Share{Turns: u}
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "a", Shape: timeline.AtOnce, Arrivals: each(3, 0, "k", 0)},
			timeline.Phase{Name: "b", Shape: timeline.Constant, Arrivals: each(2, 10*ms, "k", 3),
				Duration: 50 * ms},
			timeline.Phase{Name: "c", Shape: timeline.AtOnce, Arrivals: each(2, 0, "k", 5)},
		), o)
		for phase, want := range map[string][]time.Duration{
			"a": {300 * ms, 300 * ms, 300 * ms}, "b": {700 * ms, 710 * ms},
		} {
			if d := cmp.Diff(want, sends(tl, phase)); d != "" {
				t.Errorf("%s: %s", phase, d)
			}
		}
		for _, x := range tl.Observations { // the third phase is late by the time its gate settles
			if x.Phase == "c" && (x.At != 750*ms || x.Sent != 750*ms+settle) {
				t.Errorf("got at %v, sent %v, want 750ms and the time to settle later", x.At, x.Sent)
			}
		}
		if d := cmp.Diff([]int{0, 1, 2}, u.met); d != "" {
			t.Error(d)
		}
	})
}

// TestNothingIsSentWithoutLeave: for every shape, the last request leaves before the permission ends, and the
// rest counts as unsent.
func TestNothingIsSentWithoutLeave(t *testing.T) {
	phases := map[string]timeline.Phase{
		"constant": {Name: "p", Shape: timeline.Constant, Arrivals: each(100, 10*ms, "k", 0)},
		"at once":  {Name: "p", Shape: timeline.AtOnce, Arrivals: each(5, 0, "k", 0)},
		"closed": {Name: "p", Shape: timeline.Closed, Clients: 3, Requests: 500,
			Partitions: []string{"k"}},
	}
	slow := func(w http.ResponseWriter, _ *http.Request) { time.Sleep(7 * ms) }
	for name, p := range phases {
		t.Run(name, func(t *testing.T) {
			virtual(t, slow, func(t *testing.T, o Options) {
				u := &turns{begins: []time.Duration{100 * ms}, until: 400 * ms}
				if name == "at once" { // the permission ends before the gate opens
					u.until = 100 * ms
				}
				o.Share, o.MaxConnections = &Share{Turns: u}, 2
				planned, _ := schedule(p).Planned()
				tl := mustRecord(t, schedule(p), o)
				for _, at := range sends(tl, "p") {
					if at >= u.until {
						t.Errorf("sent at %v, without leave from %v on", at, u.until)
					}
				}
				if c := tl.Counts(); c.Planned != planned || c.Unsent == 0 ||
					name != "at once" && c.Sent == 0 {
					t.Errorf("got %+v of %d", c, planned)
				}
				if n := tl.Header.Notes; len(n) != 1 || n[0] != transport.Unpermitted {
					t.Errorf("got the notes %q", n)
				}
			})
		})
	}
}
