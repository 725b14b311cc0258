package trial

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestEveryPartitioningPasses: however clients are told apart, the embedded target tells them apart the same
// way: the two phases of sustained have partitions of their own, and one quota for both would be seen.
func TestEveryPartitioningPasses(t *testing.T) {
	for _, partition := range []string{"header:X-Tenant", "path", "query:key"} {
		for _, s := range bundled(t,
			scenario.ParseOptions{Partition: partition, Limit: "token-bucket,rate=50/s,burst=5"}, "burst",
			"sustained") {
			if s.ID != "sustained" && s.ID != "burst" {
				continue
			}
			t.Run(s.ID+"/"+partition, func(t *testing.T) {
				if out := virtually(t, s); out.Verdict != result.Pass {
					t.Errorf("got %s, want pass: %s", out.Verdict, explain(out))
				}
			})
		}
	}
}
