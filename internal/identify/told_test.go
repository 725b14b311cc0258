package identify

import (
	"os"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestLimitsOfAMinuteAreNamedByOneKey: within the usual budget, with a key that others may have used before.
// Fields that state the limit make experiments cheap, and may be false.
func TestLimitsOfAMinuteAreNamedByOneKey(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of planning")
	}
	for _, tt := range []struct {
		limit, told string
		soak, named bool
	}{
		{"token-bucket,rate=10/1m,burst=10", "", true, true},
		{"sliding-window-log,rate=30/1m", `"d";q=30;w=60`, false, true},
		{"sliding-window-log,rate=30/1m", `"d";q=50;w=10`, false, false}, // this is false
		{"sliding-window-log,rate=60/1m", `"d";q=60;w=60`, true, true},
		{"sliding-window-log,rate=100/1m", `"d";q=100;w=60`, true, true},
		{"fixed-window,rate=30/1m,align=first", "", true, true},
		{"fixed-window,rate=60/1m,align=first", `"d";q=60;w=60`, true, true},
		{"fixed-window,rate=100/1m", `"d";q=100;w=60`, true, false}, // 58 s to 62 s are left
		{"token-bucket,rate=60/1m,burst=60", `"d";q=60;w=60`, true, true},
	} {
		t.Run(tt.limit+" "+tt.told, func(t *testing.T) {
			if tt.soak && os.Getenv("RLCHECK_SOAK") == "" {
				t.Skip("a minute of planning: RLCHECK_SOAK")
			}
			t.Parallel()
			limit, o := parsed(t, tt.limit), usualBudget()
			o.Fresh = false
			s := simulate(t, limit, 7)
			s.policy = tt.told
			res := Identify(t.Context(), s, o)
			t.Logf("%s after %s: %s", res.Summary(), res.Used.Round(time.Second), res.Stopped)
			if res.Verdict == Identified {
				right(t, limit, res)
			} else if tt.named || res.Verdict == None {
				t.Errorf("got %s, want it named", res.Summary())
			}
		})
	}
}

// TestABucketIsInStepWithItsRequestsOnly: near the target, and if it was asked. Far away and in recordings
// the gaps between decisions are unknown, and slow answers would cast doubt on any bucket.
func TestABucketIsInStepWithItsRequestsOnly(t *testing.T) {
	tl := &timeline.Timeline{Observations: took(timeline.Allowed, 80*ms)}
	quick := &timeline.Timeline{Observations: took(timeline.Allowed, ms)}
	asked := &bubbled{}
	for name, tt := range map[string]struct {
		bucket string
		x      *search
		want   bool
	}{
		"asked every unit": {"token-bucket,rate=50/s,burst=1",
			&search{wire: wire{s: asked, tl: quick}}, true},
		"asked more often": {"token-bucket,rate=10/s,burst=20",
			&search{wire: wire{s: asked, tl: quick}}, false},
		"no bucket": {"sliding-window-log,rate=1/20ms",
			&search{wire: wire{s: asked, tl: quick}}, false},
		"far away": {"token-bucket,rate=10/s,burst=20",
			&search{wire: wire{s: asked, tl: tl, pace: pace{far: true}}}, false},
		"a recording": {"token-bucket,rate=10/s,burst=20",
			&search{wire: wire{s: &replay{tl: tl}, tl: tl}}, false},
	} {
		tt.x.pace.every, tt.x.regions = 20*ms, []*Region{known(parsed(t, tt.bucket)[0])}
		if got := tt.x.inStep(); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// TestTheToldReturnIsAskedFor: the time that a denial states is asked for densely. A false one is believed
// once.
func TestTheToldReturnIsAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		wait string
		from time.Duration // the rest before the first request
		told bool
	}{
		"whole seconds":             {"30", 28900 * time.Millisecond, true},
		"no field":                  {"", 0, false},
		"longer than the budget":    {"3600", 0, false},
		"a value that is no number": {"soon", 0, false},
	} {
		x := &search{wire: wire{s: simulate(t, parsed(t, "token-bucket,rate=1/s,burst=1"), 1),
			o: usualBudget(), tl: &timeline.Timeline{}, pace: pace{every: 20 * time.Millisecond}}}
		o := timeline.Observation{Outcome: timeline.Denied, Answered: true}
		if tt.wait != "" {
			o.Fields = timeline.Fields{{Name: "Retry-After", Value: tt.wait}}
		}
		p, told := x.toldReturn(&o)
		if told != tt.told || told && (p.Rest != tt.from || p.Admits != 1) {
			t.Errorf("%s: got %+v, %t, want a rest of %s, %t", name, p, told, tt.from, tt.told)
		}
	}
}
