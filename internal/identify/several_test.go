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

// among returns the candidate that is the truth; nil where none is.
func among(truth spec.Limit, res *Result) *Candidate {
	for i, c := range res.Found {
		if len(c.Limit) != len(truth) || truth[0].Ban > 0 != (c.Limit[0].Ban > 0) {
			continue
		}
		if c.Beside != nil {
			second := *c.Beside
			if second.Class[0] != truth[1].Algorithm || second.Limit[0].Full() != truth[1].Full() {
				continue
			}
		}
		first := c
		first.Limit = c.Limit[:1]
		if differs(truth[0], first) == "" {
			return &res.Found[i]
		}
	}
	return nil
}

// Two limits are found: the one that recovers within the budget, and the quota of the other. All candidates
// explain the recording.
func TestTwoLimitsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds")
	}
	for _, text := range []string{
		"token-bucket,rate=2/s,burst=5 + sliding-window-log,rate=30/1m",
		"fixed-window,rate=5/s,align=first + fixed-window,rate=20/1m,align=first",
	} {
		t.Run(text, func(t *testing.T) {

			t.Parallel()
			limit := parsed(t, text)
			res := Identify(t.Context(), simulate(t, limit, 8), usualBudget())
			t.Logf("%s after %d requests", res.Summary(), len(res.Timeline.Observations))
			fits(t, res)
			if among(limit, res) == nil {
				t.Errorf("got %s, want it among what is left", res.Summary())
			}
			for _, c := range res.Found {
				if !Asker(nil).Explains(res.Timeline, c.Limit) {
					t.Errorf("%s is told, and its own recording refutes it", c.Limit)
				}
			}
		})
	}
}

// A ban is found, and a log with a short ban is not a log with a longer window.
func TestBansAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty seconds")
	}

	for i, text := range []string{"sliding-window-log,rate=4/1s,ban=500ms",
		"sliding-window-log,rate=10/1s,ban=500ms", "token-bucket,rate=5/s,burst=5,ban=3s"} {
		if os.Getenv("RLCHECK_SOAK") == "" && i > 0 { // they take long
			continue
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			limit := parsed(t, text)
			res := Identify(t.Context(), simulate(t, limit, 7), usualBudget())
			t.Logf("%s after %d requests", res.Summary(), len(res.Timeline.Observations))
			if among(limit, res) == nil {
				t.Errorf("got %s, want it among what is left", res.Summary())
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

			c := among(limit, res)
			if c == nil || c.Beside.Limit[0].Rate.Per != time.Hour || !c.Beside.Stated {
				t.Errorf("got %s, want the quota of 150 with its hour, which is told", res.Summary())
			}
		})
	}
}
