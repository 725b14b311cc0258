package load

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// answering returns a server that answers every request, once it has its header block, with the next of the
// texts. It closes the connection after the last text, or never with keep.
func answering(keep bool, texts ...string) func(net.Conn) {
	return func(c net.Conn) {
		br := bufio.NewReader(c)
		for i := 0; keep || i < len(texts); i++ {
			if _, err := http.ReadRequest(br); err != nil {
				return
			}
			io.WriteString(c, texts[min(i, len(texts)-1)])
		}
	}
}

// reset closes c with a reset.
func reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

func TestBrokenTargetsAreObserved(t *testing.T) {
	const ok200 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, tt := range map[string]struct {
		serve  func(net.Conn)
		method string
		status int
		word   string
		// undone tells that the end of the body was not seen.
		undone bool
	}{
		"an answer": {serve: answering(true, ok200), status: 200},
		"reset before the " +
			"answer": {serve: func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)); reset(c) },
			word: "reset"},
		"closed before the answer": {serve: func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)) },
			word: "eof"},
		"closed in the header": {serve: answering(false, "HTTP/1.1 200 OK\r\nDate: x"), word: "eof"},
		"garbage":              {serve: answering(false, "\x00\x01\x02 hello\n\n"), word: "malformed"},
		"another protocol":     {serve: answering(true, "SSH-2.0-OpenSSH_9.6\r\n"), word: "malformed"},
		"a status of letters":  {serve: answering(true, "HTTP/1.1 OK 200\r\n\r\n"), word: "malformed"},
		"a header of 300 MB": {serve: func(c net.Conn) { flood(c, "HTTP/1.1 200 OK\r\nX: ", 300<<20) },
			word: "header-too-large"},
		"300 MB of interim answers": {serve: func(c net.Conn) {
			flood(c, "HTTP/1.1 103 Early Hints\r\n\r\n",
				300<<20)
		}, word: "header-too-large"},
		"a body of 300 MB": {serve: func(c net.Conn) {
			flood(c, "HTTP/1.1 200 OK\r\n\r\n",
				300<<20)
		}, status: 200, undone: true},
		"a redirect": {serve: answering(true,
			"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), status: 302},
		"closed after the answer": {serve: answering(false,
			"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), status: 200},
		"HTTP/1.0, body to the end": {serve: answering(false, "HTTP/1.0 429 Too Many\r\n\r\nslow down"),
			status: 429},
		"chunked": {serve: answering(true,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n"),
			status: 200},
		"a broken chunk": {serve: answering(true,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), status: 200, undone: true},
		"a body cut off": {serve: answering(false,
			"HTTP/1.1 429 No\r\nContent-Length: 100\r\n\r\nhalf"), status: 429, undone: true},
		"interim answers": {serve: answering(true,
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+ok200), status: 200},
		"204": {serve: answering(true, "HTTP/1.1 204 No Content\r\n\r\n"), status: 204},
		"304 with a length": {serve: answering(true,
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"), status: 304},
		"HEAD with a length": {serve: answering(true, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
			method: "HEAD", status: 200},
		"switched protocols": {serve: answering(true,
			"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), status: 101,
			undone: true},
		"two lengths": {serve: answering(true,
			"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), word: "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := mustRecord(t, one(), Options{URL: loopback(t, tt.serve), Method: tt.method})
			o := tl.Observations[0]
			if o.Status != tt.status || o.Error != tt.word || o.Answered != (tt.word == "") {
				t.Errorf("got status %d, error %q, answered %v, want %d, %q; notes %q", o.Status, o.Error,
					o.Answered, tt.status, tt.word, tl.Header.Notes)
			}
			if want := timeline.StatusOutcome(tt.status); o.Outcome != want {
				t.Errorf("got %v, want %v", o.Outcome, want)
			}
			if o.Answered && (o.Done == 0) != tt.undone {
				t.Errorf("got done %v, want it seen: %v", o.Done, !tt.undone)
			}
			if len(tl.Observations) != 1 || tl.Header.Unsent != 0 {
				t.Errorf("got %d observations, %d unsent", len(tl.Observations), tl.Header.Unsent)
			}
		})
	}
}

// flood reads a request and then writes text repeatedly, until it has written size bytes or nobody reads.
func flood(c net.Conn, text string, size int) {
	http.ReadRequest(bufio.NewReader(c))
	io.WriteString(c, text)
	if !strings.Contains(text, "103") {
		text = "a"
	}
	block := []byte(strings.Repeat(text, 64<<10/len(text)))
	for n := 0; n < size; n += len(block) {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

func TestUnreachableTargets(t *testing.T) {
	// The port of our own open connection refuses connections, and nobody else can take it.
	taken := must(net.Dial("tcp", loopback(t, func(c net.Conn) { io.Copy(io.Discard, c) }).Host))
	defer taken.Close()
	closed := &url.URL{Scheme: "http", Host: taken.LocalAddr().String(), Path: "/"}
	var accepted atomic.Int64
	listening := loopback(t, func(net.Conn) { accepted.Add(1) })
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"refused":         {Options{URL: closed}, "refused"},
		"a proxy is down": {Options{URL: listening, Route: Route{Proxy: closed}}, "no-proxy"},
		"there is no socket": {Options{URL: listening,
			Route: Route{Socket: t.TempDir() + "/none"}}, "no-socket"},
		"dns": {Options{URL: listening, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp",
				Err: &net.DNSError{Err: "no such host", Name: "no-such-host.invalid", IsNotFound: true}}
		}}, "dns"},
		"guard": {Options{URL: listening, Route: Route{Guard: func(a netip.Addr) error {
			if a != netip.MustParseAddr("127.0.0.1") {
				t.Errorf("guard was asked about %v", a)
			}
			return errors.New("not allowed here")
		}}}, "forbidden"},
		"a dial that fails": {Options{URL: listening,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no network today")
			}}, "network"},
	} {
		t.Run(name, func(t *testing.T) {
			tl := mustRecord(t, schedule(
				timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(20, 0, "k", 0)},
				timeline.Phase{Name: "more", Shape: timeline.Closed, Clients: 2, Partitions: []string{"k"},
					Requests: 10},
			), tt.o)
			if c := tl.Counts(); c.Unknown != 20 || c.Unsent != 10 {
				t.Errorf("got %+v, want 20 unknown, 10 unsent", c)
			}
			why, gone := transport.CauseUnreachable(tl)
			if want := "no request was answered: 20 of 20 " + tt.want; why != want &&
				!strings.HasPrefix(why, want+": ") || !gone {
				t.Errorf("got %q, want %q", why, want)
			}
			if len(tl.Header.Notes) != 2 || !strings.HasPrefix(tl.Header.Notes[0], "first "+tt.want+": ") {
				t.Errorf("got notes %q", tl.Header.Notes)
			}
		})
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections were made against the guard", n)
	}
}

// A kept-alive connection that its target closed while it was idle is not used: the next request is answered.
// This runs in virtual time: on a busy machine any gap may be too short to see the end of a connection.
func TestAClosedIdleConnectionIsNotChosen(t *testing.T) {
	closes := func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") // it does not announce the close
		c.Close()
	}
	virtual(t, closes, func(t *testing.T, o Options) {
		tl := mustRecord(t, schedule(timeline.Phase{
			Name: "slow", Shape: timeline.Constant, Arrivals: each(10, 20*time.Millisecond, "k", 0),
		}), o)
		if c := tl.Counts(); c.Allowed != 10 {
			t.Errorf("got %+v, want 10 allowed", c)
		}
		for _, o := range tl.Observations {
			if !o.Answered {
				t.Errorf("seq %d: %s", o.Seq, o.Error)
			}
		}
	})
}

// A target announces that it closes the connection, and then reads on without answering. The announcement
// counts.
func TestConnectionCloseIsHonoured(t *testing.T) {
	var conns atomic.Int64
	serve := func(c net.Conn) {
		conns.Add(1)
		answering(false, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")(c)
		io.Copy(io.Discard, c)
	}
	for _, o := range []Options{{URL: loopback(t, serve)},
		{URL: loopbackHTTP(t, ok), Header: http.Header{"Connection": {"close"}}}} {
		tl := mustRecord(t, schedule(
			timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"},
				Requests: 5},
		), o)
		if c := tl.Counts(); c.Allowed != 5 || tl.Header.Audit.Connections != 5 {
			t.Errorf("got %+v over %d connections, want 5 allowed, each over its own", c,
				tl.Header.Audit.Connections)
		}
	}
	if conns.Load() != 5 {
		t.Errorf("got %d connections, want 5", conns.Load())
	}
}

// If a target closes a kept connection instead of answering, that is observed. The request is not sent again.
func TestAConnectionClosedInsteadOfAnAnswerIsNoRetry(t *testing.T) {
	var requests atomic.Int64
	serve := func(c net.Conn) {
		br := bufio.NewReader(c)
		for i := 0; ; i++ {
			if _, err := http.ReadRequest(br); err != nil {
				return
			}
			requests.Add(1)
			if i == 1 {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
	tl := mustRecord(t, schedule(timeline.Phase{
		Name: "c", Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"}, Requests: 4,
	}), Options{URL: loopback(t, serve)})
	var words []string
	for _, o := range tl.Observations {
		words = append(words, o.Error)
	}
	if got := strings.Join(words, ","); got != ",closed,,closed" || requests.Load() != 4 {
		t.Errorf("got %q, the target saw %d requests, want each second one closed, 4 requests", got,
			requests.Load())
	}
}

// A denial before the request is complete counts, and its interval begins with the first byte of the request.
func TestAnEarlyAnswerToAGatedRequest(t *testing.T) {
	for _, o := range answeredEarly(t, "429 Too Many Requests") {
		if o.Outcome != timeline.Denied || o.Sent == 0 || o.Sent >= o.At || o.FirstByte >= o.At {
			t.Errorf("got %+v, want it denied, sent before its time", o)
		}
	}
	for _, o := range answeredEarly(t, "200 OK") {
		if o.Error != transport.CauseEarly {
			t.Errorf("got %+v: no limiter admits what it does not have", o)
		}
	}
}

// answeredEarly sends five requests that are answered at their first bytes.
func answeredEarly(t *testing.T, status string) []timeline.Observation {
	t.Helper()
	var given atomic.Int64 // connections that were given up after their answers
	all := make(chan struct{})
	serve := func(c net.Conn) {
		c.Read(make([]byte, 1)) // does not wait for the end of the header block
		io.WriteString(c, "HTTP/1.1 "+status+"\r\nContent-Length: 0\r\n\r\n")
		io.Copy(io.Discard, c)
		if given.Add(1) == 5 {
			close(all)
		}
	}
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(5, 0, "k", 0)},
	), Options{URL: loopback(t, serve), Pacer: after{transport.SleepingPacer(), all}})
	if len(tl.Observations) != 5 {
		t.Errorf("got %+v", tl.Counts())
	}
	return tl.Observations
}

// A target that answered one request before it was complete may have decided the others as early.
func TestOneEarlyAnswerDoubtsAllGatedRequests(t *testing.T) {
	var first atomic.Bool
	all := make(chan struct{})
	serve := func(c net.Conn) {
		br := bufio.NewReader(c)
		br.ReadByte() // decides here, before the end of the header block
		hasty := first.CompareAndSwap(false, true)
		if !hasty {
			br.UnreadByte()
			http.ReadRequest(br)
		}
		io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
		io.Copy(io.Discard, c)
		if hasty {
			close(all)
		}
	}
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(5, 0, "k", 0)},
	), Options{URL: loopback(t, serve), Pacer: after{transport.SleepingPacer(), all}})
	for _, o := range tl.Observations {
		if o.Outcome != timeline.Denied || o.Sent == 0 || o.Sent >= o.At {
			t.Errorf("got %+v, want it denied, sent before its time", o)
		}
	}
	if n := strings.Join(tl.Header.Notes, " "); !strings.Contains(n, "had the whole request") {
		t.Errorf("got notes %q", n)
	}
}

