package load

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// crowded returns n requests of random partitions, a gap apart.
func crowded(n int, gap time.Duration, partitions ...string) timeline.Phase {
	p := timeline.Phase{Name: "p", Shape: timeline.Constant}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		p.Arrivals = append(p.Arrivals, timeline.Arrival{Seq: i, At: time.Duration(i) * gap,
			Partition: partitions[random.IntN(len(partitions))]})
	}
	return p
}

// TestPartitionsThatAllWaitTakeNoConnectionsFromEachOther: against a target that answers half of the
// requests, nearly each request once opened a new connection.
func TestPartitionsThatAllWaitTakeNoConnectionsFromEachOther(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) { time.Sleep(50 * time.Millisecond) }
	virtual(t, answer, func(t *testing.T, o Options) {
		o.MaxConnections = 8
		p := crowded(320, 3125*time.Microsecond, "a", "b", "c", "d")
		p.Duration = time.Second
		tl := mustRecord(t, schedule(p), o)
		if n := tl.Header.Audit.Connections; n > 8 {
			t.Errorf("got %d connections, want 8", n)
		}
		c := tl.Counts()
		if c.Sent < 150 || c.Sent+c.Unsent != 320 {
			t.Errorf("got %+v, want 320 planned and at least 150 sent", c)
		}
		sent := map[string]int{}
		for _, o := range tl.Observations {
			sent[o.Partition]++
		}
		for name, n := range sent {
			if n < 30 {
				t.Errorf("partition %s sent %d, want a quarter of %d", name, n, c.Sent)
			}
		}
	})
}

// away is a pacer that stands still for some time once the clock has reached a time.
type away struct {
	transport.Pacer
	at, back time.Duration
}

func (a away) Wait(ctx context.Context, clk transport.Clock, due time.Duration, wake <-chan struct{}) bool {
	if due >= a.at && due < a.back {
		due = a.back
	}
	return a.Pacer.Wait(ctx, clk, due, wake)
}

// slowly makes each connection take a while to open.
func slowly(o *Options, took time.Duration) {
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		time.Sleep(took)
		return dial(ctx, network, addr)
	}
}

// TestFreshConnectionsAreOpenedAhead: they once were opened when their requests were due, which was late for
// each request of a target far away. Those of HTTP/2 were opened one at a time.
func TestFreshConnectionsAreOpenedAhead(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) }
	for _, w := range []way{{name: "HTTP/1.1"}, {name: "HTTP/2", h2: true}} {
		synctest.Test(t, func(t *testing.T) {
			o, stop := w.serveVirtual(t, answer)
			slowly(&o, 200*time.Millisecond)
			p := timeline.Phase{Name: "p", Shape: timeline.Constant, Duration: 2 * time.Second,
				Arrivals: each(40, 50*time.Millisecond, "k", 0), Request: timeline.Request{Fresh: true}}
			tl := mustRecord(t, schedule(p), o)
			stop()
			synctest.Wait()
			if c := tl.Counts(); c.Sent != 40 {
				t.Errorf("%s: got %+v, want all of 40 sent", w.name, c)
			}
			for _, o := range tl.Observations {
				if o.Sent != o.At {
					t.Errorf("%s: request %d was sent %v late", w.name, o.Seq, o.Sent-o.At)
				}
			}
			if n := tl.Header.Audit.Connections; n > 40+7 {
				t.Errorf("%s: got %d connections for 40 requests, want few more", w.name, n)
			}
		})
	}
}

// TestABoundaryWaitsForTheFirstConnections: on a clock that is known nothing is asked before, so that it was
// not known how long connections take.
func TestABoundaryWaitsForTheFirstConnections(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) {}
	virtual(t, answer, func(t *testing.T, o Options) {
		slowly(&o, 200*time.Millisecond)
		o.WallError = time.Millisecond
		arrivals := each(40, 0, "k", 0)
		for i := range arrivals {
			arrivals[i].At = 25 * time.Millisecond * time.Duration(2*(i/20)-1)
		}
		tl := mustRecord(t, schedule(timeline.Phase{Name: "b", Shape: timeline.Boundary,
			Aim: timeline.AimClock, Window: time.Second, Arrivals: arrivals}), o)
		for _, o := range tl.Observations {
			if o.Sent != o.At {
				t.Errorf("request %d was sent %v late", o.Seq, o.Sent-o.At)
			}
		}
		if n := len(tl.Observations); n != 40 {
			t.Errorf("got %d requests, want 40", n)
		}
	})
}

