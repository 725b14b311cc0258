package trial

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bucket are n requests, every 100 us, to a bucket of so many that gets one more each millisecond.
func bucket(n int, burst time.Duration) *timeline.Timeline {
	tl := &timeline.Timeline{}
	var full time.Duration // when the bucket would be full
	for i := range n {
		at := time.Duration(i) * 100 * time.Microsecond
		a := timeline.Arrival{Seq: i, Partition: "k", Phase: "p", At: at, Cost: 1}
		o := timeline.Observation{Arrival: a, Sent: at, FirstByte: at + 20*time.Microsecond, Answered: true}
		o.Outcome, o.Status = timeline.Denied, 429
		decided := at + 10*time.Microsecond
		if full = max(full, decided); full+time.Millisecond <= decided+burst*time.Millisecond {
			full += time.Millisecond
			o.Outcome, o.Status = timeline.Allowed, 200
		}
		tl.Observations = append(tl.Observations, o)
	}
	tl.Header.Ended = tl.Observations[n-1].FirstByte
	return tl
}

// TestALongRecordingIsJudgedAsAnyOther: one that is too long for memory has the verdict, the numbers and the
// latencies of one that is not.
func TestALongRecordingIsJudgedAsAnyOther(t *testing.T) {
	const src = `id: x
title: x
kind: required
limit: "token-bucket,rate=1000/s,burst=20,tick=1ns"
phases:
  - {name: p, shape: constant, rate: 10000/s, duration: 3s}
expect: {schedule: {late_p99: 5ms}, resolution: {burst: none, rate: none}}
`
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for burst, want := range map[time.Duration]result.Verdict{20: result.Pass, 23: result.Fail} {
		short := bucket(30_000, burst)
		file := func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "s") }
		long := &timeline.Timeline{Header: short.Header, Spool: timeline.NewSpool(file),
			Observations: slices.Clone(short.Observations[:1000])}
		for i := range short.Observations {
			long.Spool.Add(&short.Observations[i])
		}
		of := func(tl *timeline.Timeline) (out result.Scenario) {
			settle(tl, s, Options{}, &endpoints{})
			Judge(&out, s, tl)
			return out
		}
		a, b := of(short), of(long)
		if a.Verdict != want || b.Verdict != want || a.Counts != b.Counts || len(a.Claims) != len(b.Claims) {
			t.Fatalf("burst %d: got %v %+v %q, in memory %v %+v, want %v", burst, b.Verdict, b.Counts,
				b.Detail, a.Verdict, a.Counts, want)
		}
		for i := range a.Claims {
			if a.Claims[i].Verdict != b.Claims[i].Verdict || a.Claims[i].Text != b.Claims[i].Text {
				t.Errorf("burst %d: got %v %q, in memory %v %q", burst, b.Claims[i].Verdict, b.Claims[i].Text,
					a.Claims[i].Verdict, a.Claims[i].Text)
			}
		}
		for what, diff := range map[string]string{"latency": cmp.Diff(a.Latency, b.Latency),
			"statuses": cmp.Diff(a.Statuses, b.Statuses), "clients": cmp.Diff(a.Clients, b.Clients),
			"measured": cmp.Diff(a.Judgement.Measured, b.Judgement.Measured)} {
			if diff != "" {
				t.Errorf("burst %d, %s: %s", burst, what, diff)
			}
		}
		long.Spool.Close()
	}
}
