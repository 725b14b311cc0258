package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/reference"
)

// TestThreeLimitsAreNotCalledUnknown: 3 a second, 8 in 10 s and 15 a minute were none of these. What no set
// of limits explains still is.
func TestThreeLimitsAreNotCalledUnknown(t *testing.T) {
	const one = "fixed-window,rate=6/1500ms,align=first"
	lottery := func(s *stranger, n int, at time.Duration) reference.Decision {
		if n*n%11 < 3 {
			return reference.Decision{}
		}
		return s.ask(0, at)
	}
	const open = identity.Open
	for text, want := range map[string]identity.Verdict{
		"fixed-window,rate=3/s + fixed-window,rate=8/10s + fixed-window,rate=15/1m":       open,
		"gcra,rate=3/s,burst=4 + sliding-window-log,rate=8/10s + fixed-window,rate=30/1d": open,
		one: identity.None,
	} {
		limit := parsed(t, text)
		s := simulate(t, limit, 3)
		if text == one {
			s.limiter = &stranger{right: s.limiter, step: lottery}
		}
		x := partsAsked(t, s, limit[len(limit)/2])
		x.send(t.Context(), plan.Phase{Rest: time.Second, Requests: 60, Every: 50 * ms})
		x.exhausted = true
		res := &identity.Result{Verdict: open}
		if x.unknown(res); res.Verdict != want || (want == open) != (res.Stopped == severalMore) {
			t.Errorf("%s: got %s", text, res.Summary())
		}
	}
}
