package httpd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// echo answers with what a handler sees of a request.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	switch r.Header.Get("X-Answer") {
	case "none":
		return
	case "cut":
		_, _ = io.WriteString(w, "a part of it")
		panic(http.ErrAbortHandler)
	case "204":
		w.WriteHeader(http.StatusNoContent)
		return
	case "split":
		w.Header().Set("X-Split", "a\r\nX-More: b")
	}
	fmt.Fprintf(w, "%s %s %s %s %d %s|", r.Method, r.URL.RequestURI(), r.Host, r.Proto, r.ContentLength,
		strings.Join(r.Header["X-V"], ";"))
})

// rationed admits four requests of a key. It denies later ones, with other fields and another body.
func rationed() http.HandlerFunc {
	asked := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Date"] = []string{time.Now().UTC().Format(http.TimeFormat)}
		h.Set("X-Key", r.Header.Get("X-Api-Key"))
		status, body := http.StatusOK, "allowed\n"
		if asked[r.Header.Get("X-Api-Key")]++; asked[r.Header.Get("X-Api-Key")] > 4 {
			h.Set("Retry-After", "9")
			status, body = http.StatusTooManyRequests, "not allowed\n"
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, body)
		}
	}
}

// queued answers the first request at once, and each later one `wait` after its arrival, unless its client
// left.
func queued(wait time.Duration) http.HandlerFunc {
	began := false
	return func(w http.ResponseWriter, r *http.Request) {
		if began {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
		}
		began = true
		_, _ = io.WriteString(w, "served\n")
	}
}

// converse writes text to a lean server over a pipe and returns everything that comes back. It must be called
// in virtual time, which waits for a server that still works.
func converse(t testing.TB, h http.Handler, text string) string {
	t.Helper()
	ours, theirs := net.Pipe()
	s := newLean(h)
	c := newLeanConn(s, halfPipe{Conn: theirs}, 1)
	s.add(c)
	ended := make(chan struct{})
	go func() {
		c.serve()
		close(ended)
	}()
	go func() {
		// The server may close the connection before it has read everything.
		_, _ = io.WriteString(ours, text)
		_ = ours.SetDeadline(time.Now().Add(50 * time.Millisecond))
	}()
	answer, err := io.ReadAll(ours)
	if err != nil && !isTimeout(err) {
		t.Errorf("reading the answers to %q: %v", text, err)
	}
	_ = ours.Close()
	<-ended
	return string(answer)
}

// halfPipe is a pipe whose writing side can be closed, in the sense that nothing more comes from it.
type halfPipe struct{ net.Conn }

func (p halfPipe) CloseWrite() error { return p.Close() }

// statuses returns the status and body of every answer in text, in order, and what is wrong with them.
func statuses(t testing.TB, text string, methods ...string) string {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(text))
	var seen []string
	for i := 0; ; i++ {
		if _, err := r.Peek(1); err == io.EOF {
			return strings.Join(seen, ", ")
		}
		request := &http.Request{Method: http.MethodGet}
		if i < len(methods) {
			request.Method = methods[i]
		}
		answer, err := http.ReadResponse(r, request)
		if err != nil {
			t.Fatalf("answer %d of %q: %v", i, text, err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatalf("body of answer %d of %q: %v", i, text, err)
		}
		if answer.Header.Get("Date") == "" {
			t.Errorf("answer %d of %q: got no Date", i, text)
		}
		what := fmt.Sprint(answer.StatusCode)
		if answer.StatusCode == http.StatusOK {
			what += " " + string(body)
		}
		if answer.Close {
			what += " close"
		}
		seen = append(seen, what)
	}
}

