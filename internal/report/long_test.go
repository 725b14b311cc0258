package report

import (
	"bytes"
	"os"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestALongRecordingIsWrittenWhole: for a recording that is too long for memory, the formats with each
// request list all of them. A page draws only a part.
func TestALongRecordingIsWrittenWhole(t *testing.T) {
	short := &timeline.Timeline{Observations: make([]timeline.Observation, 3)}
	file := func() (timeline.Spill, error) { return os.CreateTemp(t.TempDir(), "s") }
	long := &timeline.Timeline{Spool: timeline.NewSpool(file), Observations: short.Observations[:1]}
	for i := range short.Observations {
		short.Observations[i].Arrival = timeline.Arrival{Seq: i, Cost: 1}
		long.Spool.Add(&short.Observations[i])
	}
	of := func(format string, tl *timeline.Timeline, excerpt string) string {
		r := &result.Run{Scenarios: []result.Scenario{{ID: "x", Target: "t", Timeline: tl,
			Kept: result.Kept{Excerpt: excerpt}}}}
		var b bytes.Buffer
		if err := Write(&b, format, r, Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, format := range []string{"csv", "ndjson", "hlog"} {
		if got, want := of(format, long, "a part is drawn"), of(format, short, ""); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
}
