package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// sideOf makes n runs of a scenario. Each is slower than the one before by a hundredth, and all are slower by
// a factor.
func sideOf(name string, n, factor int, of func() result.Scenario) Side {
	side := Side{Name: name}
	for i := range n {
		s := of()
		for k := range s.Timeline.Observations {
			o := &s.Timeline.Observations[k]
			o.FirstByte = o.Sent + (o.FirstByte-o.Sent)*time.Duration(factor*(100+i))/100
		}
		s.Latency = timeline.LatencyOf(s.Timeline)
		side.Runs = append(side.Runs, &result.Run{ID: name + string(rune('a'+i)),
			Scenarios: []result.Scenario{s}})
	}
	return side
}

func comparisons(t *testing.T) map[string]*Comparison {
	t.Helper()
	good := func() result.Scenario { return Passing(t) }
	bad := func() result.Scenario { s := Failing(t); s.ID = "burst"; return s }
	hostile := func() result.Scenario { s := Passing(t); s.ID = "<b>|\x1b[31m\u202e"; return s }
	out := map[string]*Comparison{}
	for name, x := range map[string]struct {
		old, new Side
		gate     bool
	}{
		"same":    {sideOf("old", 5, 1, good), sideOf("new", 5, 1, good), true},
		"slower":  {sideOf("old", 5, 1, good), sideOf("new", 5, 3, good), true},
		"one":     {sideOf("old", 1, 1, good), sideOf("new", 1, 3, good), true},
		"worse":   {sideOf("old", 2, 1, good), sideOf("new", 2, 1, bad), false},
		"hostile": {sideOf("old", 1, 1, hostile), sideOf("<i>\x1b", 1, 1, hostile), false},
	} {
		c, err := Compare(x.old, x.new, CompareOptions{Gate: x.gate, MaxRegression: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		out[name] = c
	}
	return out
}

func TestComparisonGolden(t *testing.T) {
	for name, c := range comparisons(t) {
		for format, suffix := range map[string]string{"table": "txt", "json": "json", "markdown": "md"} {
			var b bytes.Buffer
			if err := WriteComparison(&b, format, c, Options{Width: 80}); err != nil {
				t.Fatal(err)
			}
			Golden(t, "testdata/compare_"+name+"."+suffix, b.Bytes())
		}
	}
}
