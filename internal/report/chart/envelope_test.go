package chart

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/report/sample"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestPrefixMaxIsThatOfASlice(t *testing.T) {
	d := sample.Dice(1)
	for n := 1; n < 20; n++ {
		tree, plain, started := newPrefixMax(n), make([]float64, n), make([]bool, n)
		for range 60 {
			k := int(d.Next(int64(n)))
			if x := float64(d.Next(50)); !started[k] {
				tree.start(k, x)
				plain[k] += x
				started[k] = true
			}
			k, x := int(d.Next(int64(n))), float64(d.Next(9))
			tree.add(k, x)
			want := math.Inf(-1)
			for i := range plain {
				if i <= k {
					plain[i] += x
				}
				if started[i] {
					want = max(want, plain[i])
				}
			}
			if got := tree.max(); got != want {
				t.Fatalf("n=%d: got %v, want %v", n, got, want)
			}
		}
	}
}

// observed sends random requests to the reference limiter of spec. Each is decided somewhere in its interval.
// They are decided in that order.
func observed(t *testing.T, text string, d *sample.Dice, started time.Time) (spec.Limit, *timeline.Timeline) {
	t.Helper()
	limit := sample.Limit(t, text)
	limiter, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	type request struct{ s, d, e time.Duration }
	requests := make([]request, 120)
	at, latency := time.Duration(0), 1+d.Next(int64(300*time.Millisecond))
	for i := range requests {
		at += time.Duration(d.Next(int64(60 * time.Millisecond)))
		r := request{s: at}
		r.d = r.s + time.Duration(d.Next(latency))
		r.e = r.d + time.Duration(d.Next(latency))
		requests[i] = r
	}
	slices.SortFunc(requests, func(a, b request) int { return cmp.Compare(a.d, b.d) })
	tl := &timeline.Timeline{Header: timeline.Header{Started: started, WallError: 3 * time.Millisecond}}
	state := limiter.Init()
	for i, r := range requests {
		zero := time.Duration(0)
		if limit[0].Align == spec.AlignClock || limit[0].Align == spec.AlignUnknown {
			zero = time.Duration(started.UnixNano())
		}
		var got reference.Decision
		state, got = limiter.Step(state, zero+r.d, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: r.s, FirstByte: r.e,
			Answered: true, Outcome: timeline.Denied}
		if got.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	return limit, tl
}

var chartedSpecs = []string{
	"token-bucket,rate=10/s,burst=5", "gcra,rate=100/3s,burst=1", "leaky-bucket,rate=7/s,burst=9",
	"leaky-bucket-queue,rate=10/s,queue=4", "token-bucket,rate=10/s,burst=5,refill=interval,fill=3",
	"sliding-window-log,rate=8/700ms", "fixed-window,rate=8/700ms,align=clock",
	"fixed-window,rate=8/700ms,align=first", "fixed-window,rate=8/700ms,align=unknown",
	"fixed-window,rate=8/700ms,phase=200ms", "sliding-window-counter,rate=8/700ms,align=clock",
	"sliding-window-counter,rate=8/700ms,align=unknown", "token-bucket,rate=10/s,burst=5,start=empty",
	"token-bucket,rate=20/s,burst=9 + sliding-window-log,rate=8/700ms",
}

// TestRightLimitersStayBelowTheDrawnBounds: the bound that a chart calls the most possible must hold for
// every right limiter, whatever the latency. Otherwise the chart accuses it.
func TestRightLimitersStayBelowTheDrawnBounds(t *testing.T) {
	d := sample.Dice(20)
	started := time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC)
	for _, spec := range chartedSpecs {
		tight := false
		for range 30 {
			limit, tl := observed(t, spec, &d, started)
			all := admissions(tl.Observations, tl.Header, 0)
			sum := 0.0
			for _, a := range all {
				sum += a.cost
				if most := limitBy(limit, tl.Header, 0, a.e); sum > most {
					t.Fatalf("%s: %v admitted by %v, the envelope says at most %v", spec, sum, a.e, most)
				}
			}
			s := result.Scenario{Limit: limit, Header: tl.Header, Timeline: tl}
			for i, p := range limit {
				w, _ := windowsOf(&s, i, timeline.Part{Observations: tl.Observations})
				u := inUse(p, all, w)
				if u.left != "" && len(limit) == 1 {
					t.Fatalf("%s: not drawn: %s", p, u.left)
				}
				if got := u.share(); got > 1+1e-6 {
					t.Fatalf("%s: %v %s, the chart says at most %v", p, got*u.most, u.what, u.most)
				}
				tight = tight || u.share() > 0.5
			}
		}
		if !tight && reaches(spec) {
			t.Errorf("%s: no run came near the drawn bound: it shows nothing", spec)
		}
	}
}

