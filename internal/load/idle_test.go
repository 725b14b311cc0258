package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// threads serves n connections of w at a time. Each keeps its thread until it ends, and bytes on the others
// wait.
func threads(w *wire, n int) {
	free := make(chan struct{}, n)
	for {
		c, err := w.Accept()
		if err != nil {
			return
		}
		in, out := io.Pipe()
		taken := make(chan []byte, 100) // bytes that the kernel holds for a connection nobody reads
		go func() {
			for {
				b := make([]byte, 4096)
				n, err := c.Read(b)
				if err != nil {
					close(taken)
					return
				}
				taken <- b[:n]
			}
		}()
		go func() {
			for b := range taken {
				out.Write(b)
			}
			out.Close()
		}()
		go func() {
			free <- struct{}{}
			defer func() { <-free }()
			defer c.Close()
			for r := bufio.NewReader(in); ; {
				if _, err := http.ReadRequest(r); err != nil {
					in.Close()
					return
				}
				_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
				if err != nil {
					in.Close()
					return
				}
			}
		}()
	}
}

// withThreads runs test in virtual time against a server that serves n connections at a time.
func withThreads(t *testing.T, n int, test func(t *testing.T, o Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		go threads(w, n)
		test(t, Options{
			URL: must(url.Parse("http://target.example/")), Pacer: transport.SleepingPacer(), Dial: w.Dial,
			Partition: Partition{Kind: transport.ByHeader, Name: "X-Api-Key"},
		})
		w.Close()
		synctest.Wait()
	})
}

// While a boundary is sought, no unneeded connection is open. Both of its bursts leave together.
func TestBoundaryIsFoundWithFewThreads(t *testing.T) {
	withThreads(t, 16, func(t *testing.T, o Options) {
		arrivals := append(each(40, 0, "k", 0), each(40, 0, "k", 40)...)
		for i := range arrivals {
			arrivals[i].At = 100 * time.Millisecond
			if i < 40 {
				arrivals[i].At = -100 * time.Millisecond
			}
		}
		tl := mustRecord(t, schedule(timeline.Phase{Name: "edge", Shape: timeline.Boundary,
			Aim: timeline.AimFirst, Window: 2 * time.Second, Arrivals: arrivals}), o)
		if c := tl.Counts(); c.Allowed != 81 || c.Unknown != 0 || c.Unsent != 0 {
			t.Errorf("got %+v, notes %q; want 80 answers and that of the aim", c, tl.Header.Notes)
		}
		if o := tl.Observations[0]; o.FirstByte-o.Sent > 500*ms {
			t.Errorf("the first answer came after %v, want no idle connection in its way", o.FirstByte-o.Sent)
		}
		for _, s := range tl.Header.Spreads {
			if s.Requests != 40 || s.Width > time.Millisecond {
				t.Errorf("got a burst of %d in %v, want 40 at once", s.Requests, s.Width)
			}
		}
	})
}

// A burst of more requests than the target has threads is answered, batch after batch.
func TestBurstIsAnsweredByFewThreads(t *testing.T) {
	withThreads(t, 16, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(40, 0, "k", 0)},
			timeline.Phase{Name: "other", Shape: timeline.AtOnce, Arrivals: each(40, 0, "other", 40)},
			timeline.Phase{Name: "then", Shape: timeline.Constant,
				Arrivals: each(10, 10*time.Millisecond, "third", 80)},
		), o)
		if c := tl.Counts(); c.Allowed != 90 || tl.Header.Spreads[0].Requests != 40 {
			t.Errorf("got %+v, %+v", c, tl.Header)
		}
		if took := tl.Observations[79].FirstByte; took > time.Second {
			t.Errorf("the bursts were answered after %v", took)
		}
	})
}

// place is a connection that has a place at its target until it is closed.
type place struct {
	net.Conn
	leave func()
}

func (p place) Close() error {
	p.leave()
	return p.Conn.Close()
}

// A target that serves one client at a time keeps few others in its queue, and the kernel drops the rest.
// They are waited for twice: the first time-out may be a lost packet.
func TestAQueueOfConnectionsThatIsFullIsNotMetAgain(t *testing.T) {
	withThreads(t, 1, func(t *testing.T, o Options) {
		const room = 7
		places, dial := make(chan struct{}, room), o.Dial
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case places <- struct{}{}:
				c, err := dial(ctx, network, addr)
				return place{c, sync.OnceFunc(func() { <-places })}, err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "one", Shape: timeline.AtOnce, Arrivals: each(60, 0, "k", 0)},
			timeline.Phase{Name: "two", Shape: timeline.AtOnce, Arrivals: each(60, 0, "k", 60)},
			timeline.Phase{Name: "three", Shape: timeline.AtOnce, Arrivals: each(60, 0, "k", 120)},
		), o)
		if c := tl.Counts(); c.Allowed != 180 {
			t.Errorf("got %+v, want all answered", c)
		}
		if took := tl.Observations[179].FirstByte; took > 12*time.Second {
			t.Errorf("the bursts were answered after %v, want two time-outs of 5 s", took)
		}
		if n := tl.Header.Notes; len(n) != 1 || !strings.Contains(n[0], "few connections at a time") {
			t.Errorf("got notes %q, want the full queue", n)
		}
	})
}