// TestLeanAnswers compares the answers on a connection with a table. A row that ends with close got nothing
// more.
func TestLeanAnswers(t *testing.T) {
	const next = "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
	const second = ", 200 GET /2 h HTTP/1.1 0 |"
	for name, row := range map[string]struct{ send, want string }{
		"one request": {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "200 GET / h HTTP/1.1 0 |"},
		"two in one write": {"GET /1 HTTP/1.1\r\nHost: h\r\n\r\n" + next,
			"200 GET /1 h HTTP/1.1 0 |" + second},
		"lines without return": {"GET / HTTP/1.1\nHost: h\n\n" + next,
			"200 GET / h HTTP/1.1 0 |" + second},
		"empty lines before": {"\r\n\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
			"200 GET / h HTTP/1.1 0 |"},
		"fields": {"GET / HTTP/1.1\r\nhost: h\r\nx-v: 1\r\nX-V:\t2 \r\nX-v:\r\n\r\n",
			"200 GET / h HTTP/1.1 0 1;2;|"},
		"close": {"GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n" + next,
			"200 GET / h HTTP/1.1 0 | close"},
		"version 1.0": {"GET / HTTP/1.0\r\n\r\n" + next, "200 GET /  HTTP/1.0 0 | close"},
		"version 1.0, kept": {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + next,
			"200 GET /  HTTP/1.0 0 |" + second},
		"body": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /" + next,
			"200 POST / h HTTP/1.1 5 |" + second},
		"body of the same length": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " +
			"2\r\nContent-Length: 2\r\n\r\nab" + next, "200 POST / h HTTP/1.1 2 |" + second},
		"body too long to drain": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\n",
			"200 POST / h HTTP/1.1 999999 |"},
		"chunks": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " +
			"Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n" + next,
			"200 POST / h HTTP/1.1 -1 |" + second},
		"chunk too short": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n" + next, "200 POST / h HTTP/1.1 -1 |"},
		"chunk without a size": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n\r\n" + next, "200 POST / h HTTP/1.1 -1 |"},
		"chunk of a negative size": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n-1\r\n" + next, "200 POST / h HTTP/1.1 -1 |"},
		"chunk without a return": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n0\n\n" + next, "200 POST / h HTTP/1.1 -1 |"},
		"expect": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: " +
			"100-continue\r\n\r\n", "200 POST / h HTTP/1.1 2 | close"},
		"expect without a body": {"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n" + next,
			"200 POST / h HTTP/1.1 0 |" + second},
		"expect something else": {"POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n" + next,
			"417 close"},
		"absolute target": {"GET http://a/b?c HTTP/1.1\r\nHost: h\r\n\r\n",
			"200 GET /b?c a HTTP/1.1 0 |"},
		"query and escapes": {"GET /a%20b?c=%41 HTTP/1.1\r\nHost: h\r\n\r\n",
			"200 GET /a%20b?c=%41 h HTTP/1.1 0 |"},
		"two slashes": {"GET //a/b HTTP/1.1\r\nHost: h\r\n\r\n",
			"200 GET //a/b h HTTP/1.1 0 |"},
		"asterisk": {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
			"200 OPTIONS * h HTTP/1.1 0 |"},
		"no content": {"GET / HTTP/1.1\r\nHost: h\r\nX-Answer: 204\r\n\r\n" + next,
			"204" + second},
		"no answer":  {"GET / HTTP/1.1\r\nHost: h\r\nX-Answer: none\r\n\r\n" + next, ""},
		"cut answer": {"GET / HTTP/1.1\r\nHost: h\r\nX-Answer: cut\r\n\r\n" + next, ""},
		"split answer": {"GET / HTTP/1.1\r\nHost: h\r\nX-Answer: split\r\n\r\n",
			"200 GET / h HTTP/1.1 0 |"},
		"no host":            {"GET / HTTP/1.1\r\n\r\n" + next, "400 close"},
		"two hosts":          {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + next, "400 close"},
		"no version":         {"GET /\r\n\r\n" + next, "400 close"},
		"version 2.0":        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 close"},
		"version of letters": {"GET / HTTP/x.y\r\nHost: h\r\n\r\n" + next, "400 close"},
		"two spaces":         {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n" + next, "400 close"},
		"method":             {"G@T / HTTP/1.1\r\nHost: h\r\n\r\n" + next, "400 close"},
		"target":             {"GET a HTTP/1.1\r\nHost: h\r\n\r\n" + next, "400 close"},
		"target escape":      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n" + next, "400 close"},
		"folded field": {"GET / HTTP/1.1\r\nHost: h\r\nX-V: 1\r\n 2\r\n\r\n" + next,
			"400 close"},
		"space before the colon": {"GET / HTTP/1.1\r\nHost: h\r\nX-V : 1\r\n\r\n" + next, "400 close"},
		"field without a colon":  {"GET / HTTP/1.1\r\nHost: h\r\nX-V\r\n\r\n" + next, "400 close"},
		"NUL in a value": {"GET / HTTP/1.1\r\nHost: h\r\nX-V: a\x00b\r\n\r\n" + next,
			"400 close"},
		"return in a value": {"GET / HTTP/1.1\r\nHost: h\r\nX-V: a\rb\r\n\r\n" + next, "400 close"},
		"length and chunks": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " +
			"3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next, "400 close"},
		"two lengths": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " +
			"3\r\nContent-Length: 4\r\n\r\nabc" + next, "400 close"},
		"length with a sign": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc" + next,
			"400 close"},
		"length of many digits": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " +
			"18446744073709551617\r\n\r\n" + next, "400 close"},
		"chunks in version 1.0": {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
			next, "400 close"},
		"another coding": {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, " +
			"chunked\r\n\r\n0\r\n\r\n" + next, "501 close"},
		"header that ends nowhere": {"GET / HTTP/1.1\r\nHost: h\r\n", ""},
		"header block of 64 KiB": {"GET / HTTP/1.1\r\nHost: h\r\nX-Large: " +
			strings.Repeat("a", maxHeader), "431 close"},
		"header block of almost that": {"GET / HTTP/1.1\r\nHost: h\r\nX-Large: " +
			strings.Repeat("a", maxHeader-60) + "\r\n\r\n" + next, "200 GET / h HTTP/1.1 0 |" + second},
	} {
		t.Run(name, func(t *testing.T) {
			var answer string
			synctest.Test(t, func(t *testing.T) { answer = converse(t, echo, row.send) })
			if got := statuses(t, answer); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if strings.Contains(answer, "\nX-More") {
				t.Error("a value made a field of its own")
			}
		})
	}
}