// TestApacheDatesRequestsByTheirFirstLine: its modules count a request at a time before the gate opened, so a
// right mod_qos failed. After a silence, requests are held back only shortly before their gate.
func TestApacheDatesRequestsByTheirFirstLine(t *testing.T) {
	for server, early := range map[string]bool{"Apache/2.4.71 (Debian)": true, "nginx/1.22.1": false} {
		h := func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Server", server) }
		virtual(t, h, func(t *testing.T, o Options) {
			tl := mustRecord(t, schedule(
				timeline.Phase{Name: "rest", Shape: timeline.Silence, Duration: time.Second},
				timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(5, 0, "k", 0)},
			), o)
			for _, x := range tl.Observations {
				if held := x.At - x.Sent; (held > 0) != early || held > armTime {
					t.Errorf("%s: sent %v before it was due", server, held)
				}
			}
			notes := strings.Join(tl.Header.Notes, " ")
			if said := strings.Contains(notes, "by its first line"); said != early {
				t.Errorf("%s: got notes %q", server, tl.Header.Notes)
			}
		})
	}
}

// after is a pacer that also waits until a channel is closed.
type after struct {
	transport.Pacer
	closed <-chan struct{}
}

func (a after) Wait(ctx context.Context, clk transport.Clock, due time.Duration, wake <-chan struct{}) bool {
	<-a.closed
	return a.Pacer.Wait(ctx, clk, due, wake)
}

// A target answers before it has read a large body. The answer counts, and the connection is not used again.
func TestAnEarlyAnswerToALargeBody(t *testing.T) {
	var conns atomic.Int64
	serve := func(c net.Conn) {
		conns.Add(1)
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nfull")
		c.Read(make([]byte, 1<<10))
		time.Sleep(20 * time.Millisecond)
	}
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"}, Requests: 3},
	), Options{URL: loopback(t, serve), Method: "POST", Body: make([]byte, 32<<20),
		Answers: Answers{KeepBody: 2}})
	for _, o := range tl.Observations {
		if o.Outcome != timeline.Denied || o.Body != "fu" {
			t.Errorf("got %v, error %q, body %q", o.Outcome, o.Error, o.Body)
		}
	}
	if c := tl.Counts(); c.Denied != 3 || conns.Load() != 3 {
		t.Errorf("got %+v over %d connections, want 3 denied over 3", c, conns.Load())
	}
}