// One connection that times out beside idle ones may be lost on its way. Others are opened ahead as before.
func TestALostConnectionIsNoFullQueue(t *testing.T) {
	virtual(t, ok, func(t *testing.T, o Options) {
		dial, begun := o.Dial, time.Now()
		var mu sync.Mutex
		var opened []time.Duration
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			opened = append(opened, time.Since(begun))
			lost := len(opened) == 3
			mu.Unlock()
			if lost {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			time.Sleep(10 * time.Millisecond)
			return dial(ctx, network, addr)
		}
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "one", Shape: timeline.AtOnce, Arrivals: each(60, 0, "k", 0)},
			timeline.Phase{Name: "two", Shape: timeline.AtOnce, Arrivals: each(90, 0, "k", 60)},
		), o)
		from, ahead := tl.Observations[59].Done, 0
		for _, at := range opened {
			if at >= from && at < tl.Observations[60].Sent {
				ahead++
			}
		}
		if ahead < 30 {
			t.Errorf("%d connections were opened ahead of the second burst, want 30", ahead)
		}
	})
}

// If the connections of many clients take all threads, the recorder notices that answers stop, adds a note,
// and goes on.
func TestAnswersThatStopWhileConnectionsIdleAreNoticed(t *testing.T) {
	withThreads(t, 4, func(t *testing.T, o Options) {
		var arrivals []timeline.Arrival
		for i, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			arrivals = append(arrivals, each(20, 500*time.Millisecond, key, 20*i)...)
		}
		slices.SortStableFunc(arrivals, func(a, b timeline.Arrival) int { return int(a.At - b.At) })
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "many", Shape: timeline.Constant, Arrivals: arrivals}), o)
		if c := tl.Counts(); c.Allowed != 160 || c.Unknown != 0 {
			t.Errorf("got %+v, want all answered", c)
		}
		notes := strings.Join(tl.Header.Notes, "\n")
		if !strings.Contains(notes, timeline.OfTarget+"requests waited for ") {
			t.Errorf("got notes %q, want the idle connections", notes)
		}
	})
}

// After a pause without a request, those that wait behind idle connections are noticed as soon as ever.
func TestAnswersThatStopAfterAPauseAreNoticed(t *testing.T) {
	withThreads(t, 4, func(t *testing.T, o Options) {
		var arrivals []timeline.Arrival
		for i, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			one := each(2, 500*time.Millisecond, key, 2*i)
			if i >= 4 {
				one[0].At, one[1].At = one[0].At+8*time.Second, one[1].At+8*time.Second
			}
			arrivals = append(arrivals, one...)
		}
		slices.SortStableFunc(arrivals, func(a, b timeline.Arrival) int { return int(a.At - b.At) })
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "late", Shape: timeline.Constant, Arrivals: arrivals}), o)
		if c := tl.Counts(); c.Allowed != 16 || c.Unknown != 0 {
			t.Errorf("got %+v, want all answered", c)
		}
	})
}

// A target that is slow at regular times is not mistaken for one with few threads.
func TestSlowAnswersAreNotTakenForFewThreads(t *testing.T) {
	for _, every := range []time.Duration{990, 1040, 1100, 1500, 1540, 2000} {
		every *= time.Millisecond
		var mu sync.Mutex
		var next time.Time
		virtual(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if next.Before(time.Now()) {
				next = time.Now()
			}
			next = next.Add(every)
			mine := next
			mu.Unlock()
			time.Sleep(time.Until(mine))
		}, func(t *testing.T, o Options) {
			tl := mustRecord(t, schedule(timeline.Phase{Name: "slow", Shape: timeline.Closed, Clients: 1,
				Partitions: []string{"k"}, Requests: 8},
				timeline.Phase{Name: "two", Shape: timeline.Constant, Arrivals: each(8, every, "two", 0)}), o)
			if c := tl.Counts(); c.Allowed != 16 || len(tl.Header.Notes) != 0 {
				t.Errorf("answers every %v: got %+v, notes %q", every, c, tl.Header.Notes)
			}
		})
	}
}
