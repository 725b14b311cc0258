package check

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestMeasuredWindowHoldsTheTrueOne: another length of window is declared than the limiter has, within reach.
// The measured interval holds the true length. It is mostly narrower than a tenth of it, and no length
// outside explains the recording.
func TestMeasuredWindowHoldsTheTrueOne(t *testing.T) {
	rounds := max(fewer(t, 40), 12)
	for _, text := range []string{"fixed-window,rate=4/100ns,phase=30ns",
		"fixed-window,rate=4/100ns,align=first", "sliding-window-log,rate=4/100ns",
		"sliding-window-log,rate=4/100ns,boundary=closed", "sliding-window-counter,rate=4/100ns,phase=30ns",
		"sliding-window-counter,rate=4/100ns,align=first",
		"fixed-window,rate=4/100ns,align=first,refresh=admitted",
		"fixed-window,rate=4/100ns,align=first,refresh=all"} {
		t.Run(text, func(t *testing.T) {
			limit, err := spec.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(8, 8))
			narrow := 0
			for range rounds {
				p := limit[0]
				p.Rate.Per += time.Duration(r.IntN(41) - 20)
				p.PhaseFrom %= p.ShortestWindow()
				p.PhaseTo = p.PhaseFrom
				lim, err := reference.New(p)
				if err != nil {
					t.Fatal(err)
				}
				tl := honestHistory(r, lim, 80)
				g := Gauge{Ask: &limiter.Scratch{}, Case: &Case{Rec: &history.Recording{}},
					History: newHistory(tl.Observations,
						history.Widening{}, int64(tl.End())),
					Box: history.Interval{From: int64(p.PhaseFrom), To: int64(p.PhaseFrom)}}
				m := g.Window(limit[0])
				true, lo, hi := float64(p.Rate.Per), ends(m.Lo, m.LoSet, 1), ends(m.Hi, m.HiSet, math.Inf(1))
				if true < lo || true > hi {
					t.Fatalf("measured %v..%v, which does not hold %v", lo, hi, true)
				}
				if hi-lo <= true/10 {
					narrow++
				}
				for _, per := range []float64{lo - 1, lo * 0.9, hi + 1, hi * 1.1} {
					if p.Rate.Per = time.Duration(per); per >= 13 && per <= 800 && (per < lo || per > hi) &&
						judged(t, tl, p).Verdict != result.Fail {
						t.Fatalf("measured %v..%v, but %v is not refuted", lo, hi, per)
					}
				}
			}
			if narrow < rounds/2 && limit[0].Refresh != spec.RefreshAll { // only silences tell
				t.Errorf("measured to a tenth in %d of %d histories, want at least half", narrow, rounds)
			}
		})
	}
}

// ends is the end of an interval, or none where it is not set.
func ends(at float64, set bool, none float64) float64 {
	if set {
		return at
	}
	return none
}

// TestWindowsLongBeforeZero: the recording begins long before zero. As many windows as reach back to there at
// their shortest lie beyond all instants at their longest.
func TestWindowsLongBeforeZero(t *testing.T) {
	limit := mustLimit(t, "fixed-window,rate=5/1s,align=unknown")
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	tl, state := &timeline.Timeline{}, lim.Init()
	for i := range time.Duration(200) {
		at := -150_000*time.Hour + i*100*time.Millisecond
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: int(i), Cost: 1, At: at}, Sent: at,
			FirstByte: at, Answered: true, Outcome: timeline.Denied}
		var d reference.Decision
		if state, d = lim.Step(state, at, 1); d.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	j, err := Judge(tl, limit, Options{})
	if err != nil || j.Verdict != result.Pass {
		t.Fatalf("%v, %v", j, err)
	}
	measuresTheTruth(t, "long before zero", j, limit, limit)
}
