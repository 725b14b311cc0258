package check

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestQueueSaysWhichBoundWasBroken: three requests come at once to a queue of one place, and the third is let
// through 1 ms too early. The sum that is printed is that of the releases, though it comes to as many as the
// places admit.
func TestQueueSaysWhichBoundWasBroken(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, until := range []time.Duration{time.Millisecond, 21 * time.Millisecond, 39 * time.Millisecond} {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, FirstByte: until, Answered: true,
				Outcome: timeline.Allowed})
	}
	limit, err := spec.Parse("leaky-bucket-queue,rate=50/s,queue=1")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Judge(tl, limit, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "at most 1 + floor(50/s * 0.039 s) = 2 are possible"
	if j.Verdict != result.Fail || !strings.Contains(j.Partitions[0].Findings[0].Text, want) {
		t.Errorf("got %s, %+v, want a FAIL with %q", j.Verdict, j.Partitions[0].Findings, want)
	}
}

// TestQueueIsMeasuredFromAbove: a burst of five comes to a queue of two places. One is served at once, two
// wait, two are denied. The recording shows that the queue has at most two places. It cannot show that it has
// no fewer, so that this is not demanded.
func TestQueueIsMeasuredFromAbove(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, until := range []time.Duration{1, 21, 41, 1, 1} {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, FirstByte: until,
			Answered: true, Outcome: timeline.Allowed}
		if i >= 3 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	for _, c := range []struct {
		places int64
		want   result.Verdict
	}{
		// three may have been admitted if one was decided late; but nothing shows that two would be too many
		{1, result.Inconclusive},
		{2, result.Pass},
		{3, result.Fail},
	} {
		pol := spec.Policy{Algorithm: spec.LeakyBucketQueue, Rate: spec.Rate{N: 1, Per: 20}, Queue: c.places,
			Burst: c.places + 1,
			Start: spec.StartFull, Count: spec.CountAdmitted, Refill: spec.RefillContinuous}
		for _, r := range []Resolution{{BurstExact: true}, {Burst: 0.2}} {
			j, err := Judge(tl, spec.Limit{pol}, Options{Resolution: r})
			if err != nil {
				t.Fatal(err)
			}
			if j.Verdict != c.want {
				t.Errorf("%d places, %+v: got %s (%s), want %s", c.places, r, j.Verdict, j.Detail, c.want)
			}
		}
	}
}

// TestQueueWhoseWorkersReadClocksApart: two workers of a queue share its state and read clocks that tick
// every millisecond. One reads 0, just before its tick; the other reads 1 ms. The first request passes at 0.
// The second is decided at 1 ms and waits 19 ms. The third is decided at 0 again: it should wait from 1 ms
// on, but waits from 0, and comes 1 ms before its turn. Any earlier is a fault.
func TestQueueWhoseWorkersReadClocksApart(t *testing.T) {
	for _, c := range []struct {
		spec string
		tick time.Duration
		last time.Duration
		want result.Verdict
	}{
		{"leaky-bucket-queue,rate=50/s,queue=20", time.Millisecond, 39 * time.Millisecond, result.Pass},
		{"leaky-bucket-queue,rate=50/s,queue=20,tick=1ms", 0, 39 * time.Millisecond, result.Pass},
		{"leaky-bucket-queue,rate=50/s,queue=20", time.Millisecond, 38 * time.Millisecond, result.Fail},
		{"leaky-bucket-queue,rate=50/s,queue=20", 0, 39 * time.Millisecond, result.Fail},
		{"leaky-bucket-queue,rate=50/s,queue=20,tick=0s", time.Millisecond, 39 * time.Millisecond,
			result.Fail},
	} {
		tl := &timeline.Timeline{Header: timeline.Header{Tick: c.tick}}
		for i, until := range []time.Duration{time.Millisecond, 20 * time.Millisecond, c.last} {
			tl.Observations = append(tl.Observations,
				timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: time.Millisecond,
					FirstByte: until, Answered: true, Outcome: timeline.Allowed})
		}
		limit, err := spec.Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Judge(tl, limit, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != c.want {
			t.Errorf("%s, recorded with a tick of %s, the last released at %s: got %s, %+v, want %s", c.spec,
				c.tick, c.last, j.Verdict, j.Partitions[0].Findings, c.want)
		}
	}
}
