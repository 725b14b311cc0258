package trial

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAFieldTellsClientsApart: a field is named only if the declared limit explains a recording in which each
// value of that field is another client, and other requests met the limit.
func TestAFieldTellsClientsApart(t *testing.T) {
	src, err := os.ReadFile("../../scenarios/invented-keys.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env := func(string) (string, bool) { return "", false }
	for _, c := range []struct {
		name, partition string
		keys, ids       int // admissions of each phase; the limit has 20 units
		sent            int // 60 of the first phase, the others of the second
		want            bool
	}{
		{"the key", "none", 60, 20, 120, true},
		{"the key, else the address", "address", 60, 20, 120, true},
		{"another field", "none", 20, 60, 120, false},
		{"no limit", "none", 60, 60, 120, false},
		{"a larger limit", "none", 40, 40, 120, false},
		{"a limit that was not met", "none", 60, 20, 80, false},
		{"one by header", "header:X-User", 60, 20, 120, false},
	} {
		s, err := scenario.Parse(src, "invented-keys.yaml", scenario.ParseOptions{Env: env,
			Limit: "fixed-window,rate=20/10m,align=first", Partition: c.partition})
		if err != nil {
			t.Fatal(err)
		}
		tl := &timeline.Timeline{}
		for i := range c.sent {
			phase, room := "key", i < c.keys
			if i >= 60 {
				phase, room = "ids", i-60 < c.ids
			}
			at := time.Duration(i) * time.Millisecond
			o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1, Partition: phase,
				Phase: phase, At: at}, Sent: at, FirstByte: at + 1, Answered: true, Status: 429,
				Outcome: timeline.Denied}
			if room {
				o.Status, o.Outcome = 200, timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
		claim, j := conformance(tl, s, judgeOptions(s))
		got := strings.Contains(claim.Text, "try --partition header:X-Api-Key")
		if got != c.want || got && j.Hint != "" {
			t.Errorf("%s: %q, hint %q, want the field named: %t", c.name, claim.Text, j.Hint, c.want)
		}
	}
}
