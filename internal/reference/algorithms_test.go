package reference

import (
	"math"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"pgregory.net/rapid"
)

// TestTokenBucketGCRAAndLeakyBucketAreOne checks that the three buckets give the same decisions for matching
// parameters: outcome, Remaining, RetryAfter and Reset.
func TestTokenBucketGCRAAndLeakyBucketAreOne(t *testing.T) {
	var allowed, denied int
	rapid.Check(t, func(rt *rapid.T) {
		p := spec.Policy{
			Rate: spec.Rate{N: rapid.Int64Range(1, 50).Draw(rt, "n"),
				Per: time.Duration(rapid.Int64Range(1, 1e12).Draw(rt, "per"))},
			Burst: rapid.Int64Range(1, 20).Draw(rt, "burst"),
			Start: rapid.SampledFrom([]spec.Start{spec.StartFull, spec.StartEmpty}).Draw(rt, "start"),
			Count: rapid.SampledFrom([]spec.Count{spec.CountAdmitted, spec.CountAll}).Draw(rt, "count"),
			Bans:  spec.Bans{Ban: rapid.SampledFrom([]time.Duration{0, 0, time.Second}).Draw(rt, "ban")},
		}
		var all []*subject
		for _, p.Algorithm = range []spec.Algorithm{spec.TokenBucket, spec.GCRA, spec.LeakyBucket} {
			all = append(all, newSubject(rt, p.String()))
		}
		at := rapid.SampledFrom(epochs).Draw(rt, "epoch")
		for range 50 {
			at += gap(rt, all[0].scales())
			cost := rapid.Int64Range(1, p.Burst+1).Draw(rt, "cost")
			var want Decision
			for i, s := range all {
				var d Decision
				s.state, d = s.limiter.Step(s.state, at, cost)
				if i == 0 {
					want = d
				} else if d != want {
					rt.Fatalf("%v: got %+v, token bucket %+v", s.limit, d, want)
				}
			}
			count(want, &allowed, &denied)
		}
	})
	wantBoth(t, allowed, denied)
}

// admitted sends requests of cost 1 at the times, which ascend. It returns the times of the admitted ones.
func admitted(t rapidOrTest, spec string, times []time.Duration) []time.Duration {
	s := newSubject(t, spec)
	var all []time.Duration
	for _, at := range times {
		var d Decision
		if s.state, d = s.limiter.Step(s.state, at, 1); d.Allow {
			all = append(all, at)
		}
	}
	return all
}

// mostWithin returns the largest number of times that lie in one half-open interval of length d. The times
// ascend.
func mostWithin(times []time.Duration, d time.Duration) int {
	most, from := 0, 0
	for to := range times {
		for times[to]-times[from] >= d {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// TestBoundaryDoubleBurst checks what a burst before and a burst after a window boundary get. A fixed window
// whose boundary is known gives twice the quota. A log or a bucket gives no more than the quota.
func TestBoundaryDoubleBurst(t *testing.T) {
	const quota, window = 100, time.Minute
	var times []time.Duration
	for i := range time.Duration(quota) {
		times = append(times, window-quota+i)
	}
	for i := range time.Duration(quota) {
		times = append(times, window+i)
	}
	first := append([]time.Duration{0}, times...)
	for _, c := range []struct {
		spec  string
		times []time.Duration
		want  int
	}{
		{"fixed-window,rate=100/1m", times, 200},
		{"fixed-window,rate=100/1m,phase=30s", times, 100},       // The boundary is elsewhere.
		{"fixed-window,rate=100/1m,align=first", times, 100},     // The window opens with the first burst.
		{"fixed-window,rate=100/1m,align=first", first, 200 - 1}, // It opened 1m before the second burst.
		{"sliding-window-log,rate=100/1m", times, 100},
		// 1 ns into the window a little less than 100 units weigh.
		{"sliding-window-counter,rate=100/1m", times, 101},
		{"sliding-window-counter,rate=100/1m,rounding=up", times, 100},
		{"token-bucket,rate=100/1m,burst=100", times, 100},
	} {
		got := admitted(t, c.spec, c.times)
		if n := mostWithin(got, window); n != c.want {
			t.Errorf("%s: got %d admitted within %v, want %d", c.spec, n, window, c.want)
		}
	}
}

// TestMostAdmittedWithinAWindow checks the bound of each algorithm on what it admits in any half-open
// interval as long as a window. Random traffic must come near the bound, and exceed the quota where the bound
// does.
func TestMostAdmittedWithinAWindow(t *testing.T) {
	for _, c := range []struct {
		spec  string
		bound int
		least int // what some random traffic must reach
	}{
		{"sliding-window-log,rate=5/100ns", 5, 5},
		{"sliding-window-log,rate=5/100ns,boundary=closed", 5, 5},
		{"sliding-window-log,rate=5/100ns,count=all", 5, 5},
		{"fixed-window,rate=5/100ns", 10, 8},
		// The request that opened a window lies a whole window before the next window.
		{"fixed-window,rate=5/100ns,align=first", 9, 7},
		// It does not know when the requests of the window before came.
		{"sliding-window-counter,rate=5/100ns", 10, 6},
		{"sliding-window-counter,rate=5/100ns,rounding=up", 9, 6},
		// A request at the end of the 100 ns is outside, so that fewer than 5 units came back.
		{"token-bucket,rate=5/100ns,burst=5", 9, 8},
		{"gcra,rate=5/100ns,burst=1", 5, 5},
		{"leaky-bucket-queue,rate=5/100ns,queue=3", 8, 7},
	} {
		t.Run(c.spec, func(t *testing.T) {
			reached := 0
			rapid.Check(t, func(rt *rapid.T) {
				var times []time.Duration
				at := time.Duration(0)
				for range 60 {
					at += time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 3, 9, 19, 20, 40, 90,
						100}).Draw(rt, "gap"))
					times = append(times, at)
				}
				n := mostWithin(admitted(rt, c.spec, times), 100)
				if n > c.bound {
					rt.Fatalf("got %d admitted within 100 ns, want at most %d", n, c.bound)
				}
				reached = max(reached, n)
			})
			if reached < c.least {
				t.Errorf("no traffic had more than %d admitted within 100 ns, want %d", reached, c.least)
			}
		})
	}
}