// TestLeanHead answers HEAD as GET without a body.
func TestLeanHead(t *testing.T) {
	var answer string
	synctest.Test(t, func(t *testing.T) {
		answer = converse(t, rationed(),
			"HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	})
	if got := statuses(t, answer, http.MethodHead, http.MethodGet); got != "200 , 200 allowed\n close" {
		t.Errorf("got %q", got)
	}
	if got := strings.Count(answer, "Content-Length: 8\r\n"); got != 2 {
		t.Errorf("got %d times the length of the body, want 2: %q", got, answer)
	}
}

// TestLeanEqualsNetHTTP sends the same requests to a handler behind our server and to the handler alone, at
// one instant. It compares the answers field by field.
func TestLeanEqualsNetHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, alone := rationed(), rationed()
		for i := range 8 {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
				key := fmt.Sprint(method, i/8)
				text := fmt.Sprintf("%s / HTTP/1.1\r\nHost: h\r\nX-Api-Key: %s\r\nConnection: "+
					"close\r\n\r\n", method, key)
				ours, err := http.ReadResponse(bufio.NewReader(strings.NewReader(converse(t, h, text))),
					&http.Request{Method: method})
				if err != nil {
					t.Fatal(err)
				}
				theirs := httptest.NewRecorder()
				r := httptest.NewRequest(method, "/", nil)
				r.Header.Set("X-Api-Key", key)
				alone.ServeHTTP(theirs, r)
				want := theirs.Result()
				if fmt.Sprint(ours.StatusCode, ours.Header) != fmt.Sprint(want.StatusCode, want.Header) {
					t.Errorf("%s %d: got %d %v, want %d %v", method, i, ours.StatusCode, ours.Header,
						want.StatusCode, want.Header)
				}
				body, err := io.ReadAll(ours.Body)
				if err != nil || string(body) != theirs.Body.String() {
					t.Errorf("%s %d: got body %q, %v, want %q", method, i, body, err, theirs.Body)
				}
			}
		}
	})
}

// TestLeanNoticesThatAClientLeft: the client hangs up while its request is queued for an hour. The handler
// ends, and so does the connection.
func TestLeanNoticesThatAClientLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		s := newLean(queued(time.Hour))
		c := newLeanConn(s, theirs, 1)
		s.add(c)
		go c.serve()
		r := bufio.NewReader(ours)
		began := time.Now()
		if _, err := io.WriteString(ours,
			strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 2)); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("request %d: got %d, %v", i, answer.StatusCode, err)
			}
		}
		if waited := time.Since(began); waited < time.Hour || waited > time.Hour+time.Second {
			t.Errorf("the second one waited %v, want an hour", waited)
		}
		if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began = time.Now()
		if err := ours.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.Shutdown(context.Background()); err != nil || time.Since(began) > time.Minute {
			t.Errorf("closing: got %v after %v, want nothing at once", err, time.Since(began))
		}
	})
}

