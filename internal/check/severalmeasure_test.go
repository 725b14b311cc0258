package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestSeveralAreMeasuredEach: if the burst of one policy lies just outside what was measured, and the others
// are kept, nothing explains the recording.
func TestSeveralAreMeasuredEach(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	tried := 0
	for name, limit := range smallLimits() {
		// too many phases
		if len(limit) == 1 || limit.String() == smallLimits()["window + window, phases unknown"].String() {
			continue
		}
		r := rand.New(rand.NewPCG(5, 17))
		for range 100 {
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim, smallShape(r, []int{0, 3, 10}[r.IntN(3)], false))
			j, err := Judge(tl, limit, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if j.Verdict != result.Pass {
				continue
			}
			for i, pol := range limit {
				m := j.Measured.Of(i, len(limit)).Burst
				for value, set := range map[int64]bool{int64(m.Lo) - 1: m.LoSet &&
					m.Lo > 1, int64(m.Hi) + 1: m.HiSet} {
					other := slices.Clone(limit)
					other[i] = pol.WithFull(value)
					if !set || value > 5 { // the log of the oracle holds no more units
						continue
					}
					tried++
					if feasible(t, tl, other...) {
						t.Fatalf("%s: a burst of %d explains what measured %s:\n%s\n%s", name, value, m,
							other, draw(tl))
					}
				}
			}
		}
	}
	if tried < 200 {
		t.Errorf("%d values were tried, want 200", tried)
	}
}

// TestSeveralPassWhereTheRecordingShowsIt: a resolution is demanded of each policy, and reached if both have
// denied.
func TestSeveralPassWhereTheRecordingShowsIt(t *testing.T) {
	limit, err := spec.Parse("token-bucket,rate=100/s,burst=5 + fixed-window,rate=40/1s,phase=0s")
	if err != nil {
		t.Fatal(err)
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{}
	state := lim.Init()
	for i := range 2000 {
		at := time.Duration(i) * 2 * time.Millisecond
		var d reference.Decision
		state, d = lim.Step(state, at, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at - 10*time.Microsecond,
			FirstByte: at + 10*time.Microsecond, Answered: true, Outcome: timeline.Denied}
		if d.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	demanded := Options{Resolution: Resolution{BurstExact: true, Rate: 0.05}}
	j, err := Judge(tl, limit, demanded)
	if err != nil || j.Verdict != result.Pass {
		t.Fatalf("got %s (%s: %s), %v; want a pass; measured %+v", j.Verdict, j.Reason, j.Detail, err,
			j.Measured)
	}
	for i, want := range []string{"5..5", "40..40"} {
		if got := j.Measured.Of(i, 2).Burst.String(); got != want {
			t.Errorf("policy %d: burst measured %s, want %s", i, got, want)
		}
	}
	limit[1].Rate.N = 4000 // a quota that is never reached
	limit[0].Burst = 5
	short := *tl
	short.Observations = slices.DeleteFunc(slices.Clone(tl.Observations),
		func(o timeline.Observation) bool { return o.Sent > 300*time.Millisecond })
	if j, err = Judge(&short, limit, demanded); err != nil || j.Verdict != result.Inconclusive ||
		j.Reason != result.TooFew {
		t.Errorf("got %s (%s), %v; want inconclusive, too-few: a window that never denied was not measured",
			j.Verdict, j.Reason, err)
	}
}

// TestSeveralAreMeasuredOnLongRecordings: the length of a window is measured on the first few thousand
// requests. Denials that another policy explains say nothing about it.
func TestSeveralAreMeasuredOnLongRecordings(t *testing.T) {
	spec := "token-bucket,rate=40/s,burst=5 + fixed-window,rate=30/1s,phase=0s"
	tl := &timeline.Timeline{Observations: traffic(t, rand.New(rand.NewPCG(1, 2)), spec,
		WindowEvents+1000,
		20*time.Millisecond)}
	j := judgeSpec(t, tl, spec)
	if m := j.Measured.Of(1, 2).Rate; j.Verdict != result.Pass || m.Empty() || m.LoSet && m.Lo > 30 ||
		m.HiSet && m.Hi < 30 {
		t.Errorf("got %v, a rate of %s, want one that holds 30", j.Verdict, m)
	}
}

// TestLongerWindowsBeginLater: where a request places windows whose length is a range, they may begin
// anywhere in the longest. A window of 12 ns that begins at -13 ns denies the last request: its two units
// weigh one, and two came since -1 ns.
func TestLongerWindowsBeginLater(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, at := range []time.Duration{-13, -13, -1, 5, 9} {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
			Answered: true, Outcome: timeline.Allowed}
		if at == 9 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	for _, spec := range []string{"sliding-window-counter,rate=3/12ns,align=first,rounding=up",
		"sliding-window-counter,rate=3/10ns..12ns,align=first,rounding=up"} {
		if limit := mustLimit(t, spec+" + fixed-window,rate=100/1us,align=unknown"); accused(t, tl, limit) {
			t.Errorf("%s is accused of what a window of 12 ns does", limit)
		}
	}
}
