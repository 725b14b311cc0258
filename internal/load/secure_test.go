package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
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
		timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 3, Partitions: []string{"k"},
			Requests: 60},
	)
	u := must(url.Parse(srv.URL))
	tl := mustRecord(t, s, Options{URL: u, TLS: &tls.Config{RootCAs: roots}})
	if c := tl.Counts(); c.Allowed != 72 || tl.Header.Audit.Connections > 15 ||
		tl.Header.Spreads[0].Requests != 12 {
		t.Errorf("got %+v, %+v", c, tl.Header)
	}
}

// Each reason why a port does not speak HTTP/1.1 as asked has its own word, cause and mend.
func TestOtherProtocolsAreNamed(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	https := must(url.Parse(secure.URL))
	scheme := func(u *url.URL, scheme string) *url.URL { v := *u; v.Scheme = scheme; return &v }
	greets := func(banner string) *url.URL {
		return loopback(t, func(c net.Conn) {
			io.WriteString(c, banner)
			c.Read(make([]byte, 4096))
		})
	}
	h2c := &http.Server{Handler: http.HandlerFunc(ok), Protocols: new(http.Protocols)}
	h2c.Protocols.SetUnencryptedHTTP2(true)
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	go h2c.Serve(l)
	defer h2c.Close()
	cert := secure.TLS.Certificates
	hangsUp := loopback(t, func(c net.Conn) { // as HAProxy does with plain HTTP
		b := make([]byte, 1)
		if c.Read(b); b[0] != 0x16 {
			return
		}
		_ = tls.Server(&greeted{Conn: c, first: b}, &tls.Config{Certificates: cert}).Handshake()
	})
	silentH2 := loopback(t, func(c net.Conn) { // like Node, it closes if no preface comes
		b := make([]byte, 24)
		if io.ReadFull(c, b); string(b[:3]) == "PRI" {
			io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
			c.Read(b)
		}
	})
	for _, x := range []struct {
		name, word, mend string
		url              *url.URL
		h2               bool
	}{
		{"an unknown authority", "tls-certificate", "--cacert FILE", https, false},
		{"plain HTTP to HTTPS, which says so", "wants-tls", "https://", scheme(https, "http"), false},
		{"plain HTTP to TLS, which hangs up", "wants-tls", "https://", hangsUp, false},
		{"a TLS alert", "wants-tls", "https://", greets("\x15\x03\x01\x00\x02\x02\x46"), false},
		{"HTTPS to plain HTTP", "no-tls", "http://", scheme(loopbackHTTP(t, ok), "https"), false},
		{"HTTP/2 only", "http2", "--http2", &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"},
			false},
		{"HTTP/2 only, which hangs up", "http2", "--http2", silentH2, false},
		{"SSH", "malformed", "another protocol", greets("SSH-2.0-OpenSSH_9.2\r\n"), false},
		{"HTTP/2 to TLS, which hangs up", "wants-tls", "https://", hangsUp, true},
		{"HTTP/2 to HTTPS", "wants-tls", "https://", scheme(https, "http"), true},
		{"HTTP/2 to HTTP/1.1", "no-http2", "leave --http2 out", loopbackHTTP(t, ok), true},
	} {
		roots := &tls.Config{RootCAs: x509.NewCertPool()}
		tl := mustRecord(t, one(), Options{URL: x.url, Timeout: 2 * time.Second, TLS: roots, HTTP2: x.h2})
		why, _ := transport.CauseUnreachable(tl)
		mend := transport.CauseRemedy(tl)
		if !strings.Contains(why, " "+x.word+": ") || !strings.Contains(mend, x.mend) {
			t.Errorf("%s: got %q, mend %q; want %s and %q", x.name, why, mend, x.word, x.mend)
			t.Logf("notes %q", tl.Header.Notes)
		}
	}
}

// A target that needs a client certificate need not end the handshake with an error. It may send a status
// (nginx, 400), or an alert after the handshake. The mend is the same.
func TestACertificateThatIsMissingIsNamed(t *testing.T) {
	for _, required := range []tls.ClientAuthType{tls.RequestClientCert, tls.RequireAnyClientCert} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest) // No required SSL certificate was sent
		}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.TLS = &tls.Config{ClientAuth: required}
		srv.StartTLS()
		for _, shown := range [][]tls.Certificate{nil, srv.TLS.Certificates} {
			tl := mustRecord(t, one(), Options{URL: must(url.Parse(srv.URL)), TLS: &tls.Config{
				InsecureSkipVerify: true, Certificates: shown}})
			want := shown == nil
			if got := slices.Contains(tl.Header.Notes, transport.CauseNoCertificate); got != want {
				t.Errorf("%v: it is noted: %v, want %v: %+v", required, got, want, tl)
			}
			if required == tls.RequireAnyClientCert && want &&
				transport.CauseRemedy(tl) != transport.CauseCertify {
				t.Errorf("got mend %q", transport.CauseRemedy(tl))
			}
		}
		srv.Close()
	}
}

// TestAPageAboutCertificatesIsNoAnswer: nginx does not end a connection whose certificate is missing or not
// trusted. It answers 400 before it looks at any limit, and says why in the page.
func TestAPageAboutCertificatesIsNoAnswer(t *testing.T) {
	for _, tt := range []struct {
		page, word string
		status     int
	}{
		{"<title>400 No required SSL certificate was sent</title>", transport.CauseClient, 400},
		{"<title>400 The SSL certificate error</title>", transport.CauseClient, 400},
		{"<title>400 Request Header Or Cookie Too Large</title>", "", 400},
		{"<title>429 The SSL certificate error</title>", "", 429},
	} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.page)
		}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.EnableHTTP2 = true
		srv.StartTLS()
		for _, h2 := range []bool{false, true} {
			tl := mustRecord(t, one(), Options{URL: must(url.Parse(srv.URL)), HTTP2: h2,
				TLS: &tls.Config{InsecureSkipVerify: true}})
			o, named := tl.Observations[0], tt.word != ""
			if o.Error != tt.word || o.Answered == named || (o.Status == 0) != named || o.Body != "" ||
				named && transport.CauseRemedy(tl) != transport.CauseCertify {
				t.Errorf("%q, HTTP/2 %v: got %+v, mend %q", tt.page, h2, o, transport.CauseRemedy(tl))
			}
		}
		srv.Close()
	}
}

