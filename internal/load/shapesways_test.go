package load

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// serveVirtual serves h in memory in the way w, in virtual time, and returns the options that reach it.
func (w way) serveVirtual(t *testing.T, h http.HandlerFunc) (o Options, stop func()) {
	t.Helper()
	in := newWire()
	srv := httptest.NewUnstartedServer(h)
	srv.Listener.Close()
	srv.Listener = in
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(!w.h2)
	srv.Config.Protocols.SetHTTP2(w.h2)
	srv.Config.Protocols.SetUnencryptedHTTP2(w.h2)
	srv.EnableHTTP2 = w.h2
	o = Options{URL: &url.URL{Scheme: "http", Host: "example.com", Path: "/"}, HTTP2: w.h2, Dial: in.Dial,
		Pacer: transport.SleepingPacer(), Partition: Partition{Kind: transport.ByHeader, Name: "X-Api-Key"}}
	if w.grpc {
		o.Header = grpcHeader()
	}
	if !w.tls {
		srv.Start()
		return o, srv.Close
	}
	srv.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	o.URL.Scheme, o.TLS = "https", &tls.Config{RootCAs: roots}
	return o, srv.Close
}

// everyShape returns a phase of each shape that sends.
func everyShape() []timeline.Phase {
	crowd := func(shape timeline.Shape) timeline.Phase {
		return timeline.Phase{Name: string(shape), Shape: shape, Clients: 3, Partitions: []string{"k"},
			Duration: 3 * time.Second}
	}
	retry := crowd(timeline.Backoff)
	retry.Retry = timeline.Retry{Policy: timeline.RetryExponential, Base: 50 * time.Millisecond,
		Max: time.Second}
	out := []timeline.Phase{crowd(timeline.Closed), crowd(timeline.HonorRetryAfter), retry,
		{Name: "at-once", Shape: timeline.AtOnce, Arrivals: each(20, 0, "k", 0)},
		{Name: "boundary", Shape: timeline.Boundary, Aim: timeline.AimClock, Window: time.Second,
			Arrivals: each(8, time.Millisecond, "k", 0)}}
	timed := []timeline.Shape{timeline.Constant, timeline.Ramp, timeline.Steps, timeline.Poisson}
	for _, shape := range timed {
		out = append(out, timeline.Phase{Name: string(shape), Shape: shape,
			Arrivals: each(50, 10*time.Millisecond, "k", 0)})
	}
	return out
}

// Every shape is sent over every protocol, in virtual time. The numbers agree with the target's, and planned
// requests are sent on time. The decision lies in the interval, which is as long as the target takes.
func TestEveryShapeOverEveryProtocol(t *testing.T) {
	for _, w := range []way{{name: "HTTP/1.1"}, {name: "TLS", tls: true}, {name: "HTTP/2", h2: true},
		{name: "HTTP/2 over TLS", h2: true, tls: true}, {name: "gRPC", h2: true, grpc: true}} {
		for _, p := range everyShape() {
			t.Run(w.name+" "+p.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { recordVirtual(t, w, p) })
			})
		}
	}
}

// recordVirtual records one phase from a target that takes 5 ms and denies every third request.
func recordVirtual(t *testing.T, w way, p timeline.Phase) {
	const takes = 5 * time.Millisecond
	var n, denied atomic.Int64
	o, stop := w.serveVirtual(t, func(rw http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		time.Sleep(takes)
		deny := n.Add(1)%3 == 0
		if deny {
			denied.Add(1)
			rw.Header().Set("Retry-After", "1")
		}
		switch {
		case w.grpc && deny:
			rw.Header().Set("Content-Type", "application/grpc")
			rw.Header().Set("Grpc-Status", "8")
		case w.grpc:
			rw.Header().Set("Content-Type", "application/grpc")
			rw.Header().Set("Grpc-Status", "0")
		case deny:
			rw.WriteHeader(http.StatusTooManyRequests)
		}
	})
	tl := mustRecord(t, schedule(p), o)
	stop()
	synctest.Wait()
	c := tl.Counts()
	if c.Sent != int(n.Load()) || c.Denied != int(denied.Load()) || c.Allowed != c.Sent-c.Denied ||
		c.Unsent != 0 || c.Sent < max(4, len(p.Arrivals)) {
		t.Errorf("got %+v, the target had %d and denied %d; notes %q", c, n.Load(), denied.Load(),
			tl.Header.Notes)
	}
	planned := len(p.Arrivals) > 0 && p.Shape != timeline.Boundary
	for _, x := range tl.Observations {
		if x.FirstByte-x.Sent != takes || planned && x.Sent != x.At {
			t.Errorf("#%d due at %v: sent %v, answered %v", x.Seq, x.At, x.Sent, x.FirstByte)
		}
	}
}
