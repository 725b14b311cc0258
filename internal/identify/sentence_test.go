package identify

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestALimitIsASentence: what it admits, and between which numbers the measurement leaves it.
func TestALimitIsASentence(t *testing.T) {
	for text, want := range map[string]string{
		"fixed-window,rate=40/5s,align=first": "40 requests in 5 seconds, counted from the first one " +
			"WINDOW",
		"fixed-window,rate=60/1m,align=unknown":  "60 requests in each minute of a clock WINDOW",
		"sliding-window-log,rate=40/5s":          "40 requests in any 5 seconds WINDOW",
		"token-bucket,rate=20/s,burst=31":        "31 requests at once, then 20 per second RATE",
		"token-bucket,rate=150/1m,burst=5":       "5 requests at once, then 150 per minute RATE",
		"leaky-bucket-queue,rate=10/s,queue=7":   "10 per second, while 7 more requests wait RATE",
		"concurrency,limit=3":                    "3 requests in flight at once",
		"sliding-window-log,rate=5/2s,count=all": "5 requests in any 2 seconds, denied ones included WINDOW",
		"fixed-window,rate=5/2s,align=first,refresh=admitted,tick=1s": "5 requests in 2 seconds, counted " +
			"from the first one, started anew by each admitted request, by a clock of whole seconds WINDOW",
	} {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want = strings.NewReplacer(" WINDOW", "; measured 40..40, 4.98..5.02 s",
			" RATE", "; measured 40..40, 19.13..20.39/s").Replace(want)
		c := Candidate{Limit: l, Least: 4980 * time.Millisecond, Most: 5020 * time.Millisecond}
		c.Measured.Burst = result.Interval{Lo: 40, Hi: 40, LoSet: true, HiSet: true}
		c.Measured.Rate = result.Interval{Lo: 19.13, Hi: 20.39, LoSet: true, HiSet: true}
		if got := c.Sentence(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
