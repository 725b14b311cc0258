package trial

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestLargeQuotasAreExact: a quota that takes long to come back is measured exactly in one go, and one that
// is a unit larger fails.
func TestLargeQuotasAreExact(t *testing.T) {
	for _, limit := range []string{"token-bucket,rate=1000/1h,burst=400", "sliding-window-log,rate=5/15m"} {
		short := []scenario.Setting{{Path: "safety.max_duration", Value: "2m"}}
		for _, s := range bundled(t, scenario.ParseOptions{Limit: limit, Set: short}, "burst") {
			if out := virtually(t, s); out.Verdict != result.Pass || out.Unfit == "" {
				t.Errorf("%s: got %s, unfit %q: %s", limit, out.Verdict, out.Unfit, explain(out))
			}
			for _, fault := range []string{"burst-off-by-one", "burst-one-less"} {
				if out := against(t, s, fault); out.Verdict != result.Fail {
					t.Errorf("%s, %s: got %s: %s", limit, fault, out.Verdict, explain(out))
				}
			}
		}
	}
}

// TestWhoeverStaysLockedOutPasses: at 0.9 times these limits requests are denied, so no target passed
// "sustained". A target that admits one more fails it.
func TestWhoeverStaysLockedOutPasses(t *testing.T) {
	for _, limit := range []string{"fixed-window,rate=50/200ms,align=first,refresh=all",
		"fixed-window,rate=50/200ms,align=first,refresh=admitted"} {
		for _, s := range bundled(t, scenario.ParseOptions{Limit: limit}, "sustained") {
			if out := virtually(t, s); out.Verdict != result.Pass || out.Unfit == "" {
				t.Errorf("%s: got %s, unfit %q: %s", limit, out.Verdict, out.Unfit, explain(out))
			}
			if out := against(t, s, "burst-off-by-one"); out.Verdict != result.Fail {
				t.Errorf("%s, a unit more: got %s: %s", limit, out.Verdict, explain(out))
			}
		}
	}
}
