package identify

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestABucketThatIsNotFullForANewClientIsNamed: each usual kind was refuted, and the answer was none of
// these. One that a timer fills has a start that is not told.
func TestABucketThatIsNotFullForANewClientIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"leaky-bucket,rate=5/s,burst=10,start=empty": "token-bucket,rate=5/s,burst=10,start=empty",
		"gcra,rate=1/s,burst=6,start=2":              "token-bucket,rate=1/s,burst=6,start=2",
		"token-bucket,rate=2/s,burst=4,start=3":      "token-bucket,rate=2/s,burst=4,start=3",
		"token-bucket,rate=2/s,burst=4,start=1,refill=interval,fill=2": "token-bucket,rate=2/s,burst=4," +
			"start=unknown,refill=interval,fill=2",
	} {
		quick := strings.Contains(text, "empty") || strings.Contains(text, "fill")
		if os.Getenv("RLCHECK_SOAK") == "" && !quick {
			continue
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			res := Identify(t.Context(), simulate(t, parsed(t, text), 3), usualBudget())
			if res.Verdict != identity.Identified || res.Found[0].Limit.String() != want {
				t.Errorf("got %s, want %s", res.Summary(), want)
			}
		})
	}
}

// TestAQueueThatMayNotBeEmptyForANewClientIsTold: the first answer alone was late, and a queue with all its
// places had the name.
func TestAQueueThatMayNotBeEmptyForANewClientIsTold(t *testing.T) {
	for start, want := range map[string]bool{"": false, ",start=2": true} {
		limit := parsed(t, "leaky-bucket-queue,rate=20/s,queue=4"+start)
		res := Identify(t.Context(), simulate(t, limit, 3), usualBudget())
		got := strings.Contains(res.Found[0].Text, "may not be empty")
		if res.Verdict != identity.Identified || got != want {
			t.Errorf("%s: got %s: %s, want it said: %v", limit, res.Verdict, res.Found[0].Text, want)
		}
	}
}

// TestASilenceMakesNoNewClientOfABucketThatIsNotFull: for a client that was silent it is full.
func TestASilenceMakesNoNewClientOfABucketThatIsNotFull(t *testing.T) {
	limit := parsed(t, "token-bucket,rate=2/s,burst=4,start=1")
	x := begun(simulate(t, limit, 3), usualBudget(), never)
	for range 2 {
		x.send(t.Context(), plan.Phase{Rest: 3 * time.Second, Requests: 12, Every: 20 * ms, Denials: 3})
	}
	for _, text := range []string{limit.String(), "token-bucket,rate=2/s,burst=1..9,start=0..1"} {
		if refute.Asker(nil).Refuted(x.tl, parsed(t, text), verdict.Exact, false) {
			t.Errorf("%s: got %s refuted", limit, text)
		}
	}
}
