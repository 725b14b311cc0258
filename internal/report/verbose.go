package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// everything writes all findings of each scenario.
func (s *screen) everything(r, clean *result.Run, o Options) {
	s.scenarios(clean, o)
	for i := range clean.Scenarios {
		s.failure(&r.Scenarios[i], &clean.Scenarios[i], o)
	}
	for i := range clean.Scenarios {
		s.open(&clean.Scenarios[i])
	}
	for i := range clean.Scenarios {
		s.told(&clean.Scenarios[i])
	}
	s.bases(clean)
	s.latencies(clean)
	for i := range r.Scenarios {
		s.clients(&r.Scenarios[i])
	}
	s.generators(clean)
}

// bases writes what each PASS rests on.
func (s *screen) bases(r *result.Run) {
	s.line("")
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		for k := range x.Claims {
			if basis := x.Claims[k].Basis(); basis != "" {
				s.wrapped(0, x.ID+": "+x.Claims[k].ID+" "+basis)
			}
		}
	}
}

// scenarios writes a row for each scenario, in columns if they fit, otherwise with related cells below each
// other.
func (s *screen) scenarios(r *result.Run, o Options) {
	limits := strings.ToUpper(r.LimitWord())
	head := []string{"VERDICT", "SCENARIO", limits + " (MEASURED)", "ALLOWED", "DENIED", "UNKNOWN",
		"P50/P99 ms"}
	align := "lllrrrr"
	var rows [][]string
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		rows = append(rows, []string{s.verdictCell(x, o), clip(x.ID, 32) + mark(r, x),
			strings.Join(x.Worth(), "\n"), text.Thousands(x.Counts.Allowed),
			text.Thousands(x.Counts.Denied), text.Thousands(x.Counts.Unknown), tails(x)})
	}
	if widthOf(head, rows) <= s.width {
		s.table(head, align, rows)
		s.marked(r)
		return
	}
	head = []string{"VERDICT", "SCENARIO", limits + " (MEASURED), REQUESTS, P50/P99 ms"}
	for i, row := range rows {
		body := fmt.Sprintf("%s allowed, %s denied, %s unknown\n%s", row[3], row[4], row[5],
			strings.ReplaceAll(row[6], "\n", " | "))
		if row[2] != "" {
			body = row[2] + "\n" + body
		}
		rows[i] = []string{row[0], row[1], body}
	}
	room := s.width - widthOf(head[:2], firstColumns(rows, 2)) - 2
	for i := range rows {
		rows[i][2] = rewrap(rows[i][2], room)
	}
	head[2] = rewrap(head[2], room)
	s.table(head, align[:3], rows)
	s.marked(r)
}

// tails returns the median and the 99th percentile of the service times, allowed above denied. If all answers
// of a target are neither, it returns those of all answers.
func tails(x *result.Scenario) string {
	switch l := &x.Latency; {
	case l.Allowed.Service.Count+l.Denied.Service.Count > 0:
	case x.Target == "" && x.Counts.Sent > 0 && !x.Timed():
		return "not known"
	case l.Unknown.Service.Count > 0:
		return "unknown " + medianAndTail(l.Unknown.Service)
	default:
		return "no answers"
	}
	return "allowed " + medianAndTail(x.Latency.Allowed.Service) + "\ndenied " +
		medianAndTail(x.Latency.Denied.Service)
}

// verdictCell returns the verdict and, if a failure does not count, the kind.
func (s *screen) verdictCell(x *result.Scenario, o Options) string {
	if x.Verdict == result.Fail && !x.Weighs(o.Strict) {
		return s.paint(x.Verdict, false) + "\n" + x.Kind
	}
	return s.paintWord(x.Word(), x.Verdict, true)
}

func firstColumns(rows [][]string, n int) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = r[:n]
	}
	return out
}

// failure writes the findings of one scenario: the sentence, the place in the recording, and how to see it
// again.
func (s *screen) failure(raw, x *result.Scenario, o Options) {
	if x.Verdict != result.Fail {
		return
	}
	found := result.FirstFailures(raw.Failures())
	if len(found) == 0 {
		found = []result.Failure{{Claim: result.ConformanceID, Sentence: x.Detail}}
	}
	s.line("")
	for _, e := range found {
		for i, l := range e.Lines() {
			if i == 0 {
				s.wrapped(0, s.paint(result.Fail, x.Weighs(o.Strict))+" "+x.ID+": "+l)
			} else {
				s.below(strings.TrimSpace(l))
			}
		}
	}
}

// open writes why a scenario is inconclusive and what to do about it.
func (s *screen) open(x *result.Scenario) {
	for i, t := range Troubles(x) {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, s.paint(result.Inconclusive, true)+" "+x.ID+": "+t.Line())
		if t.Mend != "" {
			s.wrapped(2, "mend: "+t.Mend)
		}
	}
}

// latencies writes the distributions. Corrected latency counts from the plan, service time from the send.
func (s *screen) latencies(r *result.Run) {
	rows := latencyRows(r)
	if len(rows) == 0 {
		return
	}
	s.line("")
	head := append([]string{"LATENCY, ms", "OUTCOME", "FROM", "ANSWERS"}, quantileNames...)
	align := "lllrrrrrr"
	var cells [][]string
	scenario, outcome := "", ""
	for _, l := range rows {
		row := []string{clip(l.scenario, 32), l.outcome, l.from, text.Thousands(int(l.dist.Count))}
		if l.scenario == scenario && l.outcome == outcome {
			row[1], row[3] = "", ""
		}
		if l.scenario == scenario {
			row[0] = ""
		}
		scenario, outcome = l.scenario, l.outcome
		cells = append(cells, append(row, l.values()...))
	}
	// The number of answers is in the first table too.
	s.fitting(head, align, cells, "ANSWERS", "P99.9", "P90")
}

// fitting writes a table, if need be without the spare columns, of which the first goes first.
func (s *screen) fitting(head []string, align string, rows [][]string, spare ...string) {
	for _, name := range spare {
		if widthOf(head, rows) <= s.width {
			break
		}
		i := slices.Index(head, name)
		head, align = without(head, i), align[:i]+align[i+1:]
		for n, row := range rows {
			rows[n] = without(row, i)
		}
	}
	s.table(head, align, rows)
}

// without returns a list without its element i, and leaves the list unchanged.
func without[T any](list []T, i int) []T { return slices.Concat(list[:i], list[i+1:]) }

// generators writes what the generator says of itself, a line for each scenario.
func (s *screen) generators(r *result.Run) {
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		text := strings.Trim(protocolText(x)+"; "+generatorText(x), "; ")
		if i == 0 && text != "" {
			s.line("")
		}
		if text != "" {
			s.wrapped(0, s.dim(recorder(x))+" "+x.ID+": "+text)
		}
	}
}
