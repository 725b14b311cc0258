package identify

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWhatHoldsWindowsHoldsEach: no window and no counter is refuted by its own answers, whatever it counts
// and however it rounds.
func TestWhatHoldsWindowsHoldsEach(t *testing.T) {
	const counter = "sliding-window-counter,"
	for _, form := range []string{counter + "%s", counter + "%s,align=first", counter + "%s,rounding=up",
		counter + "%s,rounding=nearest", counter + "%s,count=all", counter + "%s,align=first,count=all",
		counter + "%s,align=first,rounding=nearest", "fixed-window,%s,phase=70ms"} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 5))
			rate := fmt.Sprintf("rate=%d/%dms", 1+r.Int64N(12), 100+r.Int64N(900))
			limit := parsed(t, fmt.Sprintf(form, rate))
			sim := simulate(t, limit, seed)
			sim.trip, sim.jitter = time.Microsecond, 0
			x := &search{wire: wire{o: usualBudget(), s: sim, tl: &timeline.Timeline{}}}
			for range 12 {
				rest := time.Duration(r.Int64N(int64(time.Second)))
				x.send(t.Context(), Phase{Rest: rest, Requests: 30,
					Every: time.Duration(1+r.Int64N(60)) * time.Millisecond})
			}
			if (&Region{Kind: &Kind{}}).Looser(x.tl, limit[0], result.Exact) {
				t.Errorf("%s, seed %d: got its own answers refuted", limit, seed)
			}
		}
	}
}

// TestABucketThatChargesDenialsIsEmptyAfterEach: nginx with 100/s and a burst of 50 was most likely a bucket
// that charges denied requests, which no bound refuted.
func TestABucketThatChargesDenialsIsEmptyAfterEach(t *testing.T) {
	for text, want := range map[string]bool{"token-bucket,rate=20/s,burst=10": true,
		"token-bucket,rate=20/s,burst=10,count=all": false} {
		for seed := range uint64(20) {
			x := begun(simulate(t, parsed(t, text), seed), usualBudget(), nil)
			x.send(t.Context(), Phase{Requests: 12, Every: 7 * ms})
			for i := range time.Duration(8) {
				x.send(t.Context(), Phase{Rest: i * 60 * ms, Requests: 20, Every: (7 + i) * ms})
			}
			if got := refilled(x.tl, 50*ms); got != want {
				t.Errorf("%s, seed %d: got %v", text, seed, got)
			}
		}
	}
}
