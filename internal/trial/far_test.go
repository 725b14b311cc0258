package trial

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// farNet is a network whose targets are 80 to 120 ms away, there and back.
type farNet struct{ *lab.PipeNetwork }

func (n farNet) Listen(h http.Handler) (string, func() error, error) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	way := func() {
		mu.Lock()
		d := 40*time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		mu.Unlock()
		time.Sleep(d)
	}
	return n.PipeNetwork.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		way()
		h.ServeHTTP(w, r)
		way()
	}))
}

// farAway records the bundled scenarios with a far token bucket; only one of them where it is named.
func farAway(t *testing.T, only string) []result.Scenario {
	t.Helper()
	var all []result.Scenario
	for _, s := range bundled(t, scenario.ParseOptions{Limit: "token-bucket,rate=10/s,burst=20"}) {
		tooLong := s.ID == "acceptance" || s.ID == "endurance" || s.ID == "overload-10x"
		if only != "" && s.ID != only || testing.Short() && tooLong {
			continue
		}
		var out result.Scenario
		synctest.Test(t, func(*testing.T) {
			out = Scenario(context.Background(), s,
				Options{ID: "m", Seed: 1, Embed: embedded, Network: farNet{new(lab.PipeNetwork)},
					Pacer: transport.SleepingPacer()})
			time.Sleep(time.Minute)
		})
		all = append(all, out)
	}
	return all
}

// TestARunResolvesWhatOneScenarioCannot: an answer takes as long as a unit takes to come back, so that a
// burst alone is not told from one of one unit less. The other scenarios of the run tell it.
func TestARunResolvesWhatOneScenarioCannot(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	alone := farAway(t, "")
	policy, together := Together(alone)
	if policy == nil || policy.Measured.Burst.String() != "20..20" || policy.Contradiction != nil {
		t.Fatalf("got the policy %+v, want a burst of 20..20", policy)
	}
	resolved := 0
	for i := range together {
		s := &together[i]
		waits := s.ID == "retry-after" && s.Verdict != result.Pass // they show although no client is denied
		if strings.Contains(s.Detail, "known to be 19..20") || s.Verdict == result.Fail || waits {
			t.Errorf("%s: got %s, %s", s.ID, s.Verdict, s.Detail)
		}
		if len(s.ResolvedBy) == 0 {
			continue
		}
		resolved++
		if alone[i].Verdict != result.Inconclusive || s.Verdict != result.Pass ||
			!strings.Contains(s.Claims[0].Text, "resolved by "+s.ResolvedBy[0]) {
			t.Errorf("%s: got %s by %v, %q", s.ID, s.Verdict, s.ResolvedBy, s.Claims[0].Text)
		}
		if s.ID == "identity-isolation" {
			t.Error("identity-isolation: nothing was denied in it, and others do not show what it did not")
		}
	}
	if resolved < 2 {
		t.Errorf("%d scenarios are resolved by others, want burst and more", resolved)
	}
}

// TestACoarseRecordingSaysWhy: the detail of what stays unresolved names what limits it, and the mend helps.
func TestACoarseRecordingSaysWhy(t *testing.T) {
	_, together := Together(farAway(t, "burst"))
	s := &together[0]
	if _, mend := s.Coarse(); !Unresolved(s) || !strings.Contains(mend, "run more scenarios") ||
		!strings.Contains(s.Detail, "an answer took ") || !strings.Contains(s.Detail, "gives back ") {
		t.Errorf("got %s, %q, mend %q", s.Verdict, s.Detail, mend)
	}
}
