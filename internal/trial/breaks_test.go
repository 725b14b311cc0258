package trial

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// burstsOf returns a recording of bursts of one client, 40 requests each, of which the first are admitted.
// Each answer takes a while.
func burstsOf(takes time.Duration, bursts ...burstAt) *timeline.Timeline {
	tl := &timeline.Timeline{}
	for _, b := range bursts {
		for i := range 40 {
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: len(tl.Observations), Phase: b.phase,
				Partition: "k", At: b.at, Cost: 1}, Sent: b.at, FirstByte: b.at + takes, Answered: true,
				Status: 429, Outcome: timeline.Denied}
			if i < b.allowed {
				o.Status, o.Outcome = 200, timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
	}
	return tl
}

type burstAt struct {
	phase   string
	at      time.Duration
	allowed int
}

// restarted returns the result of scenario restart at 10/s, burst 20, of a right target whose restart and
// answers take a while.
func restarted(t *testing.T, restart, answer time.Duration) (out result.Scenario) {
	t.Helper()
	s := bundled(t, scenario.ParseOptions{Limit: "token-bucket,rate=10/s,burst=20"}, "restart")[0]
	out.ID, out.Limit, out.Target = s.ID, s.Limit, "http://target"
	Judge(&out, s, burstsOf(answer, burstAt{"spend", 0, 20},
		burstAt{"again", restart, min(20, int(restart*10/time.Second))}))
	return out
}

// TestAnEventThatTakesLongShowsNothing: once the quota is back, nobody sees whether a restart gave it back.
func TestAnEventThatTakesLongShowsNothing(t *testing.T) {
	for takes, want := range map[time.Duration]result.Verdict{
		5 * time.Millisecond: result.Pass, time.Second: result.Pass, 3 * time.Second: result.Inconclusive,
	} {
		if out := restarted(t, takes, time.Millisecond); out.Verdict != want {
			t.Errorf("a restart of %s: got %s, want %s: %s", takes, out.Verdict, want, explain(out))
		}
	}
}

// TestOtherScenariosShowNoEvent: what others measured exactly resolves a coarse measurement, but says nothing
// of a restart that took so long that the quota was back.
func TestOtherScenariosShowNoEvent(t *testing.T) {
	s := bundled(t, scenario.ParseOptions{Limit: "token-bucket,rate=10/s,burst=20"}, "burst")[0]
	exact := result.Scenario{ID: s.ID, Limit: s.Limit, Target: "http://target"}
	Judge(&exact, s, burstsOf(time.Millisecond, burstAt{s.Phases[0].Name, 0, 20},
		burstAt{s.Phases[0].Name, 3 * time.Second, 20}))
	for takes, want := range map[time.Duration]result.Verdict{
		500 * time.Millisecond: result.Pass, 3 * time.Second: result.Inconclusive,
	} {
		coarse := restarted(t, takes, 350*time.Millisecond)
		if coarse.Verdict != result.Inconclusive {
			t.Fatalf("a restart of %s, far away: got %s, want inconclusive: %s", takes, coarse.Verdict,
				explain(coarse))
		}
		_, all := Together([]result.Scenario{coarse, exact})
		if all[0].Verdict != want {
			t.Errorf("a restart of %s beside an exact burst: got %s, want %s: %s", takes,
				all[0].Verdict, want, explain(all[0]))
		}
	}
}

// TestCheckSettlesTheChancesOfARun: a kept recording knows its events, so check gives the verdict of the run:
// for a right target near, and where the quota was back before anybody could see that it was forgotten.
func TestCheckSettlesTheChancesOfARun(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, s := range bundled(t, scenario.ParseOptions{Limit: "token-bucket,rate=20/s,burst=20"},
		"restart", "store-outage", "hot-reload", "identity-isolation") {
		for way, want := range map[time.Duration]result.Verdict{
			time.Millisecond: result.Pass, time.Second: result.Inconclusive,
		} {
			var out result.Scenario
			var file bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				out = Scenario(t.Context(), s, Options{ID: "m", Seed: 1, Embed: embedded,
					Network: &lab.PipeNetwork{Pipes: transport.Pipes{Way: way}},
					Pacer:   transport.SleepingPacer(),
					Recorded: func(tl *timeline.Timeline) {
						if err := timeline.Write(&file, tl); err != nil {
							t.Error(err)
						}
					}})
				time.Sleep(time.Minute)
			})
			was := out.Claims[0]
			r := timeline.NewReader(&file, "kept", timeline.ReadOptions{})
			h, err := r.Header()
			if err != nil {
				t.Fatal(err)
			}
			p, err := check.NewPanel(h.Judged.Limits, h, check.OptionsOf(h.Judged))
			if err == nil {
				err = r.Each(func(o *timeline.Observation, _ int) bool { return p.Observe(o) == nil })
			}
			if err != nil {
				t.Fatal(err)
			}
			j, _, err := p.Finish()
			if err != nil {
				t.Fatal(err)
			}
			is := Recording(s.Limit, "", j).Claims[0]
			if was.Verdict != want || is.Verdict != want || is.Chances != was.Chances {
				t.Errorf("%s, %s away: the run got %s, %+v, check got %s, %+v, want %s: %s", s.ID, way,
					was.Verdict, was.Chances, is.Verdict, is.Chances, want, explain(out))
			}
		}
	}
}
