package load

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestVirtualTimeHasNoStalls: a process that did not stand still says nothing of it.
func TestVirtualTimeHasNoStalls(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{Name: "a", Shape: timeline.Constant,
			Arrivals: each(3, time.Second, "k", 0)}), o)
		if len(tl.Header.Stalls) > 0 {
			t.Errorf("got stalls %v of a run in virtual time, want none", tl.Header.Stalls)
		}
	})
}

// TestAnAnswerThatCameInAStallIsRead: a time-out that ends with a stall of this process spares the requests
// whose answers are read soon after it, and no others.
func TestAnAnswerThatCameInAStallIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(&timeline.Schedule{}, &Options{Timeout: time.Second})
		r.clock = pacing.Clock{Start: time.Now()}
		r.stalls.Add(timeline.Stall{From: 10 * ms, To: 995 * ms})
		var conns []*conn
		for range 2 {
			ours, _ := net.Pipe()
			c := &conn{r: r, raw: ours}
			c.expires.Store(int64(time.Second))
			r.live[c] = struct{}{}
			conns = append(conns, c)
		}
		ctx, stop := context.WithCancel(t.Context())
		go r.watch(ctx)
		time.Sleep(1050 * ms)
		conns[0].expires.Store(0) // its answer was read
		time.Sleep(45 * ms)
		synctest.Wait()
		if got := conns[1].expires.Load(); got == expired {
			t.Error("the other timed out 95 ms after the look, before its answer can be read")
		}
		time.Sleep(5 * ms)
		synctest.Wait()
		if read, lost := conns[0].expires.Load(), conns[1].expires.Load(); read != 0 || lost != expired {
			t.Errorf("got %d and %d, want 0 (read) and %d (timed out)", read, lost, expired)
		}
		stop()
		synctest.Wait()
	})
}
