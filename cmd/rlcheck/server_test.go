package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// counter counts the requests at the server of a script.
type counter struct{ n atomic.Int64 }

type serverKey struct{}

// reaches waits until n requests came.
func (c *counter) reaches(n int, within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if c.n.Load() >= int64(n) {
			return true
		}
	}
	return false
}

// rude are servers that answer the header block of a request in their own way. The connection is closed when
// the function returns.
var rude = map[string]func(c net.Conn){
	"resets": func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) },
	"hangs-up": func(net.Conn) {
	},
	"garbage": func(c net.Conn) { _, _ = io.WriteString(c, "\x00\x1b]0;owned\x07 this is no HTTP\r\n\r\n") },
	"half": func(c net.Conn) {
		_,
			_ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	},
	"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, // until the client gives up
	"big-header": func(c net.Conn) {
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Big: ")
		for chunk := strings.Repeat("a", 1<<16); err == nil; { // 300 MB, if anybody reads that much
			_, err = io.WriteString(c, chunk)
		}
	},
	"drips": func(c net.Conn) {
		for _, b := range []byte("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 1000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	},
	"early": func(c net.Conn) {
		_, _ = io.WriteString(c,
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 429 \r\nContent-Length: "+
				"0\r\nConnection: close\r\n\r\n")
	},
}

func right(h http.Handler) http.Handler { return h }

// polite are servers that wrap a right limiter.
var polite = map[string]func(limiter http.Handler) http.Handler{
	"right":    right,
	"unix":     right,
	"h2c":      right,
	"forwards": forwards,
	"closes": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			h.ServeHTTP(w, r)
		})
	},
	// websocket answers with 101 where the limiter admits, and says nothing more.
	"websocket": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			if h.ServeHTTP(rec, r); rec.Code != http.StatusOK || r.Header.Get("Upgrade") != "websocket" {
				w.WriteHeader(rec.Code)
				return
			}
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
				"Connection: Upgrade\r\n\r\n")
			_, _ = io.Copy(io.Discard, c) // until the client closes it
			_ = c.Close()
		})
	},
	"redirects": func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://192.0.2.1/elsewhere")
			w.WriteHeader(http.StatusFound)
		})
	},
	"breaks": func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		})
	},
	"lost": func(http.Handler) http.Handler { return http.NotFoundHandler() },
	// hesitates takes so long for its first eighteen answers that they show nothing.
	"hesitates": func(h http.Handler) http.Handler {
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) <= 18 {
				time.Sleep(300 * time.Millisecond)
			}
			h.ServeHTTP(w, r)
		})
	},
	// far takes longer for each answer than the widest gap before a boundary.
	"far": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(150 * time.Millisecond)
			h.ServeHTTP(w, r)
		})
	},
	// address counts all clients together, as one that counts the address of a proxy.
	"address": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-Api-Key", "all")
			h.ServeHTTP(w, r)
		})
	},
	// commands sends what CI runners take for commands.
	"commands": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			maps.Copy(w.Header(), rec.Header())
			w.Header().Set("X-RateLimit-Limit", "##[set-output name=x]pwn "+
				"##vso[task.setvariable variable=PATH]/evil ::error::x")
			w.WriteHeader(rec.Code)
		})
	},
	// echoes repeats in a denial what it was sent.
	"echoes": func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-RateLimit-Policy", r.Header.Get("Authorization"))
			w.Header().Set("Via", "1.1 \u202e"+r.Header.Get("X-Extra"))
			rec := &denialBody{ResponseWriter: w, body: "\x1b[31m" + r.Header.Get("Authorization") + " " +
				r.Header.Get("X-Extra")}
			rec.body += " " + r.URL.RawQuery + " " + r.URL.Query().Get("token")
			h.ServeHTTP(rec, r)
		})
	},
}

// denialBody replaces the body of a denial.
type denialBody struct {
	http.ResponseWriter
	body   string
	denied bool
}

func (d *denialBody) WriteHeader(status int) {
	d.denied = status == http.StatusTooManyRequests
	d.Header().Del("Content-Length")
	d.ResponseWriter.WriteHeader(status)
}

func (d *denialBody) Write(p []byte) (int, error) {
	if d.denied {
		_, err := io.WriteString(d.ResponseWriter, d.body)
		return len(p), err
	}
	return d.ResponseWriter.Write(p)
}

func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 1 || len(args) > 2, "server KIND [SPEC]")
	network, addr := "tcp", "127.0.0.1:0"
	if args[0] == "unix" {
		network, addr = "unix", ts.MkAbs("socket")
	}
	l, err := net.Listen(network, addr)
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	count := ts.Value(serverKey{}).(*counter)
	scheme := "http"
	if answer, ok := rude[args[0]]; ok {
		go serveRudely(l, count, answer)
	} else {
		if args[0] == "tls" {
			l, scheme = tls.NewListener(l, certified(ts)), "https"
		}
		servePolitely(ts, l, count, args)
	}
	if args[0] == "forwards" {
		ts.Setenv("PROXY", l.Addr().String())
		return
	}
	ts.Setenv("URL", scheme+"://"+l.Addr().String()+"/")
}

// forwards is a proxy for requests in absolute form, for clients that give the password.
func forwards(http.Handler) http.Handler {
	p := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "Basic dXNlcjpzZXNhbWU=" || !r.URL.IsAbs() {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		p.ServeHTTP(w, r)
	})
}

func serveRudely(l net.Listener, count *counter, answer func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				return
			}
			count.n.Add(1)
			answer(c)
		}()
	}
}

func servePolitely(ts *testscript.TestScript, l net.Listener, count *counter, args []string) {
	wrap, ok := polite[args[0]]
	if args[0] == "dumps" || args[0] == "tls" {
		wrap, ok = dumps(ts), true
	}
	if !ok {
		ts.Fatalf("no such server: %q", args[0])
	}
	text := "token-bucket,rate=100/s,burst=5"
	if len(args) > 1 {
		text = args[1]
	}
	limit, err := spec.Parse(text)
	ts.Check(err)
	h, err := lab.New(lab.Options{Limit: limit, PartitionHeader: "X-Api-Key"})
	ts.Check(err)
	wrapped := wrap(h)
	quiet := log.New(io.Discard, "", 0) // of handshakes that a script means to fail
	s := &http.Server{ErrorLog: quiet,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			count.n.Add(1)
			wrapped.ServeHTTP(w, r)
		})}
	if args[0] == "h2c" || args[0] == "graphql" {
		s.Protocols = new(http.Protocols)
		s.Protocols.SetHTTP1(args[0] == "graphql")
		s.Protocols.SetUnencryptedHTTP2(true)
	}
	go func() { _ = s.Serve(l) }()
	ts.Defer(func() { _ = s.Close(); _ = h.Close() })
}

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	method := http.MethodGet
	if len(args) > 1 && args[0] == "-post" {
		method, args = http.MethodPost, args[1:]
	}
	usage(ts, neg || len(args) < 1, "get [-post] URL [NAME:VALUE...]")
	r, err := http.NewRequest(method, args[0], nil)
	ts.Check(err)
	for _, f := range args[1:] {
		name, value, _ := strings.Cut(f, ":")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	ts.Check(err)
	defer resp.Body.Close()
	fmt.Fprintf(ts.Stdout(), "%s\n", resp.Status)
	var names []string
	for name := range resp.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", name, strings.Join(resp.Header[name], ", "))
	}
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}
