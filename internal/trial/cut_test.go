package trial

import (
	"bytes"
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// journaled runs a scenario in virtual time and returns the journal of its recording, too.
func journaled(t *testing.T, s *scenario.Scenario) (out result.Scenario, text []byte) {
	t.Helper()
	var b bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		out = Scenario(context.Background(), s, Options{
			ID: "m", Seed: 1, Embed: embedded, Network: new(lab.PipeNetwork),
			Pacer:   transport.SleepingPacer(),
			Journal: func() *timeline.JournalWriter { return timeline.NewJournal(&b, nil) },
		})
		time.Sleep(time.Minute)
	})
	return out, b.Bytes()
}

// TestCutRecordingsAccuseNobody: the recording of a right target proves nothing against it, wherever it is
// cut; the whole journal has what the recording has.
func TestCutRecordingsAccuseNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for i, s := range bundled(t, scenario.ParseOptions{}) {
		cuts := 2 + i%2
		if os.Getenv("RLCHECK_SOAK") != "" {
			cuts = 6
		}
		t.Run(s.ID, func(t *testing.T) {
			whole, text := journaled(t, s)
			for k := 1; k <= cuts; k++ {
				at := len(text) * k / cuts
				tl, err := timeline.ReadJournal(bytes.NewReader(text[:at]), "journal", 1<<20,
					func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "s") })
				if err != nil {
					t.Fatalf("cut at %d of %d bytes: %v", at, len(text), err)
				}
				if k == cuts && len(tl.Observations) != len(whole.Timeline.Observations) {
					t.Errorf("the whole journal: got %d observations, want %d", len(tl.Observations),
						len(whole.Timeline.Observations))
				}
				if out := Kept(s, tl, Options{}); out.Verdict != result.Inconclusive || out.Reason == "" {
					t.Errorf("cut at %v: got %s, want inconclusive: %s", tl.Header.Ended, out.Verdict,
						explain(out))
				}
			}
		})
	}
}
