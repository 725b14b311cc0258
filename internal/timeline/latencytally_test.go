package timeline

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// answered returns an observation of a request planned at `at`, sent `late` after it, and answered `service`
// after that.
func answered(o Outcome, at, late, service time.Duration) Observation {
	return Observation{
		Arrival: Arrival{At: at, Cost: 1}, Sent: at + late, FirstByte: at + late + service,
		Answered: true, Outcome: o,
	}
}

func TestAllowedAndDeniedAreMeasuredApart(t *testing.T) {
	tl := &Timeline{}
	for i := range 1000 { // 1 .. 1000 us of service, 2 us late
		tl.Observations = append(tl.Observations,
			answered(Allowed, time.Duration(i)*ms, 2*us, time.Duration(i+1)*us))
	}
	for range 3 {
		tl.Observations = append(tl.Observations, answered(Denied, time.Second, ms, 1500))
	}
	tl.Observations = append(tl.Observations, answered(Unknown, time.Second, 0, 7*us))
	tl.Observations = append(tl.Observations,
		Observation{Sent: time.Second + 4*us, Arrival: Arrival{At: time.Second}})
	s := LatencyOf(tl)

	service := s.Allowed.Service
	exactly(t, "count", service.Count, 1000)
	exactly(t, "min", service.Min, us)
	exactly(t, "mean", service.Mean, 500_500)
	exactly(t, "max", service.Max, ms)
	exactly(t, "below", service.Below+service.Above, 0)
	about(t, "p50", service.P50, 500*us)
	about(t, "p90", service.P90, 900*us)
	about(t, "p95", service.P95, 950*us)
	about(t, "p99", service.P99, 990*us)
	about(t, "p99.9", service.P999, 999*us)
	about(t, "corrected p50", s.Allowed.Corrected.P50, 502*us)
	exactly(t, "corrected max", s.Allowed.Corrected.Max, 1002*us)

	exactly(t, "denied service p50", s.Denied.Service.P50, 1500)
	exactly(t, "denied count", s.Denied.Service.Count, 3)
	exactly(t, "denied corrected", s.Denied.Corrected.P99, 1_001_500)
	exactly(t, "unknown", s.Unknown.Service.Max, 7*us)
	exactly(t, "unanswered", s.Unanswered, 1)
	exactly(t, "lateness count", s.Lateness.Count, 1005)
	exactly(t, "lateness p50", s.Lateness.P50, 2000)
	exactly(t, "lateness max", s.Lateness.Max, ms)
}

// exactly compares two numbers.
func exactly[T int64 | time.Duration](t *testing.T, name string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %d, want %d", name, got, want)
	}
}

// about allows an error of three digits: one thousandth above, nothing below.
func about(t *testing.T, name string, got, want time.Duration) {
	t.Helper()
	if got < want || got > want+want/1000 {
		t.Errorf("%s: got %v, want %v to three digits", name, got, want)
	}
}

