package load

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bare is a connection on which one goroutine writes a request and reads the answer, and does nothing else.
type bare struct {
	c net.Conn
	b []byte
}

func newBare(b testing.TB, u *url.URL) *bare {
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		b.Fatal(err)
	}
	return &bare{c, make([]byte, 4096)}
}

func (x *bare) send() { io.WriteString(x.c, "GET / HTTP/1.1\r\nHost: bare\r\n\r\n") }

func (x *bare) receive() []byte { return x.b[:must(x.c.Read(x.b))] }

// bareClosed sends n requests over `clients` connections: it writes to all, then reads from all.
func bareClosed(b testing.TB, u *url.URL, clients, n int) {
	all := make([]*bare, clients)
	for i := range all {
		all[i] = newBare(b, u)
		defer all[i].c.Close()
	}
	for ; n > 0; n -= clients {
		for _, x := range all {
			x.send()
		}
		for _, x := range all {
			x.receive()
		}
	}
}

// wrkClosed returns the processor time of wrk per request; ok is false if wrk is not installed.
func wrkClosed(u *url.URL, clients int) (each time.Duration, ok bool) {
	cmd := exec.Command("wrk", "-t1", "-c", strconv.Itoa(clients), "-d2s", u.String())
	out, err := cmd.Output()
	found := regexp.MustCompile(`(\d+) requests in`).FindSubmatch(out)
	if err != nil || found == nil {
		return 0, false
	}
	n := must(strconv.Atoi(string(found[1])))
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()) / time.Duration(n), true
}

// BenchmarkWidth measures how wide the interval of a request is. It prints the ratio to the round trip of a
// bare loop that runs in turns with it.
func BenchmarkWidth(b *testing.B) {
	u := startTarget(b)
	x := newBare(b, u)
	defer x.c.Close()
	var ours, theirs []time.Duration
	for b.Loop() {
		tl := mustRecord(b, schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1,
			Partitions: []string{"k"}, Requests: 5000}), Options{URL: u})
		for i := range tl.Observations {
			ours = append(ours, tl.Observations[i].FirstByte-tl.Observations[i].Sent)
		}
		for range 5000 {
			began := time.Now()
			x.send()
			x.receive()
			theirs = append(theirs, time.Since(began))
		}
	}
	p50, p99 := quantiles(ours)
	q50, q99 := quantiles(theirs)
	b.ReportMetric(p50, "width-p50-us")
	b.ReportMetric(p50/q50, "p50/bare")
	b.ReportMetric(p99/q99, "p99/bare")
}

// BenchmarkBurst measures the time from the first to the last arrival, at the target, of a gated burst of
// 100. Its connections have carried one burst before. It prints the ratio to a bare loop of writes to such
// connections, in turns with it. On older connections the target is faster, whoever writes.
func BenchmarkBurst(b *testing.B) {
	const n = 100
	u := startTarget(b)
	var ours, theirs, sent, written []time.Duration
	for range 50 {
		tl := mustRecord(b, schedule(
			timeline.Phase{Name: "warm", Shape: timeline.AtOnce, Arrivals: each(n, 0, "k", 0)},
			timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: each(n, 0, "k", n)},
		), Options{URL: u, Answers: Answers{Record: func(n string) bool { return n == "X-At-Reset" }}})
		sent = append(sent, tl.Header.Spreads[1].Width)
		var at arrivals
		for i := range tl.Observations {
			if v, _ := tl.Observations[i].Fields.Get("X-At-Reset"); tl.Observations[i].Phase == "b" {
				at.add(v)
			}
		}
		ours = append(ours, at.last.Sub(at.first))
		spread, wrote := bareBurst(b, u, n)
		theirs, written = append(theirs, spread), append(written, wrote)
	}
	for b.Loop() { // an iteration takes longer than what it measures
	}
	p50, p99 := quantiles(ours)
	q50, _ := quantiles(theirs)
	s50, _ := quantiles(sent)
	w50, _ := quantiles(written)
	b.ReportMetric(s50, "sent-p50-us")
	b.ReportMetric(s50/w50, "sent/bare") // the sender's part of the spread; the rest is the target's
	b.ReportMetric(p50, "spread-p50-us")
	b.ReportMetric(p99, "spread-p99-us")
	b.ReportMetric(p50/q50, "p50/bare")
	b.ReportMetric(0, "ns/op")
}

// bareBurst writes a request to each of n new connections, twice. It returns the times from the first to the
// last arrival of the second burst, and from its first to its last write.
func bareBurst(b testing.TB, u *url.URL, n int) (spread, wrote time.Duration) {
	all := make([]*bare, n)
	for i := range all {
		all[i] = newBare(b, u)
		defer all[i].c.Close()
	}
	var at arrivals
	for range 2 {
		time.Sleep(settle)
		at = arrivals{}
		began := time.Now()
		for i, x := range all {
			if i == n-1 {
				wrote = time.Since(began)
			}
			x.send()
		}
		for _, x := range all {
			resp := must(http.ReadResponse(bufio.NewReader(bytes.NewReader(x.receive())), nil))
			at.add(resp.Header.Get("X-At-Reset"))
		}
	}
	return at.last.Sub(at.first), wrote
}

// arrivals are the first and the last time at which a target had a request.
type arrivals struct{ first, last time.Time }

func (a *arrivals) add(text string) {
	at := time.Unix(0, must(strconv.ParseInt(text, 10, 64)))
	if a.first.IsZero() || at.Before(a.first) {
		a.first = at
	}
	if at.After(a.last) {
		a.last = at
	}
}
