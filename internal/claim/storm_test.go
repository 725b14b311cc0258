package claim

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestClientsThatStayAwayAccuseNobody: clients come back at once, and then later and later. A right limiter
// does not admit all of them, since there was room while nobody came. Nor is a limiter accused whose
// recording was stopped.
func TestClientsThatStayAwayAccuseNobody(t *testing.T) {
	limit := parse(t, "token-bucket,rate=10/s,burst=2")
	herd := func(admitted ...int) *timeline.Timeline { // 12 clients, which come at 0, 1 and 3 s
		var obs []timeline.Observation
		left := 12
		for k, at := range []int{0, 1000, 3000} {
			for i := range left {
				status := 429
				if i < admitted[k] {
					status = 200
				}
				obs = append(obs, req(len(obs), at, at+1, status))
			}
			left -= admitted[k]
		}
		return record(obs...)
	}
	stopped := herd(2, 0, 0)
	stopped.Header.Interrupted = true
	e := Expect{Storms: []StormExpect{{Phase: "p", Clients: 12, Drained: true}}}
	for name, x := range map[string]struct {
		tl   *timeline.Timeline
		want result.Verdict
	}{"each denial is right": {herd(2, 2, 2), result.Inconclusive},
		"it never recovers": {herd(2, 0, 0), result.Fail}, "stopped": {stopped, result.Inconclusive}} {
		c := judge(x.tl, limit, e, noWaits)[0]
		sound(t, x.tl, c)
		if c.Verdict != x.want {
			t.Errorf("%s: got %s (%s), want %s", name, c.Verdict, c.Text, x.want)
		}
	}
}