func TestNothingGivesZeroes(t *testing.T) {
	s := LatencyOf(&Timeline{})
	if !reflect.DeepEqual(s, LatencySummary{}) {
		t.Errorf("got %+v, want zeroes", s)
	}
	d := Distribution{}
	if d.Quantile(.5) != 0 || d.LogBuckets(10) != nil {
		t.Error("an empty distribution has a quantile or buckets")
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestQuantilesAreOfTheRightRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for n := 1; n <= 150; n++ {
		var r recorder
		values := make([]time.Duration, n)
		for i := range values { // exact up to 2047 ns
			values[i] = time.Duration(rng.IntN(2048))
			r.record(values[i], 1)
		}
		slices.Sort(values)
		d := r.distribution()
		for percent := range 101 {
			want := values[max((percent*n+99)/100, 1)-1]
			if got := d.Quantile(float64(percent) / 100); got != want {
				t.Fatalf("%d values: p%d is %d, want %d", n, percent, got, want)
			}
		}
		if d.Quantile(math.NaN()) != d.Min || d.Quantile(-1) != d.Min || d.Quantile(2) != d.Max {
			t.Fatalf("quantiles outside 0..1: %v, %v, %v", d.Quantile(math.NaN()), d.Quantile(-1),
				d.Quantile(2))
		}
	}
}

func TestThreeDigitsFromAMicrosecondToAnHour(t *testing.T) {
	for v := LowestLatency; v <= Highest; v += v/3 + 1 {
		var r recorder
		r.record(v, 1)
		b := r.distribution().Buckets[0]
		if b.From > v || b.To < v || b.To-b.From > v/1000 {
			t.Fatalf("%v is in the bucket %v..%v", v, b.From, b.To)
		}
	}
}

func TestValuesOutsideTheRangeAreCountedAndRanked(t *testing.T) {
	var r recorder
	for _, v := range []time.Duration{-5 * us, -3, 0, 999, LowestLatency, Highest,
		Highest + 1, 2 * Highest,
		math.MaxInt64} {
		r.record(v, 1)
	}
	d := r.distribution()
	exactly(t, "count", d.Count, 9)
	exactly(t, "below", d.Below, 4)
	exactly(t, "above", d.Above, 3)
	exactly(t, "min", d.Min, -5*us)
	exactly(t, "max", d.Max, math.MaxInt64)
	exactly(t, "the third", d.Quantile(3./9), 0)
	exactly(t, "the fourth", d.Quantile(4./9), 999)
	exactly(t, "the fifth", d.Quantile(5./9), LowestLatency)
	exactly(t, "the sixth", d.Quantile(6./9), Highest)
	exactly(t, "the seventh", d.Quantile(7./9), math.MaxInt64)
	checkBuckets(t, d.Buckets, d)
	checkBuckets(t, d.LogBuckets(10), d)
}

// checkBuckets checks that buckets ascend, are disjoint, and hold all values.
func checkBuckets(t *testing.T, all []LatencyBucket, d Distribution) {
	t.Helper()
	count := int64(0)
	for i, b := range all {
		if b.From > b.To || i > 0 && b.From <= all[i-1].To {
			t.Errorf("bucket %d is %+v after %+v", i, b, all[max(i-1, 0)])
		}
		count += b.Count
	}
	exactly(t, "the sum of the buckets", count, d.Count)
	if all[0].From > d.Min || all[len(all)-1].To < d.Max {
		t.Errorf("buckets from %v to %v, values from %v to %v", all[0].From, all[len(all)-1].To, d.Min, d.Max)
	}
}

func TestTheMeanDoesNotOverflow(t *testing.T) {
	var r recorder
	r.record(math.MaxInt64, 3_000_000)
	r.record(math.MaxInt64-2, 3_000_000)
	exactly(t, "mean", r.distribution().Mean, math.MaxInt64-1)
	r = recorder{}
	r.record(-1500*ms, 1)
	r.record(-ms, 2)
	exactly(t, "mean", r.distribution().Mean, -1502*ms/3)
}

func TestLogBucketsAreNiceForAnAxis(t *testing.T) {
	var r recorder
	for _, v := range []time.Duration{3 * us, 5 * us, 10 * us, 99 * us, 1000 * us} {
		r.record(v, 2)
	}
	d := r.distribution()
	want := []LatencyBucket{{From: 1 * us, To: 10*us - 1, Count: 4},
		{From: 10 * us, To: 100*us - 1, Count: 4}, {From: 100 * us, To: ms - 1},
		{From: ms, To: 10*ms - 1, Count: 2}}
	if got := d.LogBuckets(1); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, perDecade := range []int{-1, 1, 2, 5, 10, 50} {
		checkBuckets(t, d.LogBuckets(perDecade), d)
	}
	if got := len(d.LogBuckets(10)); got != 27 { // from 2.5 us to 1 ms
		t.Errorf("%d buckets, want 27", got)
	}
}

func TestOnlyPhasesWithAPlanAreLate(t *testing.T) {
	var c LatencyTally
	add := func(phase string, late time.Duration) {
		o := answered(Allowed, time.Second, late, ms)
		o.Phase = phase
		c.Add(&o)
	}
	for range 1000 {
		add("closed", 0)
		add("open", 0) // before the phase is known to have a plan
	}
	exactly(t, "without a plan", c.Summary().Lateness.Count, 0)
	for range 1000 {
		add("open", 3*us)
		add("closed", 0)
		add("open", 0)
	}
	s := c.Summary()
	exactly(t, "count", s.Lateness.Count, 3000)
	exactly(t, "share on time", s.Lateness.Quantile(2./3), 0)
	about(t, "the rest", s.Lateness.Quantile(2./3+.001), 3*us)
}

func TestJSONNamesHaveUnits(t *testing.T) {
	one := []Observation{answered(Denied, 0, us, us)}
	text, err := json.Marshal(LatencyOf(&Timeline{Observations: one}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"denied":{"corrected":{"count":1,"min_ns":2000,"mean_ns":2000,"p50_ns":2000,"p90_ns":2000,"p95_ns":2000,` +
		`"p99_ns":2000,"p99_9_ns":2000,"max_ns":2000,"below_1us":0,"above_1h":0,"buckets":[[1995,2238,1]]},"service":{"count":1,"min_ns":1000,`
	if !strings.Contains(string(text), want) {
		t.Errorf("got %s, want %s", text, want)
	}
}

func BenchmarkAdd(b *testing.B) {
	var c LatencyTally
	o := answered(Allowed, time.Second, 3*us, ms)
	for b.Loop() {
		c.Add(&o)
	}
}