// TestABatchIsWithinTheBound: a batch that arrives between two requests lets more through at once than the
// bucket holds. The bound must allow that.
func TestABatchIsWithinTheBound(t *testing.T) {
	limit := sample.Limit(t, "token-bucket,rate=10/s,burst=5,refill=interval,fill=3")
	limiter, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	var all []admission
	state, got := limiter.Init(), reference.Decision{}
	for _, at := range []time.Duration{0, 299, 299, 299, 299, 299, 301, 301, 301, 301} {
		at *= time.Millisecond
		if state, got = limiter.Step(state, at, 1); got.Allow {
			all = append(all, admission{at, at, 1})
		}
	}
	u := inUse(limit[0], all, windows{})
	if got := peak(u.points); got < 6 || got > u.most {
		t.Errorf("in use: got at most %v, want more than the burst of 5 and no more than %v", got, u.most)
	}
}

// reaches tells whether such even traffic comes near the drawn bound. It does not where the bound is that of
// two windows, or where the bucket starts empty.
func reaches(text string) bool {
	l, _ := spec.Parse(text)
	return l[0].Start != spec.StartEmpty &&
		(!l[0].Windowed() || l[0].Align == spec.AlignClock || l[0].Align == spec.AlignPhase)
}

// TestUnitsInUseFollowTheirDefinition compares the units in use with their definition: the largest excess
// over all spans that end at y.
func TestUnitsInUseFollowTheirDefinition(t *testing.T) {
	d := sample.Dice(5)
	limit, tl := observed(t, "token-bucket,rate=10/s,burst=5", &d, time.Time{})
	all := admissions(tl.Observations, tl.Header, 0)
	certain := func(x, y time.Duration) (n float64) {
		for _, a := range all {
			if a.s >= x && a.e <= y {
				n += a.cost
			}
		}
		return n
	}
	bucket := inBucket(all, limit[0].Rate)
	log := inSpan(all, 700*time.Millisecond)
	for _, y := range all {
		want := 0.0
		for _, x := range all {
			if x.s <= y.e {
				want = max(want, certain(x.s, y.e)-(y.e-x.s).Seconds()*10)
			}
		}
		if got := lastAt(bucket, y.e); math.Abs(got-want) > 1e-6 {
			t.Fatalf("bucket at %v: got %v, want %v", y.e, got, want)
		}
		if got, want := lastAt(log, y.e), certain(y.e-700*time.Millisecond+1, y.e); got != want {
			t.Fatalf("log at %v: got %v, want %v", y.e, got, want)
		}
	}
	for _, points := range [][]point{bucket, log, inWindow(all, 300*time.Millisecond, 0, 0)} {
		if !slices.IsSortedFunc(points, func(a, b point) int { return cmp.Compare(a.t, b.t) }) {
			t.Error("points run backwards")
		}
	}
}

// lastAt is the value of a line just after t.
func lastAt(points []point, t time.Duration) float64 {
	v := 0.0
	for _, p := range points {
		if p.t <= t {
			v = p.v
		}
	}
	return v
}

func TestWindowsAreCountedApart(t *testing.T) {
	ms := time.Millisecond
	all := []admission{{s: 10 * ms, e: 20 * ms, cost: 1}, {s: 90 * ms, e: 99 * ms, cost: 1},
		{s: 95 * ms, e: 105 * ms, cost: 1}, {s: 110 * ms, e: 120 * ms, cost: 2}}
	points := inWindow(all, 100*ms, 0, 0)
	for at, want := range map[time.Duration]float64{20 * ms: 1, 99 * ms: 2, 100 * ms: 0, 119 * ms: 0,
		120 * ms: 2, 200 * ms: 0} {
		if got := lastAt(points, at); got != want {
			t.Errorf("in use at %v: got %v, want %v", at, got, want)
		}
	}
	// A phase known to 10 ms leaves open in which window the second request was decided.
	if got := lastAt(inWindow(all, 100*ms, -10*ms, 0), 99*ms); got != 0 {
		t.Errorf("with an open phase: got %v in use at 99 ms, want 0", got)
	}
}

func TestDecimateKeepsTheExtremes(t *testing.T) {
	d := sample.Dice(9)
	var points []point
	for i := range 50_000 {
		points = append(points, point{time.Duration(i) * time.Millisecond, float64(d.Next(1000))})
	}
	points[31_415].v = 5000
	c := clock{end: 50 * time.Second, unit: "s", one: 1e9}
	out := decimate(points, c.scale(frame{0, 0, 500, 100}), c)
	if len(out) > 4*501 || peak(out) != 5000 || out[0] != points[0] ||
		out[len(out)-1] != points[len(points)-1] {
		t.Errorf("got %d points with peak %v, want at most 2004, the peak 5000 and both ends", len(out),
			peak(out))
	}
}
