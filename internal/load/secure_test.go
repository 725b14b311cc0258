package load

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestTLSIsVerifiedAndGated(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 || r.TLS.NegotiatedProtocol != "http/1.1" {
			t.Errorf("got %s, %q", r.Proto, r.TLS.NegotiatedProtocol)
		}
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	s := schedule(
		timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(12, 0, "k", 0)},
		timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 3, Partitions: []string{"k"}, Requests: 60},
	)
	u := must(url.Parse(srv.URL))
	tl := mustRecord(t, s, Options{URL: u, TLS: &tls.Config{RootCAs: roots}})
	if c := tl.Counts(); c.Allowed != 72 || tl.Header.Audit.Connections > 15 || tl.Header.Spreads[0].Requests != 12 {
		t.Errorf("got %+v, %+v", c, tl.Header)
	}
	tl = mustRecord(t, one(), Options{URL: u, TLS: &tls.Config{RootCAs: x509.NewCertPool()}})
	if why, gone := Unreachable(tl); !gone || !strings.Contains(why, " tls: ") || !strings.Contains(why, "SSL_CERT_FILE") {
		t.Errorf("got %q, want an unknown authority to be refused", why)
	}
	plain := *u
	plain.Scheme = "http"
	tl = mustRecord(t, one(), Options{URL: &plain})
	if o := tl.Observations[0]; o.Status != 400 {
		t.Errorf("got %+v, want the 400 of a TLS port asked in plain", o)
	}
	wrong := *loopbackHTTP(t, ok)
	wrong.Scheme = "https"
	tl = mustRecord(t, one(), Options{URL: &wrong})
	if why, gone := Unreachable(tl); !gone || !strings.Contains(why, " tls: ") {
		t.Errorf("got %q, want tls: the port speaks plain HTTP", why)
	}
}