// TestAHangUpAfterACertificateIsNamed: Node hangs up on a client whose certificate it does not trust, without
// an alert. By then both may have agreed on h2.
func TestAHangUpAfterACertificateIsNamed(t *testing.T) {
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	defer own.Close()
	hangsUp := loopback(t, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: own.TLS.Certificates, ClientAuth: tls.RequestClientCert,
			NextProtos: []string{"h2", "http/1.1"}})
		s.Handshake()
		s.Read(make([]byte, 1024))
	})
	hangsUp.Scheme = "https"
	for _, h2 := range []bool{false, true} {
		for _, shown := range [][]tls.Certificate{nil, own.TLS.Certificates} {
			tl := mustRecord(t, one(), Options{URL: hangsUp, HTTP2: h2, TLS: &tls.Config{
				InsecureSkipVerify: true, Certificates: shown}})
			word, mend := tl.Observations[0].Error, transport.CauseRemedy(tl)
			if !transport.CauseHungUp(word) || word == transport.CauseNoHTTP2 ||
				!strings.Contains(mend, "--cert") {
				t.Errorf("HTTP/2 %v, %d shown: got %q, mend %q", h2, len(shown), word, mend)
			}
		}
	}
}

// A target that ends a TLS connection says by an alert what it does not accept. With TLS 1.3 the client's
// handshake is over before an alert about its certificate arrives.
func TestAlertsAreNamed(t *testing.T) {
	certify := &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	old := certify.Clone()
	old.MaxVersion = tls.VersionTLS12
	nameless := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return nil, nil
	}}
	for _, x := range []struct {
		name, word, mend string
		http2            bool
		target           *tls.Config
	}{
		{"HTTP/1.1 to no HTTP/1.1", "http2", "--http2", false, &tls.Config{NextProtos: []string{"h3"}}},
		{"HTTP/2 to HTTP/1.1 only", "no-http2", "leave --http2 out", true,
			&tls.Config{NextProtos: []string{"http/1.1"}}},
		{"another client certificate", "tls-client", "--cert FILE", false, certify},
		{"another client certificate, HTTP/2", "tls-client", "--cert FILE", true, certify},
		{"another client certificate, TLS 1.2", "tls-client", "--cert FILE", false, old},
		{"another name", "tls-host", "--host NAME", false, nameless},
	} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(ok))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.EnableHTTP2, srv.TLS = x.http2, x.target.Clone()
		srv.StartTLS()
		shown := srv.TLS.Certificates
		if x.target == nameless {
			srv.TLS.Certificates = nil
		}
		tl := mustRecord(t, one(), Options{URL: must(url.Parse(srv.URL)), HTTP2: x.http2,
			TLS: &tls.Config{InsecureSkipVerify: true, Certificates: shown}})
		why, _ := transport.CauseUnreachable(tl)
		mend := transport.CauseRemedy(tl)
		if !strings.Contains(why, " "+x.word+": ") || !strings.Contains(mend, x.mend) {
			t.Errorf("%s: got %q, mend %q, notes %q", x.name, why, mend, tl.Header.Notes)
		}
		srv.Close()
	}
}

// The fault of a certificate is named: a wrong authority, name and date are mended in different ways.
func TestWhatIsWrongWithACertificateIsTold(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	late := srv.Certificate().NotAfter.Add(time.Hour)
	for want, c := range map[string]*tls.Config{
		"trusted: x509: certificate signed by unknown authority": {RootCAs: x509.NewCertPool()},
		"trusted: x509: certificate is valid for example.com, ":  {RootCAs: roots, ServerName: "a.test"},
		"trusted: x509: certificate has expired or is not yet ": {RootCAs: roots,
			Time: func() time.Time { return late }},
	} {
		tl := mustRecord(t, one(), Options{URL: must(url.Parse(srv.URL)), TLS: c})
		if why, _ := transport.CauseUnreachable(tl); !strings.Contains(why, want) {
			t.Errorf("got %q, want %q", why, want)
		}
	}
}

// A target may trust a certificate although it names other authorities, as nginx does with
// ssl_trusted_certificate. crypto/tls then sends none by itself, and curl sends it.
func TestACertificateIsShownWhateverAuthoritiesAreNamed(t *testing.T) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	named := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "another"}}
	named = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, named, named, key.Public(),
		key))))
	pool := x509.NewCertPool()
	pool.AddCert(named)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, ClientCAs: pool}
	srv.StartTLS()
	defer srv.Close()
	tl := mustRecord(t, one(), Options{URL: must(url.Parse(srv.URL)), TLS: &tls.Config{
		InsecureSkipVerify: true, Certificates: srv.TLS.Certificates}})
	if c := tl.Counts(); c.Allowed != 1 {
		t.Errorf("got %+v, notes %q", c, tl.Header.Notes)
	}
}

// greeted is a connection whose first bytes were read already.
type greeted struct {
	net.Conn
	first []byte
}

func (g *greeted) Read(p []byte) (int, error) {
	if len(g.first) > 0 {
		n := copy(p, g.first)
		g.first = g.first[n:]
		return n, nil
	}
	return g.Conn.Read(p)
}
