package identify

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestABucketThatIsNotFullForANewClientIsNamed: each usual kind was refuted, and the answer was none of
// these.
func TestABucketThatIsNotFullForANewClientIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"leaky-bucket,rate=5/s,burst=10,start=empty": "token-bucket,rate=5/s,burst=10,start=empty",
		"gcra,rate=1/s,burst=6,start=2":              "token-bucket,rate=1/s,burst=6,start=2",
		"token-bucket,rate=2/s,burst=4,start=3":      "token-bucket,rate=2/s,burst=4,start=3",
	} {
		quick := strings.Contains(text, "empty")
		if os.Getenv("RLCHECK_SOAK") == "" && !quick {
			continue
		}
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			res := Identify(t.Context(), simulate(t, parsed(t, text), 3), usualBudget())
			// start=3 may be a bucket that a timer fills, too
			if res.Verdict == None || len(res.Found) > 2 || res.Found[0].Limit.String() != want {
				t.Errorf("got %s, want %s", res.Summary(), want)
			}
		})
	}
}

// TestASilenceMakesNoNewClientOfABucketThatIsNotFull: for a client that was silent it is full.
func TestASilenceMakesNoNewClientOfABucketThatIsNotFull(t *testing.T) {
	limit := parsed(t, "token-bucket,rate=2/s,burst=4,start=1")
	x := begun(simulate(t, limit, 3), usualBudget(), nil)
	for range 2 {
		x.send(t.Context(), Phase{Rest: 3 * time.Second, Requests: 12, Every: 20 * ms, Denials: 3})
	}
	for _, text := range []string{limit.String(), "token-bucket,rate=2/s,burst=1..9,start=0..1"} {
		if Asker(nil).Refuted(x.tl, parsed(t, text), result.Exact, false) {
			t.Errorf("%s: got %s refuted", limit, text)
		}
	}
}