// TestQueueReleases checks the queue by its releases. Each request is released a service time after the one
// before, or at its arrival if that is later. A request is denied exactly when more requests than the places
// are waiting or in service.
func TestQueueReleases(t *testing.T) {
	var waited, denied int
	rapid.Check(t, func(rt *rapid.T) {
		places := rapid.Int64Range(0, 6).Draw(rt, "queue")
		p := spec.Policy{Algorithm: spec.LeakyBucketQueue, Rate: spec.Rate{N: 10, Per: time.Microsecond},
			Queue: places}
		undelayed := p
		undelayed.Undelayed = rapid.Int64Range(0, places).Draw(rt, "undelayed")
		s, some := newSubject(rt, p.String()), newSubject(rt, undelayed.String())
		const service = 100 * time.Nanosecond
		var releases []time.Duration // ascending
		at := time.Duration(0)
		for range 60 {
			at += gap(rt, []time.Duration{service})
			at = max(at, s.last)
			s.last = at
			var d, e Decision
			s.state, d = s.limiter.Step(s.state, at, 1)
			some.state, e = some.limiter.Step(some.state, at, 1)
			release, busy := at, int64(0)
			for _, r := range releases {
				if r+service > at {
					busy++
				}
				release = max(release, r+service)
			}
			if want := busy <= places; d.Allow != want || e.Allow != want {
				rt.Fatalf("at %d with %d busy of %d places: got %v and %v, want %v", at, busy, places,
					d.Allow, e.Allow, want)
			}
			if !d.Allow {
				denied++
				continue
			}
			releases = append(releases, release)
			if d.Delay != release-at {
				rt.Fatalf("at %d: got delay %d, want %d", at, d.Delay, release-at)
			}
			if want := max(0, d.Delay-time.Duration(undelayed.Undelayed)*service); e.Delay != want {
				rt.Fatalf("at %d with %d undelayed: got delay %d, want %d", at, undelayed.Undelayed, e.Delay,
					want)
			}
			if d.Delay > 0 {
				waited++
			}
		}
	})
	if waited == 0 || denied == 0 {
		t.Errorf("got %d waiting and %d denied, want both", waited, denied)
	}
}

// TestBoth compares a combined limit with its parts stepped alone: all are charged, or none.
func TestBoth(t *testing.T) {
	const a, b = "token-bucket,rate=3/100ns,burst=3", "sliding-window-log,rate=8/400ns"
	rapid.Check(t, func(rt *rapid.T) {
		both, one, two := newSubject(rt, a+" + "+b), newSubject(rt, a), newSubject(rt, b)
		at := time.Duration(0)
		for range 60 {
			at += gap(rt, both.scales())
			at = max(at, both.last)
			both.last = at
			cost := rapid.Int64Range(1, 3).Draw(rt, "cost")
			var d Decision
			both.state, d = both.limiter.Step(both.state, at, cost)
			next1, d1 := one.limiter.Step(one.state, at, cost)
			next2, d2 := two.limiter.Step(two.state, at, cost)
			if want := d1.Allow && d2.Allow; d.Allow != want {
				rt.Fatalf("got allow %v, the parts %v and %v", d.Allow, d1.Allow, d2.Allow)
			}
			if !d.Allow {
				if want := max(d1.RetryAfter, d2.RetryAfter); d1.Allow == d2.Allow && d.RetryAfter != want {
					rt.Fatalf("got RetryAfter %d, the parts %d and %d", d.RetryAfter, d1.RetryAfter,
						d2.RetryAfter)
				}
				continue
			}
			one.state, two.state = next1, next2
			if d.Remaining != min(d1.Remaining, d2.Remaining) || d.Reset != max(d1.Reset, d2.Reset) {
				rt.Fatalf("got %+v, the parts %+v and %+v", d, d1, d2)
			}
		}
	})
}

