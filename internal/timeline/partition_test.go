package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered makes n observations of 16 partitions.
func numbered(n int) *Timeline {
	t := &Timeline{Observations: make([]Observation, n)}
	for i := range t.Observations {
		t.Observations[i].Arrival = Arrival{Seq: i, Partition: fmt.Sprint("client-", i%16)}
	}
	return t
}

func TestOnePartitionIsNotCopied(t *testing.T) {
	tl := numbered(16)
	for i := range tl.Observations {
		tl.Observations[i].Partition = "k"
	}
	parts := tl.ByPartition()
	if len(parts) != 1 || parts[0].Partition != "k" || len(parts[0].Observations) != 16 ||
		&parts[0].Observations[0] != &tl.Observations[0] {
		t.Errorf("got %d parts, want the observations themselves", len(parts))
	}
	if parts := (&Timeline{}).ByPartition(); parts != nil {
		t.Errorf("nothing gives %v, want nil", parts)
	}
}

func TestPartitionsAscendAndKeepTheirOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, names := range []int{2, 3, 50, 100_000} {
		tl := numbered(names + 50)
		for i := range tl.Observations {
			tl.Observations[i].Partition = fmt.Sprint(rng.IntN(names))
		}
		parts := tl.ByPartition()
		if !slices.IsSortedFunc(parts,
			func(a, b Part) int { return map[bool]int{true: -1, false: 1}[a.Partition < b.Partition] }) {
			t.Errorf("%d partitions do not ascend", names)
		}
		seen := 0
		for _, p := range parts {
			for i, o := range p.Observations {
				if o.Partition != p.Partition || i > 0 && o.Seq <= p.Observations[i-1].Seq {
					t.Fatalf("partition %q: observation %d is %+v", p.Partition, i, o)
				}
			}
			if len(p.Observations) == 0 || cap(p.Observations) != len(p.Observations) {
				t.Fatalf("partition %q: %d observations, room for %d", p.Partition, len(p.Observations),
					cap(p.Observations))
			}
			seen += len(p.Observations)
		}
		if seen != len(tl.Observations) {
			t.Errorf("%d observations in parts, want %d", seen, len(tl.Observations))
		}
	}
}
