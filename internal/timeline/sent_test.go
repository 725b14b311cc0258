package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSortBySentIsStable: any recording is put into the same order as a stable sort by BySent gives.
func TestSortBySentIsStable(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		got := make([]Observation, random.IntN(30))
		for i := range got {
			got[i].Status, got[i].Sent, got[i].Seq = i, time.Duration(random.IntN(9)), random.IntN(3)
		}
		want := slices.Clone(got)
		slices.SortStableFunc(want, BySent)
		SortBySent(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: want (-), got (+):\n%s", seed, diff)
		}
	}
}
