package report

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The two instants from which a latency can count.
const (
	fromPlan = "plan"
	fromSend = "send"
)

// quantileNames has the heads of the columns of quantiles.
var quantileNames = []string{"P50", "P90", "P99", "P99.9", "MAX"}

// quantiles returns p50, p90, p99, p99.9 and the largest value.
func quantiles(d timeline.Distribution) []time.Duration {
	return []time.Duration{d.P50, d.P90, d.P99, d.P999, d.Max}
}

// latencyRow is one distribution of one scenario.
type latencyRow struct {
	scenario, outcome, from string
	dist                    timeline.Distribution
}

// values returns the quantiles in milliseconds.
func (l latencyRow) values() []string {
	var out []string
	for _, q := range quantiles(l.dist) {
		out = append(out, text.Millis(q))
	}
	return out
}

// latencyRows returns the distributions of all scenarios that have values. Allowed comes before denied, and
// before unknown, if a status was not classified. Times from the plan come before times from the send.
func latencyRows(r *result.Run) []latencyRow {
	var out []latencyRow
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied, timeline.Unknown} {
			l := s.Latency.Of(o)
			for _, row := range []latencyRow{{s.ID, o.String(), fromPlan, l.Corrected},
				{s.ID, o.String(), fromSend, l.Service}} {
				if row.dist.Count > 0 {
					out = append(out, row)
				}
			}
		}
	}
	return out
}

// medianAndTail prints p50 and p99 in milliseconds, or a dash if there are no values.
func medianAndTail(d timeline.Distribution) string {
	if d.Count == 0 {
		return "-"
	}
	return text.Millis(d.P50) + "/" + text.Millis(d.P99)
}
