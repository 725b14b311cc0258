package check

import (
	"math/rand/v2"
	"testing"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/reference"
)

// violated applies the definition: some closed span has more units certainly admitted inside it than it has
// room for.
func violated(h *history.History, b limiter.Bucket) bool {
	for _, first := range h.Admitted {
		for _, last := range h.Admitted {
			var units int64
			for _, ev := range h.Admitted {
				if ev.Start >= first.Start && ev.End <= last.End {
					units += ev.Cost
				}
			}
			if last.End >= first.Start && units*b.Per-(last.End-first.Start)*b.N > b.Room() {
				return true
			}
		}
	}
	return false
}

// TestBucketOverIsItsDefinition: the sweep drops no start of a span that is violated.
func TestBucketOverIsItsDefinition(t *testing.T) {
	for name, p := range smallPolicies() {
		b, ok := limiter.NewBound(p, 0, 0).(limiter.Bucket)
		if !ok || b.StartMost < b.Burst {
			continue
		}
		lim, err := reference.New(p)
		if err != nil {
			t.Fatal(err)
		}
		broken := 0
		for round := range fewer(t, 2000) {
			r := rand.New(rand.NewPCG(4, uint64(round)))
			tl := randomHistory(r, lim, shape{requests: 3 + r.IntN(40), gap: 1 + r.IntN(40), late: r.IntN(90),
				costs: r.IntN(2) == 0 && b.Burst > 1})
			h := newHistory(tl.Observations, history.Widening{}, int64(tl.End()))
			want := violated(h, b)
			if got := b.Over(h) != nil; got != want {
				t.Fatalf("%s, round %d: got %v, want %v\n%s", name, round, got, want, draw(tl))
			}
			if want {
				broken++
			}
		}
		if broken < fewer(t, 2000)/20 {
			t.Errorf("%s: only %d histories are violated", name, broken)
		}
	}
}
