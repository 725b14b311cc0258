//go:build unix

package trial

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// BenchmarkAfterTheLastAnswer is what a long recording costs between its last answer and its report: it is
// judged and counted, and meanwhile written, with its latencies. cpu-s/10M is the CPU that ten million
// requests take: the time of a report is that divided by the CPUs, on a disk that is fast enough.
func BenchmarkAfterTheLastAnswer(b *testing.B) {
	const n = 1_000_000
	s, err := scenario.Parse([]byte(`id: x
title: x
kind: required
target: {url: "http://127.0.0.1:1/"}
limit: "token-bucket,rate=1000/s,burst=100"
partition: {count: 64}
phases:
  - {name: p, shape: closed, clients: 64, requests: 15625, duration: 300s}
expect: {resolution: {burst: none, rate: none}}
safety: {max_requests: 1000000, max_rate: 1000000/s}
`), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		b.Fatal(err)
	}
	tl := million(b, n)
	all := 0.0
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"read", func() {
			for range tl.All() {
			}
		}},
		{"judge", func() {
			var out result.Scenario
			settle(tl, s, Options{}, &endpoints{})
			if Judge(&out, s, tl); out.Counts.Sent != n {
				b.Fatalf("got %+v, want %d requests", out.Counts, n)
			}
		}},
		{"write", func() { err = timeline.Write(io.Discard, tl) }},
		{"latencies", func() { err = report.WriteHistogram(io.Discard, tl, tl.Header.Started) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			began := cpuTime(b)
			for b.Loop() {
				if step.do(); err != nil {
					b.Fatal(err)
				}
			}
			each := (cpuTime(b) - began).Seconds() / float64(b.N)
			b.ReportMetric(each*10_000_000/n, "cpu-s/10M")
			if step.name != "read" {
				all += each
			}
		})
	}
	b.Logf("in all %.1f s of CPU for ten million requests", all*10_000_000/n)
}

// million is a long recording of a closed loop of 64 clients, each at almost 1,000/s: all are admitted.
func million(b *testing.B, n int) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(1_700_000_000, 0),
		WallError: 500 * time.Millisecond}}
	tl.Spool = timeline.NewSpool(func() (timeline.Spill, error) { return os.CreateTemp(b.TempDir(), "s") })
	var names [64]string
	for i := range names {
		names[i] = fmt.Sprintf("2026-11-23T01-50-33-woqunv-million-%d", i)
	}
	var f timeline.Fields
	for i := range n {
		at := time.Duration(i) * 16 * time.Microsecond
		if i%62_500 == 0 { // a new second
			date := tl.Header.Started.Add(at).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
			f = timeline.Fields{{Name: "Content-Type", Value: "text/plain"}, {Name: "Date", Value: date}}
		}
		took := 900*time.Microsecond + time.Duration(i%977)
		a := timeline.Arrival{Seq: -1, Partition: names[i%64], Phase: "p", At: at, Cost: 1}
		o := timeline.Observation{Arrival: a, Sent: at, FirstByte: at + took, Done: at + took, Answered: true,
			Outcome: timeline.Allowed, Status: 200, Fields: f}
		tl.Spool.Add(&o)
		if o.Seq = i; i < 50_000 {
			tl.Observations = append(tl.Observations, o)
		}
		tl.Header.Ended = o.Done
	}
	tl.Spool = tl.Spool.From(0)
	return tl
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
