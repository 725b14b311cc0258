package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report/columns"
	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// failure writes what was found against one scenario: the sentence, where in the recording, how to see it
// again.
func (s *screen) failure(raw, x *result.Scenario, o Options) {
	if x.Verdict != verdict.Fail {
		return
	}
	found := evidence.Shown(evidence.Failures(raw))
	if len(found) == 0 {
		found = []evidence.Failure{{Claim: evidence.Conformance, Sentence: x.Detail}}
	}
	s.line("")
	for _, e := range found {
		who := x.ID
		if e.Claim != evidence.Conformance && e.Claim != "" {
			who += ": " + e.Claim
		}
		head := s.paint(verdict.Fail, x.Weighs(o.Strict)) + " " + who + ": "
		s.wrapped(0, head+e.Sentence)
		if e.Span != "" {
			s.wrapped(2, e.Span)
		}
		if e.Hint != "" {
			s.wrapped(2, "perhaps: "+e.Hint)
		}
		if e.Replay != "" {
			s.line("  replay: %s", e.Replay)
		}
	}
}

// open writes why a scenario is inconclusive and what to do about it.
func (s *screen) open(x *result.Scenario) {
	for i, t := range evidence.Troubles(x) {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, s.paint(verdict.Inconclusive, true)+" "+x.ID+": "+t.Line())
		if t.Mend != "" {
			s.wrapped(2, "mend: "+t.Mend)
		}
	}
}

// latencies writes the distributions: corrected latency counts from the plan, service time from the send.
func (s *screen) latencies(r *result.Run) error {
	rows := latencyRows(r)
	if len(rows) == 0 {
		return nil
	}
	s.line("")
	head := append([]string{"LATENCY, ms", "OUTCOME", "FROM", "ANSWERS"}, quantileNames...)
	align := "lllrrrrrr"
	var cells [][]string
	scenario, outcome := "", ""
	for _, l := range rows {
		row := []string{columns.Clip(l.scenario, 32), l.outcome, l.from,
			quantity.Thousands(int(l.dist.Count))}
		if l.scenario == scenario && l.outcome == outcome {
			row[1], row[3] = "", ""
		}
		if l.scenario == scenario {
			row[0] = ""
		}
		scenario, outcome = l.scenario, l.outcome
		cells = append(cells, append(row, l.values()...))
	}
	// the number of answers is in the first table too
	for _, spare := range []string{"ANSWERS", "P99.9", "P90"} {
		if columns.Width(head, cells) <= s.width {
			break
		}
		i := slices.Index(head, spare)
		head, align = without(head, i), align[:i]+align[i+1:]
		for n, row := range cells {
			cells[n] = without(row, i)
		}
	}
	return s.table(head, align, cells)
}

// without returns a list without its element i, and leaves the list as it is.
func without[T any](list []T, i int) []T { return slices.Concat(list[:i], list[i+1:]) }

// generators writes what the generator says of itself, a line a scenario.
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

// totals writes the numbers that add up.
func (s *screen) totals(r *result.Run) {
	for _, equation := range strings.Split(result.CountsText(r.Sum()), "; ") {
		s.line("%s", equation)
	}
}

// recorder names what recorded s: the generator, or something else of which only the recording is known.
func recorder(s *result.Scenario) string {
	if s.Target == "" {
		return "recording"
	}
	return "generator"
}

// protocolText is what the target spoke: HTTP/2, TLS 1.3. Empty where it is not known.
func protocolText(s *result.Scenario) string {
	return strings.Join(plain.All(s.Header.Protocols), "; ")
}

