package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// wire is a network in memory: a listener, and a Dial that connects to it. It works in virtual time.
type wire struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWire() *wire { return &wire{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (w *wire) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.conns <- theirs:
		return ours, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{} }

// virtual runs test in virtual time against a handler, which is called at the virtual time at which its
// request is complete.
func virtual(t *testing.T, h http.HandlerFunc, test func(t *testing.T, o Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		srv := &http.Server{Handler: h}
		go srv.Serve(w)
		test(t, Options{
			URL: must(url.Parse("http://target.example/")), Pacer: transport.SleepingPacer(), Dial: w.Dial,
			Partition: Partition{Kind: transport.ByHeader, Name: "X-Api-Key"},
		})
		srv.Close()
		// synctest reports goroutines that are still blocked on return as leaks.
		synctest.Wait()
	})
}

// loopback runs serve for every connection to a port that the kernel chooses, and returns its URL.
func loopback(t testing.TB, serve func(c net.Conn)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
}

// loopbackHTTP serves h on a port that the kernel chooses.
func loopbackHTTP(t testing.TB, h http.HandlerFunc) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// each returns n arrivals gap apart, numbered from seq.
func each(n int, gap time.Duration, partition string, seq int) []timeline.Arrival {
	out := make([]timeline.Arrival, n)
	for i := range out {
		out[i] = timeline.Arrival{Seq: seq + i, Partition: partition, At: time.Duration(i) * gap, Cost: 1}
	}
	return out
}

func schedule(phases ...timeline.Phase) *timeline.Schedule { return &timeline.Schedule{Phases: phases} }

// one returns a schedule with a single request.
func one() *timeline.Schedule {
	return schedule(timeline.Phase{Name: "one", Shape: timeline.Constant, Arrivals: each(1, 0, "k", 0)})
}

// mustRecord records, and checks what is true of every recording.
func mustRecord(t testing.TB, s *timeline.Schedule, o Options) *timeline.Timeline {
	t.Helper()
	tl, err := Record(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	sane(t, tl)
	return tl
}

// sane checks what is true of every recording.
func sane(t testing.TB, tl *timeline.Timeline) {
	t.Helper()
	seen := map[int]bool{}
	for i, o := range tl.Observations {
		switch {
		case seen[o.Seq]:
			t.Errorf("observation %d: seq %d is given twice", i, o.Seq)
		case i > 0 && o.Sent < tl.Observations[i-1].Sent:
			t.Errorf("observation %d: sent at %v, the one before at %v", i, o.Sent, tl.Observations[i-1].Sent)
		case o.Answered && o.FirstByte < o.Sent:
			t.Errorf("observation %d: answered at %v, sent at %v", i, o.FirstByte, o.Sent)
		case o.Answered != (o.Error == ""):
			t.Errorf("observation %d: answered %v, error %q", i, o.Answered, o.Error)
		case !o.Answered && o.Outcome != timeline.Unknown:
			t.Errorf("observation %d: outcome %v without an answer", i, o.Outcome)
		case o.Cost < 1:
			t.Errorf("observation %d: cost %d", i, o.Cost)
		}
		seen[o.Seq] = true
	}
}

// sends returns when the observations of a phase were sent.
func sends(tl *timeline.Timeline, phase string) []time.Duration {
	var out []time.Duration
	for _, o := range tl.Observations {
		if o.Phase == phase {
			out = append(out, o.Sent)
		}
	}
	return out
}

// ok answers 200 with a short body.
func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") }
