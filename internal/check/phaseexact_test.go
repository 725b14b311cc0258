//go:build unix

package check

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestBoxesSearchedTogetherAreRefutedApart: what is refuted for all phases of a box at once is refuted under
// each of them.
func TestBoxesSearchedTogetherAreRefutedApart(t *testing.T) {
	refuted, survived := 0, 0
	for name, limit := range smallLimits() {
		if len(limit) > 1 || !limit[0].Windowed() || limit[0].Align == spec.AlignFirst {
			continue
		}
		r := rand.New(rand.NewPCG(21, 34))
		for range fewer(150) {
			lim, err := reference.NewLimit(knownLimit(r, limit))
			if err != nil {
				t.Fatal(err)
			}
			tl := randomHistory(r, lim,
				shape{requests: 3 + r.IntN(6), gap: 20, late: 30, costs: r.IntN(3) == 0})
			h := newCase(tl, limit, Options{}).parts[0].histories[0]
			from := r.Int64N(20)
			b := cell{phases{from, from + r.Int64N(12)}, limit[0]}
			s := &search{policy: limit[0], group: &group{parts: []*history{h}}}
			s.begin(phases{0, 19})
			s.reach = maxTime
			if _, ok := s.together(b); !ok {
				survived++
				continue
			}
			refuted++
			for at := b.from; at <= b.to; at++ {
				br, _, judged := unexplainable(h, limit[0], at, visitCap)
				if br == nil && judged == judgedAll {
					t.Fatalf("%s: phases %d..%d are refuted together, but not %d:\n%s", name, b.from, b.to,
						at, draw(tl))
				}
			}
		}
	}
	if refuted == 0 || survived == 0 {
		t.Errorf("%d boxes were refuted, %d not: one side was not tried", refuted, survived)
	}
}

// TestPhaseOfARightLimiterIsFoundSoon: a phase that explains a long recording is found without looking at
// every phase that does not.
func TestPhaseOfARightLimiterIsFoundSoon(t *testing.T) {
	for _, text := range []string{"fixed-window,rate=200/100ms", "sliding-window-counter,rate=200/100ms"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p := knownLimit(rand.New(rand.NewPCG(1, 2)), limit)[0]
		tl := &timeline.Timeline{Observations: offeredLate(p, 3000, 1, int64(4*time.Millisecond))}
		h := newHistory(tl.Observations, widening{}, int64(tl.End()))
		s := &search{policy: limit[0], group: &group{parts: []*history{h}}}
		box, _ := phasesOf(limit[0], tl.Header)
		if _, ok := s.refute(box); ok || s.limited {
			t.Errorf("%s: got refuted %v, limited %v", text, ok, s.limited)
		}
		if boxes := mostBoxes - s.boxes; boxes > 64 || s.tried() > 1<<19 {
			t.Errorf("%s: %d boxes, %d decisions were tried, want few", text, boxes, s.tried())
		}
	}
}

// TestPhasesBeyondNumberAreGivenUp: where a clock of seconds leaves a thousand million phases to be refuted a
// few hundred at a time, the search ends soon, and says so.
func TestPhasesBeyondNumberAreGivenUp(t *testing.T) {
	limit, err := spec.Parse("sliding-window-counter,rate=100/1m,rounding=nearest,tick=1s")
	if err != nil {
		t.Fatal(err)
	}
	tl := (&fuzzReader{[]byte("0000Yz0\t\t\t\t)" +
		"\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t)\t\t\t\t\t\t\t)\t\t\t)\\t")}).timeline()
	c := newCase(tl, limit, Options{})
	s := c.newSearch(&group{parts: c.parts[0].histories})
	box, _ := phasesOf(limit[0], tl.Header)
	if _, ok := s.refute(box); ok || !s.capped || s.tried() > stepBudget/4 {
		t.Errorf("refuted %v, capped %v, %d decisions were tried, want no more than %d",
			ok, s.capped, s.tried(), stepBudget/4)
	}
}