// TestLeanSlowClients: the server gives up on a header block without an end, and on a silent client.
func TestLeanSlowClients(t *testing.T) {
	for send, want := range map[string]time.Duration{"": idleTimeout, "GET / HT": headerTimeout} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			s := newLean(echo)
			c := newLeanConn(s, theirs, 1)
			s.add(c)
			go c.serve()
			began := time.Now()
			// A pipe passes on even an empty write.
			if send != "" {
				if _, err := io.WriteString(ours, send); err != nil {
					t.Fatal(err)
				}
			}
			answer, err := io.ReadAll(ours)
			if err != nil || time.Since(began) != want {
				t.Errorf("%q: got %v after %v, want the end after %v", send, err, time.Since(began), want)
			}
			if send != "" && !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
				t.Errorf("%q: got %q, want status 408", send, answer)
			}
		})
	}
}

// TestLeanCloseWaitsForAnswers closes a server. A request in flight is answered, and an idle connection ends
// at once.
func TestLeanCloseWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLean(queued(200 * time.Millisecond))
		ends := map[string]net.Conn{}
		for _, name := range []string{"idle", "busy"} {
			ours, theirs := net.Pipe()
			c := newLeanConn(s, theirs, 1)
			s.add(c)
			go c.serve()
			ends[name] = ours
		}
		r := bufio.NewReader(ends["busy"])
		if _, err := io.WriteString(ends["busy"],
			strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 2)); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if i == 1 {
				synctest.Wait() // the second request is in the queue
				go func() {
					if err := s.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				}()
			}
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("answer %d: got %d, %v", i, answer.StatusCode, err)
			}
		}
		for name, c := range ends {
			if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("%s: got %d bytes, %v, want the end", name, n, err)
			}
		}
	})
}

// FuzzLean sends arbitrary bytes. The server never panics or hangs, and answers at most as often as net/http
// finds requests. net/http can read what the server accepts.
func FuzzLean(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / " +
			"HTTP/1.1\r\nHost: h\r\n\r\n", "\r\n\r\n\n", "GET / HTTP/1.1\nHost: h\n\n",
		"GET * HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		served := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served++
			_, _ = io.WriteString(w, "x")
		})
		c := &scriptConn{in: text}
		s := newLean(h)
		lc := newLeanConn(s, c, 1)
		s.add(lc)
		lc.serve()
		r := bufio.NewReader(strings.NewReader(string(text)))
		theirs := 0
		for {
			// Only our server skips empty lines before a request.
			for b, err := r.Peek(1); err == nil && (b[0] == '\r' || b[0] == '\n'); b, err = r.Peek(1) {
				_, _ = r.Discard(1)
			}
			req, err := http.ReadRequest(r)
			if err != nil {
				break
			}
			theirs++
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				break
			}
		}
		if served > theirs {
			t.Errorf("%q: %d requests were served, net/http finds %d", text, served, theirs)
		}
		if answers := strings.Count(string(c.out), "\r\nDate: "); answers < served || answers > served+1 {
			t.Errorf("%q: %d answers to %d requests", text, answers, served)
		}
	})
}

// scriptConn is a connection that delivers `in`, and then its end.
type scriptConn struct {
	net.Conn
	in, out []byte
}

func (c *scriptConn) Read(b []byte) (int, error) {
	n := copy(b, c.in)
	if c.in = c.in[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *scriptConn) Write(b []byte) (int, error) {
	c.out = append(c.out, b...)
	return len(b), nil
}

func (c *scriptConn) Close() error      { return nil }
func (c *scriptConn) CloseWrite() error { return nil }
func (c *scriptConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1),
		Port: 9}
}
func (c *scriptConn) SetReadDeadline(time.Time) error { return nil }

// TestOddLinesAreKept: the lean server reports header lines that are not written as usual.
func TestOddLinesAreKept(t *testing.T) {
	var h head
	for block, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: k\r\n\r\n":        "",
		"GET / HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n\r\n":        "x-api-key: k",
		"GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key:   k  \r\n\r\n":    "X-Api-Key:   k  ",
		"GET / HTTP/1.1\r\nhost: a\r\nX-Api-Key: k\r\nA:b\r\n\r\n": "host: a",
	} {
		r := h.parse(block)
		if got := strings.Join(h.odd, "|"); got != want || r.status != 0 {
			t.Errorf("%q: got %q, want %q (%s)", block, got, want, r.why)
		}
	}
}
