package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWhatIsNoAnswerIsADenial: where missing answers are denials, a connection that ends instead of an answer
// is one, and so is silence. An answer that breaks off is none: it may have been an admission.
func TestWhatIsNoAnswerIsADenial(t *testing.T) {
	const cut = "HTTP/1.1 200 OK\r\nContent-Le"
	for name, tt := range map[string]struct {
		deny func(net.Conn)
		want timeline.Outcome
	}{
		"closed": {func(net.Conn) {}, timeline.Denied},
		"reset":  {reset, timeline.Denied},
		"silent": {func(c net.Conn) { io.Copy(io.Discard, c) }, timeline.Denied},
		"cut":    {func(c net.Conn) { io.WriteString(c, cut) }, timeline.Unknown},
	} {
		for _, marked := range []string{"", "X-Degraded"} { // read by an event loop, and by a goroutine
			o := Options{Timeout: 300 * time.Millisecond,
				Answers: Answers{SilentDenials: true, DeniedField: marked}}
			o.URL = loopback(t, func(c net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					tt.deny(c)
				}
			})
			if got := mustRecord(t, one(), o).Observations[0].Outcome; got != tt.want {
				t.Errorf("%s, mark %q: got %v, want %v", name, marked, got, tt.want)
			}
		}
	}
}

// crossing is a connection whose second request leaves when the target has closed, and whose end is read
// after that.
type crossing struct {
	*net.TCPConn
	closed, wrote chan struct{}
	writes        int
}

func (c *crossing) Write(p []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		<-c.closed
		defer close(c.wrote)
	}
	return c.TCPConn.Write(p)
}

func (c *crossing) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if err != nil {
		<-c.wrote
	}
	return n, err
}

// TestARequestThatCrossesACloseIsNotDenied: a target that closes after an answer, without a word, never sees
// the next request. Its limiter has denied nothing.
func TestARequestThatCrossesACloseIsNotDenied(t *testing.T) {
	x := &crossing{closed: make(chan struct{}), wrote: make(chan struct{})}
	o := Options{Answers: Answers{SilentDenials: true, DeniedField: "X-Degraded"}} // a goroutine reads it
	o.URL = loopback(t, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		c.Close()
		close(x.closed)
	})
	o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			x.TCPConn = c.(*net.TCPConn)
		}
		return x, err
	}
	tl := mustRecord(t, schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1, Requests: 2,
		Partitions: []string{"k"}}), o)
	if c := tl.Counts(); c.Allowed != 1 || c.Unknown != 1 {
		t.Errorf("got %+v", c)
	}
}

// TestAResetAfterAnAnswerDeniesNothing: a target that closes after an answer resets a request that has
// arrived meanwhile.
func TestAResetAfterAnAnswerDeniesNothing(t *testing.T) {
	for _, marked := range []string{"", "X-Degraded"} {
		o := Options{Answers: Answers{SilentDenials: true, DeniedField: marked}}
		o.URL = loopback(t, func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			c.Read(make([]byte, 1))
			reset(c)
		})
		tl := mustRecord(t, schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1,
			Requests: 2, Partitions: []string{"k"}}), o)
		if c := tl.Counts(); c.Allowed != 1 || c.Unknown != 1 {
			t.Errorf("mark %q: got %+v", marked, c)
		}
	}
}

// TestAnIdleConnectionDeniesNothing: where missing answers are denials, a connection that the target may be
// about to close is not used, however long it takes to open another.
func TestAnIdleConnectionDeniesNothing(t *testing.T) {
	for _, silent := range []bool{false, true} {
		virtual(t, ok, func(t *testing.T, o Options) {
			var dials atomic.Int64
			dial := o.Dial
			o.SilentDenials = silent
			o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				time.Sleep(50 * time.Millisecond)
				return dial(ctx, network, addr)
			}
			o.Partition = transport.Partition{}
			mustRecord(t, schedule(timeline.Phase{Name: "p", Shape: timeline.Constant,
				Arrivals: each(4, 3*time.Second, "k", 0)}), o)
			if n := dials.Load(); (n >= 4) != silent {
				t.Errorf("missing answers are denials: %v; got %d connections for 4 requests", silent, n)
			}
		})
	}
}
