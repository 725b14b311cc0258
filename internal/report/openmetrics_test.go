package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

var (
	metaLine   = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-z_]+) (.+)$`)
	sampleLine = regexp.MustCompile(`^([a-z_]+)(\{[a-z_]+="(?:[^"\\]|\\[\\n"])*"(?:,[a-z_]+="(?:[^"\\]|\\[\\n"])*")*\})? (-?[0-9][0-9.e+-]*)$`)
	suffixes   = regexp.MustCompile(`_(info|count|sum)$`)
)

// TestOpenMetricsFollowsItsGrammar checks the grammar of OpenMetrics 1.0 as far as this format uses it.
// Families are in one piece, no series comes twice, and the end is marked.
func TestOpenMetricsFollowsItsGrammar(t *testing.T) {
	for name, r := range fixtures(t) {
		text := string(render(t, "openmetrics", r, Options{}))
		body, found := strings.CutSuffix(text, "\n# EOF\n")
		if !found {
			t.Errorf("%s: does not end in # EOF", name)
		}
		family, types, series := "", map[string]bool{}, map[string]bool{}
		for _, l := range strings.Split(body, "\n") {
			if m := metaLine.FindStringSubmatch(l); m != nil {
				if m[1] == "TYPE" && types[m[2]] {
					t.Errorf("%s: the family %s stands twice", name, m[2])
				}
				if m[1] == "UNIT" && !strings.HasSuffix(m[2], "_"+m[3]) {
					t.Errorf("%s: %s has the unit %s", name, m[2], m[3])
				}
				types[m[2]], family = true, m[2]
				continue
			}
			m := sampleLine.FindStringSubmatch(l)
			if m == nil {
				t.Errorf("%s: no sample: %s", name, l)
				continue
			}
			if m[1] != family && suffixes.ReplaceAllString(m[1], "") != family {
				t.Errorf("%s: a sample of %s in the family %s", name, m[1], family)
			}
			if key := m[1] + m[2]; series[key] {
				t.Errorf("%s: the series %s stands twice", name, key)
			} else {
				series[key] = true
			}
		}
	}
}

// TestOpenMetricsMeasuresNothingWhereNoValueFits: if every value of a parameter is refuted, its interval has
// no ends.
func TestOpenMetricsMeasuresNothingWhereNoValueFits(t *testing.T) {
	s := Failing(t)
	s.Judgement.Measured = result.Measured{Burst: Between(21, 21), Rate: Between(80, 10.98)}
	text := string(render(t, "openmetrics", SampleRun(s), Options{}))
	rate := strings.Contains(text, "\nrlcheck_measured_rate{")
	if rate || !strings.Contains(text, "\nrlcheck_measured_burst{") {
		t.Errorf("got %s\nwant no rate, and a burst", text)
	}
}
