package identify

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// parsed is a limit.
func parsed(t *testing.T, text string) spec.Limit {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// usualBudget is the default budget of the command.
func usualBudget() Options {
	return Options{Fresh: true,
		Budget: Budget{MaxRequests: 400, Every: 20 * time.Millisecond, MaxTime: 5 * time.Minute}}
}

// TestLimitsThatAreNotAskedHaveNoName: two limits at once, bans, and buckets that start low or that a timer
// fills are something else. The answer is none of the kinds or open, and all that it lists stands.
func TestLimitsThatAreNotAskedHaveNoName(t *testing.T) {
	soon := []string{"token-bucket,rate=2/s,burst=5 + sliding-window-log,rate=30/1m",
		"sliding-window-log,rate=4/1s,ban=500ms"}
	all := []string{"fixed-window,rate=5/s,align=first + fixed-window,rate=20/1m,align=first",
		"sliding-window-log,rate=10/1s,ban=500ms", "token-bucket,rate=5/s,burst=5,ban=3s",
		"leaky-bucket,rate=5/s,burst=10,start=empty", "token-bucket,rate=2/s,burst=4,start=3",
		"token-bucket,rate=5/1s,burst=10,refill=interval,fill=5", "sliding-window-log,rate=10/4s,ttl=1s"}
	if testing.Short() {
		soon, all = soon[1:], nil
	}
	if os.Getenv("RLCHECK_SOAK") == "" {
		all = nil
	}
	for _, text := range append(soon, all...) {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			res := Identify(t.Context(), simulate(t, parsed(t, text), 7), usualBudget())
			t.Logf("%s after %d requests", res.Summary(), len(res.Timeline.Observations))
			fits(t, res)
			if res.Verdict == Identified {
				t.Errorf("got %s, want no name", res.Summary())
			}
			for _, c := range res.Found {
				if !Asker(nil).Explains(res.Timeline, c.Limit) {
					t.Errorf("%s is told, and its own recording refutes it", c.Limit)
				}
			}
		})
	}
}

// policied is a target whose answers state several limits.
type policied struct {
	*simulated
	told string
}

func (s policied) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	all, err := s.simulated.Send(ctx, p)
	for i := range all {
		all[i].Fields = timeline.Fields{{Name: "Ratelimit-Policy", Value: s.told}}
	}
	return all, err
}

// A limit that is stated beside the found one is reached where the budget allows, and found. Otherwise the
// answer states it, with what it takes to reach it. If it does not exist, it is not believed.
func TestALimitThatIsToldBesideIsReached(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	const bucket = "token-bucket,rate=5/s,burst=6"
	for _, tt := range []struct{ truth, told, also string }{
		{bucket + " + fixed-window,rate=150/1h,align=first", "6;w=1, 150;w=3600", ""},
		{bucket + " + fixed-window,rate=5000/1h,align=first", "6;w=1, 5000;w=3600",
			"5000 in 1h0m0s, not reached"},
		{bucket, "6;w=1, 150;w=3600", "150 in 1h0m0s, and more were admitted"},
	} {
		t.Run(tt.truth+" told "+tt.told, func(t *testing.T) {
			t.Parallel()
			limit := parsed(t, tt.truth)
			res := Identify(t.Context(), policied{simulate(t, limit, 3), tt.told}, usualBudget())
			t.Log(res.Text(About{Budget: usualBudget().Budget}))
			if tt.also != "" {
				also := strings.Join(res.Also, "; ")
				if res.Verdict != Identified || !strings.Contains(also, tt.also) {
					t.Errorf("got %s, also %q, want %q", res.Summary(), res.Also, tt.also)
				}
				return
			}
			if res.Verdict != Open || len(res.Found) == 0 || res.Found[0].Limit.String() != tt.truth {
				t.Errorf("got %s, want the quota of 150 with its hour, which is told", res.Summary())
			}
		})
	}
}
