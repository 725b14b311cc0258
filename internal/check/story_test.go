package check

import (
	"math/rand/v2"
	"testing"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestStoriesAreExplanations: the exact search refutes nothing of which a story was told. Where requests do not overlap a
// story is told of all that the search does not refute, and of half of it where they often do.
func TestStoriesAreExplanations(t *testing.T) {
	for name, limit := range smallLimits() {
		p := limit[0]
		b, ok := newBound(p, 0, 0).(bucket)
		if len(limit) != 1 || !ok || b.startLeast < b.burst || b.all || b.batched {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lim, err := reference.NewLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			told, sound, refuted, apart := 0, 0, 0, 0
			var st story
			for round := range 3000 {
				r := rand.New(rand.NewPCG(soakSeed+3, uint64(round)))
				late := r.IntN(4)
				if round%2 == 1 {
					late = r.IntN(40)
				}
				tl := randomHistory(r, lim, shape{requests: 2 + r.IntN(12), gap: 1 + r.IntN(20), late: late})
				h := newHistory(tl.Observations, widen(tl.Header, p.Tick, p.TickSet), int64(tl.End()))
				explained := st.told(b, h)
				x := newExact(h, p, 0)
				impossible := x.search() != nil
				switch {
				case explained && impossible:
					t.Fatalf("round %d: a story was told of what the search refutes:\n%s", round, draw(tl))
				case !explained && !impossible && b.n == 1 && serial(h):
					t.Fatalf("round %d: no story of what the search does not refute:\n%s", round, draw(tl))
				case impossible:
					refuted++
				case late < 4:
					if serial(h) {
						apart++
					}
					sound++
					if explained {
						told++
					}
				}
			}
			if told*2 < sound || refuted < 300 || sound < 300 || apart < 10 {
				t.Errorf("%d of %d explained histories were told, %d without an overlap, %d refuted", told, sound, apart, refuted)
			}
		})
	}
}

// serial tells whether the requests of h were known, and decided one after the other.
func serial(h *history) bool {
	for i := range h.all {
		if h.all[i].outcome == timeline.Unknown || i > 0 && h.all[i-1].e >= h.all[i].s {
			return false
		}
	}
	return true
}
