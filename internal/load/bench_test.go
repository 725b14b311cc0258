package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// serverVariable makes the test binary a target for benchmarks, in another process.
const serverVariable = "RLCHECK_BENCH_TARGET"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		benchTarget()
		return
	}
	os.Exit(m.Run())
}

// benchTarget prints its address and answers every request with the wall time at which it arrived. On Linux
// that is the kernel's stamp: how soon a program wakes up is not the generator's merit. It keeps the times of
// /logged until /log asks for them.
func benchTarget() {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the benchmark
		os.Exit(0)
	}()
	var log benchLog
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go log.serve(c)
	}
}

// benchLog is the arrival times of the requests that are logged.
type benchLog struct {
	mu sync.Mutex
	at []byte
}

func (l *benchLog) serve(c net.Conn) {
	defer c.Close()
	in := newArrival(c)
	br := bufio.NewReader(in)
	var out, path, body []byte
	for {
		path = path[:0]
		for line := []byte("x"); len(line) > 2 || line[0] == 'x'; {
			var err error
			if line, err = br.ReadSlice('\n'); err != nil {
				return
			}
			if len(path) == 0 {
				path = append(path, line...)
			}
		}
		now := in.at.UnixNano()
		switch body = append(body[:0], "ok"...); {
		case bytes.HasPrefix(path, []byte("GET /logged")):
			l.mu.Lock()
			l.at = append(strconv.AppendInt(l.at, now, 10), '\n')
			l.mu.Unlock()
		case bytes.HasPrefix(path, []byte("GET /log")):
			l.mu.Lock()
			body, l.at = append(body[:0], l.at...), l.at[:0]
			l.mu.Unlock()
		}
		out = append(out[:0], "HTTP/1.1 200 OK\r\nX-At-Reset: "...)
		out = strconv.AppendInt(out, now, 10)
		out = append(out, "\r\nContent-Length: "...)
		out = strconv.AppendInt(out, int64(len(body)), 10)
		out = append(append(out, "\r\n\r\n"...), body...)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// startTarget runs benchTarget in another process.
func startTarget(b *testing.B) *url.URL {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	in := must(cmd.StdinPipe())
	out := must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return must(url.Parse("http://" + line[:len(line)-1] + "/"))
}

// quantiles returns the median and the 99th percentile in microseconds.
func quantiles(d []time.Duration) (p50, p99 float64) {
	slices.Sort(d)
	at := func(q int) float64 { return float64(d[(len(d)-1)*q/100].Nanoseconds()) / 1e3 }
	return at(50), at(99)
}

// arrived returns how late a request was at the target. value is its arrival time as the target wrote it.
func arrived(value string, plan time.Time) time.Duration {
	return time.Duration(must(strconv.ParseInt(value, 10, 64)) - plan.UnixNano())
}

// quietest divides d into tenths and returns their least 99th percentile, in microseconds. On a busy machine
// the other tenths measure the machine.
func quietest(d []time.Duration) float64 {
	least := math.Inf(1)
	for part := range slices.Chunk(d, (len(d)+9)/10) {
		_, p99 := quantiles(slices.Clone(part))
		least = min(least, p99)
	}
	return least
}

// BenchmarkLateness measures how late requests arrive at the target against the plan. It prints the ratios to
// a generator that paces net/http with time.Sleep, and to the lower bound: a bare loop that spins, in the
// same run. Below 1 is better. "sent" is the part from the plan to the write, "target" the rest, until the
// target has read the request. "quiet" is the least disturbed tenth of the run.
func BenchmarkLateness(b *testing.B) {
	for _, rate := range []int{500, 2000, 5000, 10000, 20000} {
		for _, economical := range []bool{false, true} {
			b.Run(fmt.Sprintf("rate=%d/economical=%v", rate, economical), func(b *testing.B) {
				benchmarkLateness(b, rate, economical)
			})
		}
	}
}

func benchmarkLateness(b *testing.B, rate int, economical bool) {
	u := startTarget(b)
	gap, n := time.Second/time.Duration(rate), rate*3/2
	for b.Loop() {
		floor := bareOpen(b, u, n, gap)
		ours, sent, rest := recordOpen(b, u, n, gap, economical)
		quiet := quietest(ours)
		b.ReportMetric(quiet, "quiet-p99-us")
		b.ReportMetric(quietest(sent), "quiet-sent-p99-us")
		b.ReportMetric(quietest(rest), "quiet-target-p99-us")
		if floor != nil {
			least := quietest(floor)
			_, f99 := quantiles(floor)
			b.ReportMetric(least, "floor-quiet-p99-us")
			b.ReportMetric(quiet/least, "quiet-p99/floor")
			b.ReportMetric(f99, "floor-p99-us")
		}
		p50, p99 := quantiles(ours)
		q50, q99 := quantiles(plainOpen(u, n, gap))
		s50, s99 := quantiles(sent)
		b.ReportMetric(s50, "sent-p50-us")
		b.ReportMetric(s99, "sent-p99-us")
		b.ReportMetric(p50, "p50-us")
		b.ReportMetric(p99, "p99-us")
		b.ReportMetric(p50/q50, "p50/plain")
		b.ReportMetric(p99/q99, "p99/plain")
	}
	b.ReportMetric(0, "ns/op")
}

// recordOpen returns, for each request in the order of the plan, how late it was at the target and at its
// write. rest is how long it took from there to the target.
func recordOpen(b *testing.B, u *url.URL, n int, gap time.Duration, economical bool) (
	all, sent, rest []time.Duration) {
	o := Options{URL: u, Economical: economical,
		Answers: Answers{Record: func(n string) bool { return n == "X-At-Reset" }}}
	r := newRecorder(schedule(timeline.Phase{Name: "l", Shape: timeline.Constant,
		Arrivals: each(n, gap, "k", 0)}), must(o.Complete()))
	if err := r.check(); err != nil {
		b.Fatal(err)
	}
	for _, o := range r.record(context.Background()).Observations {
		v, _ := o.Fields.Get("X-At-Reset")
		all = append(all, arrived(v, r.clock.Start.Add(o.At)))
		sent = append(sent, o.Sent-o.At)
		rest = append(rest, arrived(v, r.clock.Start.Add(o.Sent)))
	}
	return all, sent, rest
}

// plainOpen is the plain open-loop generator: time.Sleep, a goroutine for each request, net/http.
func plainOpen(u *url.URL, n int, gap time.Duration) []time.Duration {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, MaxConnsPerHost: 512}}
	defer client.CloseIdleConnections()
	out := make([]time.Duration, n)
	var wg sync.WaitGroup
	start := time.Now().Add(10 * time.Millisecond)
	for i := range n {
		plan := start.Add(time.Duration(i) * gap)
		time.Sleep(time.Until(plan))
		wg.Go(func() {
			resp, err := client.Get(u.String())
			if err != nil {
				out[i] = time.Minute
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			out[i] = arrived(resp.Header.Get("X-At-Reset"), plan)
		})
	}
	wg.Wait()
	return out
}

// BenchmarkClosed measures the processor time of the generator per request with 64 clients; every request is
// recorded. It prints the ratios to net/http, to wrk and to a bare loop of write and read, which record
// nothing. The target is another process.
func BenchmarkClosed(b *testing.B) {
	benchmarkClosed(b, func() *timeline.JournalWriter { return nil })
}

// BenchmarkClosedJournal is BenchmarkClosed with a journal in a file.
func BenchmarkClosedJournal(b *testing.B) {
	benchmarkClosed(b, func() *timeline.JournalWriter {
		f := must(os.Create(filepath.Join(b.TempDir(), "journal")))
		b.Cleanup(func() { f.Close() })
		return timeline.NewJournal(f, strings.NewReplacer("secret", "REDACTED").Replace)
	})
}

func benchmarkClosed(b *testing.B, journal func() *timeline.JournalWriter) {
	const clients, n = 64, 50_000
	u := startTarget(b)
	for b.Loop() {
		began, wall := transport.CPUTime(), time.Now()
		tl := must(Record(context.Background(), schedule(timeline.Phase{
			Name: "c", Shape: timeline.Closed, Clients: clients, Partitions: []string{"k"}, Requests: n,
		}), Options{URL: u, Pacer: transport.SleepingPacer(), Keeping: Keeping{Journal: journal()}}))
		ours, took := transport.CPUTime()-began, time.Since(wall)
		if c := tl.Counts(); c.Allowed != n {
			b.Fatalf("got %+v", c)
		}
		began = transport.CPUTime()
		plainClosed(u, clients, n)
		theirs := transport.CPUTime() - began
		began = transport.CPUTime()
		bareClosed(b, u, clients, n)
		bare := transport.CPUTime() - began
		b.ReportMetric(float64(ours.Microseconds())/n, "cpu-us/req")
		b.ReportMetric(float64(n)/took.Seconds(), "req/s")
		b.ReportMetric(float64(ours)/float64(theirs), "cpu/plain")
		b.ReportMetric(float64(ours)/float64(bare), "cpu/bare")
		if each, ok := wrkClosed(u, clients); ok {
			b.ReportMetric(float64(ours)/n/float64(each), "cpu/wrk")
		}
	}
	b.ReportMetric(0, "ns/op")
}

func plainClosed(u *url.URL, clients, n int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if resp, err := client.Get(u.String()); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
}
