package transport

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const ms = time.Millisecond

// TestAnAnswerThatCameInAStallIsRead: if a time-out ends together with a stall of this process, requests
// whose answers are read soon after are spared, and no others.
func TestAnAnswerThatCameInAStallIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := Clock{Start: time.Now()}
		x := New(t.Context(), &Options{Timeout: time.Second}, clock, nil, nil, nil)
		var stalls Stalls
		stalls.Add(timeline.Stall{From: 10 * ms, To: 995 * ms})
		var conns []*Conn
		for range 2 {
			ours, _ := net.Pipe()
			c := &Conn{t: x, raw: ours}
			c.expires.Store(int64(time.Second))
			x.live[c] = struct{}{}
			conns = append(conns, c)
		}
		ctx, stop := context.WithCancel(t.Context())
		go x.Watch(ctx, &stalls)
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
