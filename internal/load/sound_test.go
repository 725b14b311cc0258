package load

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

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

// The property that everything rests on: the target's decision, on the same clock, lies in [Sent, FirstByte].
func TestTheDecisionLiesInTheInterval(t *testing.T) {
	const n = 1000
	for name, body := range map[string]int{"GET": 0, "short body": 3 << 10, "body of 64 KiB": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			d := &decisions{at: map[string]time.Time{}}
			o := Options{URL: loopbackHTTP(t, d.ServeHTTP), Partition: Partition{Kind: kindHeader, Name: "X-Api-Key"}}
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
			done := must(o.complete())
			r := newRecorder(schedule(
				timeline.Phase{Name: "steady", Shape: timeline.Constant, Arrivals: keyed(0, 200*time.Microsecond)},
				timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: keyed(1, 0)},
			), done)
			if err := r.check(); err != nil {
				t.Fatal(err)
			}
			tl := r.record(context.Background())
			sane(t, tl)
			if c := tl.Counts(); c.Allowed != 2*n {
				t.Fatalf("got %+v, want %d allowed", c, 2*n)
			}
			for _, o := range tl.Observations {
				at := d.at[o.Partition].Sub(r.clock.start)
				if at < o.Sent || at > o.FirstByte {
					t.Errorf("seq %d (%s): decided at %v, outside [%v, %v]", o.Seq, o.Phase, at, o.Sent, o.FirstByte)
				}
			}
		})
	}
}
