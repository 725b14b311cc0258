package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// byGoroutines dials connections that no event loop can read.
func byGoroutines(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{c}, nil
}

// rightAnswers are various answers of correct targets.
func rightAnswers() map[string]func(net.Conn) {
	out := map[string]func(net.Conn){}
	for name, text := range map[string]string{
		"a length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nRateLimit: a\r\nratelimit: b\r\n" +
			"Date: d\r\n\r\nok",
		"a denial": "HTTP/1.1 429 No\r\nContent-Length: 9\r\nRetry-After: 1\r\n\r\nslow down",
		"chunks":   "HTTP/1.1 429 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nslow\r\n0\r\n\r\n",
		"a close":  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
		"little patience": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n" +
			"Keep-Alive: timeout=1\r\n\r\n",
		"HTTP/1.0":         "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"nothing to say":   "HTTP/1.1 204 No Content\r\n\r\n",
		"an interim":       "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"lines without CR": "HTTP/1.1 200 OK\nContent-Length: 0\nDate: x\n\n",
		"TLS is wanted": "HTTP/1.1 400 Bad\r\nContent-Length: 48\r\n\r\n" +
			"Client sent an HTTP request to an HTTPS server.\n",
	} {
		out[name] = func(c net.Conn) { io.WriteString(c, text) }
	}
	out["two parts"] = func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 429 No\r\nContent-Length: 9\r\n\r\nslow")
		time.Sleep(5 * time.Millisecond)
		io.WriteString(c, " down")
	}
	return out
}

// TestBothEnginesRecordTheSame: a recording is the same whether an event loop or a goroutine read the
// connections, whatever the target does with every third request.
func TestBothEnginesRecordTheSame(t *testing.T) {
	broken := faultsOfHTTP1()
	for name, act := range broken {
		broken[name] = func(c net.Conn) { act(c); c.Close() }
	}
	for name, act := range rightAnswers() {
		broken[name] = act
	}
	for name, act := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [2][]timeline.Observation
			o := Options{Timeout: 5 * time.Second, Answers: Answers{KeepBody: 6}, MaxConnections: 1}
			if name == "hangs" {
				o.Timeout = time.Second
			}
			got[0] = recordThirds(t, act, o)
			o.Dial = byGoroutines
			got[1] = recordThirds(t, act, o)
			if diff := cmp.Diff(got[1], got[0]); diff != "" {
				t.Errorf("by goroutines (-), by a loop (+):\n%s", diff)
			}
		})
	}
}

// TestMoreThanWasAskedForIsNoted: unrequested bytes are noted, with the answer or after it. The answers that
// follow may belong to other requests.
func TestMoreThanWasAskedForIsNoted(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for name, tt := range map[string]struct {
		dial  func(context.Context, string, string) (net.Conn, error)
		parts []string
		want  int
	}{
		"one answer, a loop":             {nil, []string{answer}, 0},
		"one answer, a goroutine":        {byGoroutines, []string{answer}, 0},
		"two in one write, a loop":       {nil, []string{answer + answer}, 1},
		"two in one write, a goroutine":  {byGoroutines, []string{answer + answer}, 1},
		"one after the other, a loop":    {nil, []string{answer, answer}, 1},
		"one after the other, goroutine": {byGoroutines, []string{answer, answer}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := loopback(t, func(c net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				for _, part := range tt.parts {
					io.WriteString(c, part)
					time.Sleep(20 * time.Millisecond)
				}
				io.Copy(io.Discard, c)
			})
			p := timeline.Phase{Name: "c", Shape: timeline.Constant, Duration: time.Second,
				Arrivals: each(1, 0, "k", 0)}
			tl := mustRecord(t, schedule(p), Options{URL: u, Dial: tt.dial, Timeout: 5 * time.Second})
			got := 0
			for _, n := range tl.Header.Notes {
				if strings.HasPrefix(n, timeline.OfTarget+"more answers came") {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("it is noted %d times, want %d: %q", got, tt.want, tl.Header.Notes)
			}
		})
	}
}

// recordThirds records one client whose every third request meets act, and removes the times.
func recordThirds(t *testing.T, act func(net.Conn), o Options) []timeline.Observation {
	var n atomic.Int64
	o.URL = loopback(t, func(c net.Conn) {
		for br := bufio.NewReader(c); ; {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			io.Copy(io.Discard, req.Body)
			if faultyNow(&n) {
				act(c)
				continue
			}
			at := strconv.FormatInt(n.Load(), 10)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-RateLimit-Remaining: "+at+
				"\r\n\r\nok")
		}
	})
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1, Partitions: []string{"k"},
			Requests: 10},
		timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(1, 0, "k", 0)},
		timeline.Phase{Name: "o", Shape: timeline.Constant, Arrivals: each(4, time.Millisecond, "k", 1)},
	), o)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		o.At, o.Sent, o.FirstByte, o.Done = 0, 0, 0, min(o.Done, 1)
	}
	return tl.Observations
}