// TestALinkBeginsAThousandStreams: nginx ends a connection of HTTP/2 after so many, and takes none of the
// requests that are on their way then. A burst does not begin on a connection that has few left.
func TestALinkBeginsAThousandStreams(t *testing.T) {
	burst := func(n int) timeline.Phase {
		return timeline.Phase{Name: fmt.Sprintf("burst %d", n), Shape: timeline.AtOnce,
			Arrivals: each(200, 0, "k", 200*n)}
	}
	even := timeline.Phase{Name: "even", Shape: timeline.Constant,
		Arrivals: each(2100, time.Millisecond, "k", 0)}
	for _, x := range []struct {
		phases []timeline.Phase
		links  int
	}{
		{[]timeline.Phase{even}, 3},
		{[]timeline.Phase{burst(0), burst(1), burst(2), burst(3), burst(4)}, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, stop := way{h2: true}.serveVirtual(t, func(http.ResponseWriter, *http.Request) {})
			tl := mustRecord(t, schedule(x.phases...), o)
			stop()
			synctest.Wait()
			for _, o := range tl.Observations {
				if o.Sent != o.At || o.Outcome != timeline.Allowed {
					t.Errorf("%s: request %d was sent %v late and %s", o.Phase, o.Seq, o.Sent-o.At, o.Outcome)
				}
			}
			if n := tl.Header.Audit.Connections; n != x.links {
				t.Errorf("%s: got %d connections, want %d", x.phases[0].Name, n, x.links)
			}
		})
	}
}

// TestASenderThatIsBehindOpensFewConnectionsAtOnce: each late request once opened a connection. The last few
// requests were not yet tardy when the sender came back. They are not behind, and may open their connections
// beside the others.
func TestASenderThatIsBehindOpensFewConnectionsAtOnce(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) { time.Sleep(50 * time.Millisecond) }
	virtual(t, answer, func(t *testing.T, o Options) {
		var opening, most atomic.Int64
		dial := o.Dial
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			most.Store(max(most.Load(), opening.Add(1)))
			defer opening.Add(-1)
			time.Sleep(10 * time.Millisecond)
			return dial(ctx, network, addr)
		}
		o.Pacer = away{Pacer: transport.SleepingPacer(), at: 100 * time.Millisecond, back: time.Second}
		const gap = 2500 * time.Microsecond
		const dialling, tardy = 16, 10 * time.Millisecond // as package transport has them
		tl := mustRecord(t, schedule(crowded(400, gap, "a", "b")), o)
		if n := most.Load(); n > dialling+int64(tardy/gap) {
			t.Errorf("got %d at once, want %d for those that are late and %d for the others", n, dialling,
				tardy/gap)
		}
		if c := tl.Counts(); c.Sent != 400 {
			t.Errorf("got %+v, want all of 400 sent", c)
		}
	})
}

// TestConnectionsAreCounted: all opened connections are counted, also if the run is given up while many
// streams of one are in flight.
func TestConnectionsAreCounted(t *testing.T) {
	for range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		u := loopback(t, func(c net.Conn) {
			p := &peer{Framer: http2.NewFramer(c, c), c: c}
			io.CopyN(io.Discard, c, int64(len(http2.ClientPreface)))
			p.WriteSettings()
			for f, err := p.ReadFrame(); err == nil; f, err = p.ReadFrame() {
				if s, is := f.(*http2.SettingsFrame); is && s.IsAck() {
					cancel()
				}
			}
		})
		tl, err := Record(ctx, schedule(timeline.Phase{Name: "b", Shape: timeline.AtOnce,
			Arrivals: each(300, 0, "k", 0)}), Options{URL: u, HTTP2: true, Timeout: time.Second})
		cancel()
		if n := tl.Header.Audit.Connections; err != nil || n != 1 {
			t.Errorf("got %d connections, %v, want 1", n, err)
		}
	}
}