// generatorText says how well the generator kept its plan; empty where nothing was measured.
func generatorText(s *result.Scenario) string {
	var parts []string
	if l := s.Latency.Lateness; l.Count > 0 {
		parts = append(parts,
			fmt.Sprintf("late p99 %s, max %s", quantity.Brief(l.P99), quantity.Brief(l.Max)))
	}
	for _, k := range s.Header.Phases {
		if text := slipped(k); text != "" {
			parts = append(parts, plain.Text(k.Phase)+": "+text)
		}
	}
	for _, x := range s.Header.Spreads {
		parts = append(parts, fmt.Sprintf("%s at once in %s", quantity.Thousands(x.Requests),
			quantity.Brief(x.Width)))
	}
	a := s.Header.Audit
	if a.Connections > 0 {
		parts = append(parts, quantity.Plural(a.Connections, "connection"))
	}
	if a.CPUShare > 0 {
		parts = append(parts, fmt.Sprintf("%.2f CPUs", a.CPUShare))
	}
	if a.Collections > 0 {
		parts = append(parts, fmt.Sprintf("GC pause %s", quantity.Brief(a.LongestGC)))
	}
	for _, n := range s.Header.Notes {
		parts = append(parts, plain.Text(n))
	}
	return strings.Join(parts, "; ")
}

// slipped says where the plan of a phase was not kept; empty where it was.
func slipped(k timeline.Kept) string {
	const told = time.Millisecond
	var parts []string
	if k.Unsent > 0 {
		parts = append(parts, fmt.Sprintf("%s not sent", quantity.Thousands(k.Unsent)))
	}
	if k.LateP99 > told {
		parts = append(parts, "late p99 "+quantity.Brief(k.LateP99))
	}
	if k.Stalled > 0 {
		parts = append(parts, "stood still for "+quantity.Brief(k.Stalled))
	}
	if k.ReadLag > told {
		parts = append(parts, "read up to "+quantity.Brief(k.ReadLag)+" late")
	}
	return strings.Join(parts, ", ")
}

// provenance says in one line which program recorded what, when and where.
func provenance(r *result.Run) string {
	parts := []string{strings.TrimSpace("rlcheck " + r.Version), "run " + r.ID}
	if !r.Started.IsZero() {
		parts = append(parts, r.Started.UTC().Format(time.RFC3339))
	}
	parts = append(parts, quantity.Brief(r.Duration))
	if h := r.Host; h.GoVersion != "" {
		parts = append(parts,
			fmt.Sprintf("%s %s/%s, %s", h.GoVersion, h.OS, h.Arch, quantity.Plural(h.CPUs, "processor")))
	}
	if len(r.Command) > 0 {
		parts = append(parts, strings.Join(r.Command, " "))
	}
	return strings.Join(parts, " · ")
}

// mostCauses is how many causes are written: a reader mends one at a time.
const mostCauses = 12

// causes writes what needs action. A mend that the next cause has too stands below that.
func (s *screen) causes(all []evidence.Cause) {
	shown := all[:min(len(all), mostCauses)]
	for i := range shown {
		c := &shown[i]
		s.line("")
		s.wrapped(0, s.paint(c.Verdict, c.Counts)+" "+c.Who()+": "+c.Sentence())
		for _, l := range []string{c.Clearest.Span, c.Also()} {
			if l != "" {
				s.wrapped(2, l)
			}
		}
		if c.Clearest.Hint != "" {
			s.wrapped(2, "perhaps: "+c.Clearest.Hint)
		}
		if c.Mend != "" && (i+1 == len(shown) || shown[i+1].Mend != c.Mend) {
			s.wrapped(2, "mend: "+c.Mend)
		}
		if c.Clearest.Replay != "" {
			s.line("  replay: %s", c.Clearest.Replay)
		}
	}
	if n := len(all) - len(shown); n > 0 {
		s.line("")
		rest := strings.Join(evidence.IDsOf(all[len(shown):]), ", ")
		s.wrapped(0, quantity.Plural(n, "more cause")+" in "+rest+" (-v shows all)")
	}
}

// inBrief is what the first cause asks for, behind a semicolon; empty where it takes more than a sentence to
// say.
func inBrief(all []evidence.Cause) string {
	switch {
	case len(all) == 0:
		return ""
	case all[0].First:
		return "; " + all[0].Clearest.Sentence
	case all[0].Clearest.Hint != "":
		return "; perhaps: " + all[0].Clearest.Hint
	default:
		return ""
	}
}

// notes writes what was not judged and does not count, a line for each thing that the targets never had.
func (s *screen) notes(r *result.Run) {
	for i, n := range r.Notes() {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, "note: "+n.String())
	}
}
