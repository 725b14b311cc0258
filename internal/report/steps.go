package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// step counts the requests of one phase.
type step struct {
	name                           string
	sent, allowed, denied, unknown int
	// errors are the answers with a status of 500 and more that are no denials. lost are the requests without
	// an answer.
	errors, lost int
	// from and to are the first and the last planned time, begin and end the times of the first and the last
	// send. firstDenial is when the first denied request was sent, -1 if there is none.
	from, to, begin, end, firstDenial time.Duration
	partitions                        map[string]bool
	latency                           timeline.LatencyTally
	// failed: the witness of a finding has a request of the phase.
	failed bool
}

// stepsOf returns the phases of a recording in their order; nil: there is no recording.
func stepsOf(s *result.Scenario) (out []*step) {
	tl := s.Whole()
	if tl == nil {
		return nil
	}
	witness := map[int]bool{}
	for _, f := range s.Findings() {
		maps.Copy(witness, f.Members())
	}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		at := slices.IndexFunc(out, func(x *step) bool { return x.name == o.Phase })
		if at < 0 {
			at, out = len(out), append(out, &step{name: o.Phase, from: o.At, begin: o.Sent, firstDenial: -1,
				partitions: map[string]bool{}})
		}
		out[at].add(o, witness[o.Seq])
	}
	return out
}

func (x *step) add(o *timeline.Observation, witness bool) {
	x.sent++
	x.from, x.to, x.end = min(x.from, o.At), max(x.to, o.At), max(x.end, o.Sent)
	x.partitions[o.Partition] = true
	x.failed = x.failed || witness
	x.latency.Add(o)
	switch o.Outcome {
	case timeline.Allowed:
		x.allowed++
	case timeline.Denied:
		if x.denied++; x.firstDenial < 0 {
			x.firstDenial = o.Sent
		}
	default:
		x.unknown++
	}
	if o.Status >= 500 && o.Outcome != timeline.Denied {
		x.errors++
	}
	if !o.Answered {
		x.lost++
	}
}

// verdict returns Fail for a step with a request that proves a FAIL. It returns Inconclusive if an answer is
// missing or not known, or s itself is open, and Pass otherwise.
func (x *step) verdict(s *result.Scenario) result.Verdict {
	conformant := slices.ContainsFunc(s.Claims, func(c result.Claim) bool {
		return c.ID == result.ConformanceID && c.Verdict != result.Inconclusive
	})
	switch {
	case x.failed:
		return result.Fail
	case x.unknown > 0 || !conformant:
		return result.Inconclusive
	default:
		return result.Pass
	}
}

// offered returns the rate of each client as a share of the limit: 125 %. It returns "at once" if all
// requests came within a hundredth of the time of a unit.
func (x *step) offered(s *result.Scenario) string {
	per := (x.to - x.from).Seconds()
	each := float64(x.sent)/float64(len(x.partitions)) - 1
	if len(s.Limit) == 0 || each <= 0 {
		return "-"
	}
	lowest := 0.0
	for _, p := range s.Limit {
		if r := p.Rate.PerSecond(); p.Rate.Per > 0 && (lowest == 0 || r < lowest) {
			lowest = r
		}
	}
	switch {
	case lowest == 0:
		return "-"
	case per*lowest < each/100:
		return "at once"
	}
	return fmt.Sprintf("%.0f %%", each/per/lowest*100)
}

// stepHead has the heads of the columns of a row.
var stepHead = []string{"phase", "of the limit", "sent", "admitted", "denied", "unknown", "ms admitted",
	"ms denied", "errors", "lost"}

// stepNote explains the columns.
const stepNote = "ms: p50/p99 of the latency, from the plan. Errors: answers of 500 and above that are " +
	"not denials. Lost: requests without an answer."

func (x *step) row(s *result.Scenario) []string {
	l := x.latency.Summary()
	return []string{text.Clean(x.name), x.offered(s), text.Thousands(x.sent), text.Thousands(x.allowed),
		text.Thousands(x.denied), text.Thousands(x.unknown), medianAndTail(l.Allowed.Corrected),
		medianAndTail(l.Denied.Corrected), text.Thousands(x.errors), text.Thousands(x.lost)}
}

// loads writes what a load test is read for, of each scenario that bounds latencies or errors: rate,
// statuses, service times by outcome, and how late rlcheck itself was.
func (s *screen) loads(r *result.Run) {
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		if x.Latency.Lateness.Count == 0 || !slices.ContainsFunc(x.Claims, bounding) {
			continue
		}
		s.line("")
		s.wrapped(0, loadText(x))
		s.line("")
		head := []string{"LATENCY, ms", "ANSWERS", "P50", "P95", "P99", "MAX"}
		s.table(head, "lrrrrr", loadRows(x))
	}
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
