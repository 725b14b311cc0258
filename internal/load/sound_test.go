package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// decisions is a target that decides as soon as it has the header block, and remembers when.
type decisions struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (d *decisions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	d.mu.Lock()
	d.at[r.Header.Get("X-Api-Key")] = now
	d.mu.Unlock()
	io.Copy(io.Discard, r.Body)
}

// This is the property on which all verdicts depend: the target's decision, on the same clock, lies in [Sent,
// FirstByte]. TestSoakOfDecisions checks a million decisions of each protocol.
func TestTheDecisionLiesInTheInterval(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	bodies := []int{0, 3 << 10, 64 << 10}
	for _, w := range ways {
		for k, body := range bodies {
			n := 200
			if k == 0 { // a body changes how bytes are cut, and not how many may wait
				n = 1000
			}
			t.Run(fmt.Sprintf("%s, body of %d", w.name, body), func(t *testing.T) {
				decidesInside(t, w, body, n)
			})
		}
	}
}

// decidesInside sends n requests one by one, and then a burst of n.
func decidesInside(t *testing.T, w way, body, n int) {
	d := &decisions{at: map[string]time.Time{}}
	o, ok := w.serve(t, d.ServeHTTP)
	if !ok {
		t.Skip("this machine has no such way")
	}
	o.Partition = Partition{Kind: transport.ByHeader, Name: "X-Api-Key"}
	if body > 0 {
		o.Method, o.Body = http.MethodPost, make([]byte, body)
	}
	keyed := func(k int, gap time.Duration) []timeline.Arrival {
		out := each(n, gap, "", k*n)
		for i := range out {
			out[i].Partition = strconv.Itoa(k*n + i)
		}
		return out
	}
	o.Timeout = time.Minute
	r := newRecorder(schedule(
		timeline.Phase{Name: "steady", Shape: timeline.Constant, Arrivals: keyed(0, 200*time.Microsecond)},
		timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: keyed(1, 0)},
	), must(o.Complete()))
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	tl := r.record(context.Background())
	sane(t, tl)
	if c := tl.Counts(); c.Allowed < n || c.Planned != 2*n {
		t.Fatalf("got %+v, want %d allowed at least; notes %q", c, n, tl.Header.Notes)
	}
	for _, o := range tl.Observations {
		if !o.Answered { // some are lost if the machine stands still
			continue
		}
		at := d.at[o.Partition].Sub(r.clock.Start)
		if at < o.Sent || at > o.FirstByte {
			t.Errorf("seq %d (%s): decided at %v, outside [%v, %v]", o.Seq, o.Phase, at, o.Sent, o.FirstByte)
		}
	}
}
