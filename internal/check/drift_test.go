package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestClocksThatDrift judges a minute of traffic at 150 requests a second. A limiter whose clock is 200 ppm
// fast admits a request too many by our clock; a slow one denies one too soon. Neither counts against a
// limiter whose drift is allowed for. Five times that drift still does.
func TestClocksThatDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("recordings of a minute")
	}
	for _, c := range []struct {
		spec        string
		ppm, allows int64
		want        result.Verdict
	}{
		{"token-bucket,rate=100/s,burst=20", 200, 200, result.Pass},
		{"token-bucket,rate=100/s,burst=20", -200, 200, result.Pass},
		{"token-bucket,rate=100/s,burst=20", 200, 0, result.Fail},
		{"token-bucket,rate=100/s,burst=20", -200, 0, result.Fail},
		{"token-bucket,rate=100/s,burst=20", 1000, 200, result.Fail},
		{"token-bucket,rate=100/s,burst=20", -1000, 200, result.Fail},
		{"sliding-window-log,rate=100/1s", 200, 200, result.Pass},
		{"sliding-window-log,rate=100/1s", -200, 200, result.Pass},
		{"fixed-window,rate=100/1s,phase=0s", 200, 200, result.Pass},
		{"fixed-window,rate=100/1s,phase=0s", -200, 200, result.Pass},
		{"fixed-window,rate=100/1s,phase=0s", -200, 0, result.Fail},
		{"sliding-window-counter,rate=100/1s,phase=0s", 200, 200, result.Pass},
		{"leaky-bucket,rate=100/s,burst=20 + fixed-window,rate=500/5s,phase=0s", -200, 200, result.Pass},
	} {
		limit, err := spec.Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		tl := drifting(t, limit, c.ppm, c.allows)
		whole, err := Judge(tl, limit, Options{SkipMeasure: true})
		if err != nil {
			t.Fatal(err)
		}
		s := NewStream(limit, tl.Header, Options{SkipMeasure: true})
		for i := range tl.Observations {
			if err := s.Observe(&tl.Observations[i]); err != nil {
				t.Fatal(err)
			}
		}
		streamed, err := s.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if whole.Verdict != c.want || streamed.Verdict != c.want {
			t.Errorf("%s, %d ppm off, %d allowed for: got %s, as a stream %s, want %s: %+v", c.spec, c.ppm,
				c.allows, whole.Verdict,
				streamed.Verdict, c.want, whole.Partitions[0].Findings)
		}
	}
}

// drifting records a minute of a limiter whose clock is ppm millionths off. Each request is answered when it
// was sent.
func drifting(t *testing.T, limit spec.Limit, ppm, allows int64) *timeline.Timeline {
	t.Helper()
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{Header: timeline.Header{DriftPPM: allows}}
	state := lim.Init()
	for i := range 9000 {
		at := time.Duration(i) * time.Minute / 9000
		var d reference.Decision
		state, d = lim.Step(state, at+at*time.Duration(ppm)/1_000_000, 1)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1}, Sent: at, FirstByte: at,
			Answered: true, Outcome: timeline.Denied}
		if d.Allow {
			o.Outcome = timeline.Allowed
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}