// hugeSpecs are policies at the ceilings of what Parse accepts.
var hugeSpecs = []string{
	"token-bucket,rate=4611686018427387904/1ns,burst=4611686018427387904",
	"token-bucket,rate=1/3650d,burst=14",
	"token-bucket,rate=1/3650d,burst=7,refill=interval,fill=7,start=empty",
	"token-bucket,rate=4611686018/1s,burst=4611686000,refill=interval,fill=18",
	"gcra,rate=14/3650d,burst=14,count=all",
	"gcra,rate=4611686018/1s,burst=4611686018,tick=3650d",
	"leaky-bucket,rate=1/3650d,burst=14,tick=3650d,ban=3650d",
	"leaky-bucket-queue,rate=1/3650d,queue=13,undelayed=3",
	"token-bucket,rate=5/1ns,burst=20,refill=interval,fill=2",
	"leaky-bucket,rate=4294967296/1us,burst=14",
	"fixed-window,rate=4611686018427387904/3650d,phase=3649d,ban=3650d",
	"fixed-window,rate=2/3650d,align=first,count=all,tick=3650d",
	"sliding-window-log,rate=4611686018427387904/3650d,boundary=closed,count=all,tick=3650d",
	"sliding-window-log,rate=2/3650d,ban=3650d",
	"sliding-window-counter,rate=14/3650d,rounding=nearest,count=all,tick=3650d",
	"sliding-window-counter,rate=14/3650d,rounding=up,align=first,count=all",
	"sliding-window-counter,rate=4611686018427387904/1ns,rounding=nearest",
}

// FuzzStep steps limiters at and beyond every ceiling, at any times and costs. It compares them with the
// definition.
func FuzzStep(f *testing.F) {
	for i := range hugeSpecs {
		f.Add(uint8(i), int64(math.MinInt64), int64(math.MaxInt64), int64(1), int64(1), int64(math.MaxInt64))
		f.Add(uint8(i), int64(1_800_000_000_000_000_000), int64(1), int64(5e18), int64(2), int64(14))
		// 2^64 batches at once
		f.Add(uint8(i), int64(math.MinInt64), int64(math.MaxInt64), int64(1), int64(14), int64(14))
		// a product of 2^64
		f.Add(uint8(i), int64(0), int64(1)<<32, int64(1), int64(14), int64(1))
		f.Add(uint8(i), int64(math.MaxInt64), int64(-1), int64(0), int64(1), int64(1))
	}
	f.Fuzz(func(t *testing.T, spec uint8, at, gap1, gap2, cost1, cost2 int64) {
		s := newSubject(t, hugeSpecs[int(spec)%len(hugeSpecs)])
		for i, step := range []struct{ gap, cost int64 }{{0, cost1}, {gap1, cost2}, {gap2, cost1}, {0, cost2},
			{gap1, 1}} {
			at += step.gap // it may wrap around, so that time runs backwards
			cost := max(1, step.cost)
			if cost < 0 || i == 4 && s.quota() > 1000 {
				break
			}
			d := s.ask(t, time.Duration(at), cost)
			if d.Remaining < 0 || d.Reset < 0 || d.Delay < 0 || d.RetryAfter < 0 {
				t.Fatalf("at %d, cost %d: got %+v, want nothing negative", at, cost, d)
			}
			if s.quota() <= 1000 {
				s.checkAfter(t, d, cost)
			}
		}
	})
}

// TestCounterForgetsAfterTwoWindows checks the instants around 2W after a window began. Until then the count
// of that window matters for where windows begin. From then on nothing does.
func TestCounterForgetsAfterTwoWindows(t *testing.T) {
	for _, align := range []string{"first", "clock"} {
		for _, c := range []struct {
			at    time.Duration
			reset time.Duration // of the request at that time, until two windows after its own window began
		}{
			{199, 101},
			{200, 200},
			// The request opens a window of its own, or falls into one of the grid.
			{201, map[string]time.Duration{"first": 200, "clock": 199}[align]},
		} {
			s := newSubject(t, "sliding-window-counter,rate=4/100ns,align="+align)
			for range 4 {
				s.ask(t, 0, 1)
			}
			d := s.ask(t, c.at, 1)
			s.checkAfter(t, d, 1)
			if !d.Allow || d.Reset != c.reset {
				t.Errorf("align=%s at %d: got %+v, want it allowed with reset %d", align, c.at, d, c.reset)
			}
			if c.at >= 200 && d.Remaining != 3 {
				t.Errorf("align=%s at %d: got remaining %d, want 3", align, c.at, d.Remaining)
			}
		}
	}
}
