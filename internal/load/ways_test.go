package load

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
)

// way is one way to reach a target.
type way struct {
	name                                string
	tls, h2, socket, proxied, six, grpc bool
}

var ways = []way{
	{name: "HTTP/1.1"},
	{name: "HTTP/1.1 over TLS", tls: true},
	{name: "HTTP/2 in clear text", h2: true},
	{name: "HTTP/2 over TLS", h2: true, tls: true},
	{name: "a Unix socket", socket: true},
	{name: "HTTP/2 over a Unix socket", socket: true, h2: true},
	{name: "IPv6", six: true},
	{name: "a proxy", proxied: true},
	{name: "a tunnel", proxied: true, tls: true},
	{name: "HTTP/2 through a tunnel", proxied: true, h2: true},
}

// serve serves h in the way w and returns the options that reach it. ok is false if the machine does not have
// that way.
func (w way) serve(t testing.TB, h http.HandlerFunc) (o Options, ok bool) {
	t.Helper()
	network, addr := "tcp", "127.0.0.1:0"
	switch {
	case w.socket:
		network, addr = "unix", filepath.Join(t.TempDir(), "s")
		o.Socket = addr
	case w.six:
		addr = "[::1]:0"
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Logf("%s: %v", w.name, err)
		return o, false
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Listener.Close()
	srv.Listener = l
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(!w.h2)
	srv.Config.Protocols.SetHTTP2(w.h2)
	srv.Config.Protocols.SetUnencryptedHTTP2(w.h2)
	srv.EnableHTTP2 = w.h2
	o.HTTP2 = w.h2
	o.URL = &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
	if w.socket {
		o.URL.Host = "target.example"
	}
	if w.tls {
		srv.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(srv.Certificate())
		o.URL.Scheme, o.TLS = "https", &tls.Config{RootCAs: roots}
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	if w.proxied {
		o.Proxy = proxy(t)
	}
	return o, true
}

// proxy serves a proxy that opens tunnels, and forwards requests in absolute form. It does nothing else: the
// proxy of the standard library takes longer for a request than everything else together.
func proxy(t testing.TB) *url.URL {
	t.Helper()
	u := loopback(t, func(from net.Conn) {
		in := bufio.NewReader(from)
		r, err := http.ReadRequest(in)
		if err != nil {
			return // the connection was not used
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			io.WriteString(from, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		answered := make(chan struct{})
		defer func() {
			to.Close()
			from.Close()
			<-answered
		}()
		if r.Method == http.MethodConnect {
			io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		}
		go func() {
			defer close(answered)
			io.Copy(from, to)
			from.Close()
		}()
		if r.Method == http.MethodConnect {
			io.Copy(to, in)
			return
		}
		for ; err == nil; r, err = http.ReadRequest(in) {
			if !r.URL.IsAbs() {
				t.Errorf("the proxy was asked for %q", r.RequestURI)
			}
			r.Write(to)
		}
	})
	u.Path = ""
	return u
}
