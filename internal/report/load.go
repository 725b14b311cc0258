package report

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// loads writes what a load test is read for, of each scenario that bounds latencies or errors: rate,
// statuses, service times by outcome, and how late rlcheck itself was.
func (s *screen) loads(r *result.Run) error {
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		if x.Latency.Lateness.Count == 0 || !slices.ContainsFunc(x.Claims, bounding) {
			continue
		}
		s.line("")
		s.wrapped(0, loadText(x))
		s.line("")
		head := []string{"LATENCY, ms", "ANSWERS", "P50", "P95", "P99", "MAX"}
		if err := s.table(head, "lrrrrr", loadRows(x)); err != nil {
			return err
		}
	}
	return nil
}

// bounding tells whether a claim bounds latencies or errors.
func bounding(c result.Claim) bool { return c.Kind == result.ClaimLatency || c.Kind == result.ClaimSLO }

// loadText says in a line how much was sent, how fast, and which answers came.
func loadText(x *result.Scenario) string {
	out := fmt.Sprintf("%s: %s in %s", x.ID, text.Plural(x.Counts.Sent, "request"), text.Brief(x.Duration))
	if x.Duration > 0 {
		out += fmt.Sprintf(", %s/s", text.Thousands(int(float64(x.Counts.Sent)/x.Duration.Seconds())))
	}
	if answers := answersText(x); answers != "" {
		out += "; " + answers
	}
	return out
}

// loadRows returns the service times by outcome, and the lateness of rlcheck. An outcome without answers has
// no row.
func loadRows(x *result.Scenario) (rows [][]string) {
	add := func(name string, d timeline.Distribution) {
		if d.Count > 0 {
			rows = append(rows, []string{name, text.Thousands(int(d.Count)), text.Millis(d.P50),
				text.Millis(d.P95), text.Millis(d.P99), text.Millis(d.Max)})
		}
	}
	for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied, timeline.Unknown} {
		add(o.String(), x.Latency.Of(o).Service)
	}
	add("rlcheck sent late", x.Latency.Lateness)
	return rows
}
