package trial

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestLargeQuotasAreExact: a quota that takes long to come back is measured exactly in one go, and one that
// is a unit larger fails.
func TestLargeQuotasAreExact(t *testing.T) {
	for _, limit := range []string{"token-bucket,rate=1000/1h,burst=400", "sliding-window-log,rate=5/15m"} {
		short := []tree.Setting{{Path: "safety.max_duration", Value: "2m"}}
		for _, s := range bundled(t, grammar.Options{Limit: limit, Set: short}, "burst") {
			if out := virtually(t, s); out.Verdict != verdict.Pass || out.Unfit == "" {
				t.Errorf("%s: got %s, unfit %q: %s", limit, out.Verdict, out.Unfit, explain(out))
			}
			for _, fault := range []string{"burst-off-by-one", "burst-one-less"} {
				if out := against(t, s, fault); out.Verdict != verdict.Fail {
					t.Errorf("%s, %s: got %s: %s", limit, fault, out.Verdict, explain(out))
				}
			}
		}
	}
}
