package identify

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestACostOfEachRequest: where each request costs ten units, the limit is named in units. Of a quota that is
// no multiple of the cost, one is named that admits as many requests.
func TestACostOfEachRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, c := range []struct{ truth, inRequests, want string }{
		{"token-bucket,rate=50/s,burst=60", "token-bucket,rate=5/s,burst=6",
			"token-bucket,rate=50/s,burst=60"},
		{"fixed-window,rate=60/2s,align=first", "fixed-window,rate=6/2s,align=first",
			"fixed-window,rate=60/2s,align=first"},
		{"sliding-window-log,rate=65/2s", "sliding-window-log,rate=6/2s",
			"sliding-window-log,rate=60/2s"},
	} {
		s := simulate(t, parsed(t, c.truth), 1)
		s.cost = 10
		o := budget(parsed(t, c.inRequests))
		o.Cost = 10
		res := Identify(t.Context(), s, o)
		if res.Verdict != Identified || res.Found[0].Limit.String() != c.want {
			t.Errorf("%s: got %s\n%s", c.truth, res.Verdict, res.Text(About{}))
			continue
		}
		m := res.Found[0].Measured
		truth := float64(parsed(t, c.truth)[0].Full())
		if m.Burst.Lo > truth || m.Burst.Hi < truth || res.Timeline.Observations[0].Cost != 10 {
			t.Errorf("%s: measured %v, at a cost of %d", c.truth, m.Burst, res.Timeline.Observations[0].Cost)
		}
		t.Log(res.Found[0].Sentence())
	}
}

// TestWhatIsStatedCountsUnits: the search, which counts requests, divides what answers state.
func TestWhatIsStatedCountsUnits(t *testing.T) {
	o := timeline.Observation{Fields: timeline.Fields{{Name: "X-Ratelimit-Limit", Value: "65"},
		{Name: "X-Ratelimit-Remaining", Value: "40"}, {Name: "X-Ratelimit-Reset", Value: "2"}}}
	for cost, want := range map[int64][2]int64{0: {65, 40}, 1: {65, 40}, 10: {6, 4}} {
		all := stated(&o, &timeline.Timeline{}, cost)
		if len(all) != 1 || all[0].Limit != want[0] || all[0].Remaining != want[1] {
			t.Errorf("cost %d: got %+v, want %v", cost, all, want)
		}
	}
}
