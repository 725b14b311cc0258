package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// observed sends random requests to the reference limiter of spec. Each is decided somewhere in its interval.
// They are decided in that order.
func observed(t *testing.T, text string, d *Dice, started time.Time) (spec.Limit, *timeline.Timeline) {
	t.Helper()
	limit := Limit(t, text)
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
	d := Dice(20)
	started := time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC)
	for _, spec := range chartedSpecs {
		tight := false
		for range 30 {
			limit, tl := observed(t, spec, &d, started)
			all := admissions(tl.Observations)
			sum := 0.0
			for _, a := range all {
				sum += float64(a.cost)
				if most := limitBy(limit, tl.Header, 0, a.e); sum > most {
					t.Fatalf("%s: %v admitted by %v, the envelope says at most %v", spec, sum, a.e, most)
				}
			}
			s := result.Scenario{Limit: limit, Header: tl.Header, Timeline: tl}
			u := viewOf(&s, limit, timeline.Part{Observations: tl.Observations}, newClock(tl)).use
			if u.share() > 1 {
				t.Fatalf("%s: %v in use, the chart says at most %v", spec, peak(u.points), u.most)
			}
			tight = tight || u.share() > 0.5 || u.left != ""
		}
		if !tight && !strings.Contains(spec, "start=empty") {
			t.Errorf("%s: no run came near the drawn bound: it shows nothing", spec)
		}
	}
}

// TestUnitsInUseAreThoseOfTheLimiter: at the instants at which a limiter decided, what is in use is what it
// says that remains, even where the judge proved that too many were admitted.
func TestUnitsInUseAreThoseOfTheLimiter(t *testing.T) {
	d := Dice(5)
	for _, text := range chartedSpecs[:len(chartedSpecs)-1] {
		p := Limit(t, text)[0]
		if p.Windowed() && p.Align != spec.AlignFirst {
			p.Align, p.PhaseFrom = spec.AlignPhase, 200*time.Millisecond
			p.PhaseTo = p.PhaseFrom
		}
		limiter, err := reference.New(p)
		if err != nil {
			t.Fatal(err)
		}
		var all []admission
		var want []float64
		state, at := limiter.Init(), time.Duration(0)
		for range 200 {
			at += time.Duration(d.Next(int64(60 * time.Millisecond)))
			next, got := limiter.Step(state, at, 1)
			if got.Allow {
				state, all = next, append(all, admission{at, 1})
				want = append(want, float64(p.Full()-got.Remaining))
			}
		}
		w := windows{how: "declared"}
		w.Every, w.Begin.From, w.Begin.To = p.Rate.Per, p.PhaseFrom, p.PhaseTo
		u := inUse(p, all, w, true, clock{end: at})
		for i, a := range all {
			if got := lastAt(u.points, a.e); i+1 < len(all) && all[i+1].e > a.e && got != want[i] {
				t.Fatalf("%s: at %v: got %v in use, want %v", text, a.e, got, want[i])
			}
		}
		if !slices.IsSortedFunc(u.points, func(a, b point) int { return cmp.Compare(a.t, b.t) }) {
			t.Errorf("%s: points run backwards", text)
		}
	}
}

// TestWhatIsTooMuchLeavesAgain: what the reference limiter denies is above the bound only where the judge
// proved it, for one window or until the bucket is full again.
func TestWhatIsTooMuchLeavesAgain(t *testing.T) {
	ms := time.Millisecond
	all := []admission{{0, 1}, {ms, 2}, {2 * ms, 1}, {101 * ms, 1}, {900 * ms, 1}}
	for text, want := range map[string][]float64{
		"sliding-window-log,rate=2/100ms": {1, 3, 4, 2, 1}, "token-bucket,rate=10/s,burst=2": {1, 3, 4, 4, 1},
	} {
		p := Limit(t, text)[0]
		for _, proved := range []bool{true, false} {
			u := inUse(p, all, windows{}, proved, clock{end: time.Second})
			for i, a := range all {
				most := want[i]
				if !proved {
					most = min(most, 2)
				}
				if got := math.Ceil(lastAt(u.points, a.e)); got > most || proved && got != most {
					t.Errorf("%s, proved %v, at %v: got %v in use, want %v", text, proved, a.e, got, most)
				}
			}
			if got := lastAt(u.points, time.Second); got > 1 {
				t.Errorf("%s: %v in use at the end", text, got)
			}
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

func TestDecimateKeepsTheExtremes(t *testing.T) {
	d := Dice(9)
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
