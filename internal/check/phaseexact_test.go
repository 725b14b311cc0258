//go:build unix

package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestBoxesSearchedTogetherAreRefutedApart: if all phases of a box are refuted at once, each of them is
// refuted alone.
func TestBoxesSearchedTogetherAreRefutedApart(t *testing.T) {
	refuted, survived := 0, 0
	for name, limit := range smallLimits() {
		if len(limit) > 1 || !limit[0].Windowed() || limit[0].Align == spec.AlignFirst {
			continue
		}
		r := rand.New(rand.NewPCG(21, 34))
		for range fewer(t, 150) {
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim,
				shape{requests: 3 + r.IntN(6), gap: 20, late: 30, costs: r.IntN(3) == 0})
			h := NewCase(history.RecordingOf(tl), limit, Options{}).Parts[0].Histories[0]
			from := r.Int64N(20)
			b := Cell{Interval: history.Interval{From: from, To: from + r.Int64N(12)},
				Policy: limit[0]}
			s := &PhaseSearch{Policy: limit[0], Group: &Group{Parts: []*history.History{h}}}
			s.Begin(history.Interval{From: 0, To: 19})
			s.Reach = history.MaxTime
			if _, ok := s.Together(b); !ok {
				survived++
				continue
			}
			refuted++
			for at := b.From; at <= b.To; at++ {
				br, _, judged := search.Unexplainable(h, limit[0], at, search.VisitCap)
				if br == nil && judged == search.JudgedAll {
					t.Fatalf("%s: phases %d..%d are refuted together, but not %d:\n%s", name, b.From, b.To,
						at, draw(tl))
				}
			}
		}
	}
	if refuted == 0 || survived == 0 {
		t.Errorf("%d boxes were refuted, %d not: one side was not tried", refuted, survived)
	}
}

// TestPhaseOfARightLimiterIsFoundSoon: the search finds a phase that explains a long recording without
// looking at every phase that does not.
func TestPhaseOfARightLimiterIsFoundSoon(t *testing.T) {
	for _, text := range []string{"fixed-window,rate=200/100ms", "sliding-window-counter,rate=200/100ms"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p := knownLimit(rand.New(rand.NewPCG(1, 2)), limit)[0]
		tl := &timeline.Timeline{Observations: offeredLate(p, 3000, 1, int64(4*time.Millisecond))}
		h := newHistory(tl.Observations, history.Widening{}, int64(tl.End()))
		s := &PhaseSearch{Policy: limit[0], Group: &Group{Parts: []*history.History{h}}}
		box, _ := PhasesOf(limit[0], tl.Header)
		if _, ok := s.Refute(box); ok || s.Limited {
			t.Errorf("%s: got refuted %v, limited %v", text, ok, s.Limited)
		}
		if boxes := MostBoxes - s.Boxes; boxes > 64 || s.Tried() > 1<<19 {
			t.Errorf("%s: %d boxes, %d decisions were tried, want few", text, boxes, s.Tried())
		}
	}
}

// TestPhasesBeyondNumberAreGivenUp: a clock that ticks in seconds leaves a thousand million phases to be
// refuted, a few hundred at a time. The search ends soon and says so.
func TestPhasesBeyondNumberAreGivenUp(t *testing.T) {
	limit, err := spec.Parse("sliding-window-counter,rate=100/1m,rounding=nearest,tick=1s")
	if err != nil {
		t.Fatal(err)
	}
	tl := (&fuzzReader{[]byte("0000Yz0\t\t\t\t)" +
		"\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t)\t\t\t\t\t\t\t)\t\t\t)\\t")}).timeline()
	c := NewCase(history.RecordingOf(tl), limit, Options{})
	s := c.NewSearch(&Group{Parts: c.Parts[0].Histories})
	box, _ := PhasesOf(limit[0], tl.Header)
	if _, ok := s.Refute(box); ok || !s.Capped || s.Tried() > StepBudget/4 {
		t.Errorf("refuted %v, capped %v, %d decisions were tried, want no more than %d",
			ok, s.Capped, s.Tried(), StepBudget/4)
	}
}
