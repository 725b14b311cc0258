package identify

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// serve returns a sender in front of an embedded target.
func serve(t *testing.T, limit spec.Limit, fault string) *bubbled {
	t.Helper()
	tgt, err := lab.New(lab.Options{Limit: limit, Fault: fault})
	if err != nil {
		t.Fatal(err)
	}
	return &bubbled{target: tgt, started: time.Now(), way: 500 * time.Microsecond,
		random: rand.New(rand.NewPCG(1, 1))}
}

// outcomes are those of requests that show most faults that change decisions.
func outcomes(t *testing.T, s *bubbled) (out []timeline.Outcome) {
	t.Helper()
	const ms = time.Millisecond
	for _, p := range []Phase{
		{Requests: 12, Every: 20 * ms}, {Rest: 700 * ms, Requests: 8, Every: 20 * ms},
		{Rest: 1250 * ms, Requests: 8, Every: 90 * ms},
		{Rest: 4000 * ms, Requests: 30, Every: 140 * ms}, {Rest: 9000 * ms, Requests: 9, Every: 20 * ms},
	} {
		all, err := s.Send(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			out = append(out, all[i].Outcome)
		}
	}
	return out
}

// explainsMore tells whether what was found also explains random silences and bursts that come later.
func explainsMore(t *testing.T, s *bubbled, res *Result) bool {
	t.Helper()
	tl, r := *res.Timeline, rand.New(rand.NewPCG(1, 1))
	for range 12 {
		all, err := s.Send(t.Context(), Phase{Name: "more", Requests: 1 + r.IntN(14),
			Rest:  time.Duration(r.Int64N(int64(4 * time.Second))),
			Every: time.Duration(20+r.IntN(300)) * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			all[i].Seq, all[i].Cost, all[i].Phase = len(tl.Observations), 1, "more"
			tl.Observations = append(tl.Observations, all[i])
		}
	}
	tl.Header = s.Header()
	return !Asker(nil).Refuted(&tl, spec.Limit{measuredPolicy(res.Found[0])}, result.Exact, false)
}

// measuredPolicy is the policy of c with the measured times: the named time may be off by 2 %.
func measuredPolicy(c Candidate) spec.Policy {
	p := c.Limit[0]
	if p.Windowed() || p.Algorithm == spec.SlidingWindowLog {
		p.Rate.Per, p.PerTo = c.Least, c.Most
	} else {
		p.Rate, p.RateTo = Pace(c.Least, c.Most)
	}
	return p
}

// TestFaultsAreNotNamedWrongly: a target whose fault changes decisions is called none of the known limits, is
// left open, or gets a name that also explains what comes later.
func TestFaultsAreNotNamedWrongly(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute")
	}
	limits := []string{"token-bucket,rate=4/s,burst=6", "fixed-window,rate=6/1500ms,align=first",
		"sliding-window-log,rate=6/1500ms", "sliding-window-counter,rate=6/1500ms"}
	usual := []string{"denied-counted", "state-expires-early"}
	for _, text := range limits {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range lab.Faults() {
			soak := os.Getenv("RLCHECK_SOAK") != ""
			if f.Proxy || f.Fits(limit) != "" ||
				!soak && (text != limits[0] || !slices.Contains(usual, f.Name)) {
				continue
			}
			t.Run(text+"/"+f.Name, func(t *testing.T) { named(t, limit, f.Name, 0) })
			if soak {
				const way = 40 * time.Millisecond
				t.Run(text+"/"+f.Name+"/far", func(t *testing.T) { named(t, limit, f.Name, way) })
			}
		}
	}
}

// named identifies a target with a fault. Answers take twice way, and up to half as long again.
func named(t *testing.T, limit spec.Limit, fault string, way time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if slices.Equal(outcomes(t, serve(t, limit, "")), outcomes(t, serve(t, limit, fault))) {
			t.Skip("decides as a right target does")
		}
		s := serve(t, limit, fault)
		if way > 0 {
			s.way, s.jitter = way, way/2
		}
		res := Identify(t.Context(), s, budget(limit))
		t.Logf("after %d requests: %s", len(res.Timeline.Observations), res.Summary())
		if res.Verdict == Identified && !explainsMore(t, s, res) {
			t.Errorf("got %s, which does not explain what comes later", res.Summary())
		}
	})
}
