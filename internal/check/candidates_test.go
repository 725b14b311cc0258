package check

import (
	"math/rand/v2"
	"testing"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// violated asks the definition: some closed span has more units certainly admitted inside than it has room
// for.
func violated(h *history, b bucket) bool {
	for _, first := range h.admitted {
		for _, last := range h.admitted {
			var units int64
			for _, ev := range h.admitted {
				if ev.s >= first.s && ev.e <= last.e {
					units += ev.cost
				}
			}
			if last.e >= first.s && units*b.per-(last.e-first.s)*b.n > b.room() {
				return true
			}
		}
	}
	return false
}

// TestBucketOverIsItsDefinition: the sweep forgets no start of a span that is violated.
func TestBucketOverIsItsDefinition(t *testing.T) {
	for name, p := range smallPolicies() {
		b, ok := algorithmBound(p, 0, 0, false).(bucket)
		if !ok || b.startMost < b.burst {
			continue
		}
		lim, err := reference.New(p)
		if err != nil {
			t.Fatal(err)
		}
		broken := 0
		for round := range fewer(2000) {
			r := rand.New(rand.NewPCG(4, uint64(round)))
			tl := randomHistory(r, lim, shape{requests: 3 + r.IntN(40), gap: 1 + r.IntN(40), late: r.IntN(90),
				costs: r.IntN(2) == 0 && b.burst > 1})
			h := newHistory(tl.Observations, widening{}, int64(tl.End()))
			want := violated(h, b)
			if got := b.over(h) != nil; got != want {
				t.Fatalf("%s, round %d: got %v, want %v\n%s", name, round, got, want, draw(tl))
			}
			if want {
				broken++
			}
		}
		if broken < fewer(2000)/20 {
			t.Errorf("%s: only %d histories are violated", name, broken)
		}
	}
}
