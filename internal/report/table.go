package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report/columns"
	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// The width of a terminal that does not tell, and the narrowest that is laid out for.
const (
	defaultWidth = 80
	leastWidth   = 60
)

// screen gathers what is written to a terminal.
type screen struct {
	text  strings.Builder
	width int
	color bool
}

// longScreen is the number of lines from which the verdict is told again at the end: the first line may be
// out of sight.
const longScreen = 24

// writeTable writes the report for a terminal: the verdict and the measured policy, a line a scenario, and
// what needs action, each cause once. Verbose writes instead of the causes what each scenario found, its
// latencies, and how well the generator kept its plan; quiet, the verdict alone.
func writeTable(w io.Writer, r *result.Run, o Options) error {
	clean := plain.Run(r)
	s := &screen{width: max(o.Width, leastWidth), color: o.Color}
	if o.Width == 0 {
		s.width = defaultWidth
	}
	verdict := s.paint(clean.Verdict(o.Strict), true) + ": " + s.bold(evidence.Headline(clean, o.Strict))
	if o.Quiet {
		_, err := io.WriteString(w, verdict+inBrief(evidence.Causes(r, clean, o.Strict))+"\n")
		return err
	}
	s.wrapped(0, verdict)
	for _, line := range evidence.About(clean) {
		s.wrapped(0, line)
	}
	if err := s.body(r, clean, o); err != nil {
		return err
	}
	if strings.Count(s.text.String(), "\n") > longScreen {
		s.line("")
		s.wrapped(0, verdict)
	}
	_, err := io.WriteString(w, s.text.String())
	return err
}

// body writes what stands below the verdict.
func (s *screen) body(r, clean *result.Run, o Options) error {
	if len(clean.Scenarios) == 0 {
		return nil
	}
	s.line("")
	if o.Verbose {
		if err := s.everything(r, clean, o); err != nil {
			return err
		}
		s.line("")
		s.totals(clean)
		s.notes(clean)
		return nil
	}
	if err := s.rows(clean, o); err != nil {
		return err
	}
	s.line("")
	s.totals(clean)
	if ids := result.Untried(clean); len(ids) > 0 {
		s.wrapped(0, "not every order was tried in "+strings.Join(ids, ", ")+" (-v says of how many clients)")
	}
	s.causes(evidence.Causes(r, clean, o.Strict))
	s.notes(clean)
	for i, text := range clean.Remarks() {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, text)
	}
	if len(clean.Scenarios) == 1 {
		return s.told(&clean.Scenarios[0])
	}
	return nil
}

// everything writes all that was found of each scenario.
func (s *screen) everything(r, clean *result.Run, o Options) error {
	if err := s.scenarios(clean, o); err != nil {
		return err
	}
	for i := range clean.Scenarios {
		s.failure(&r.Scenarios[i], &clean.Scenarios[i], o)
	}
	for i := range clean.Scenarios {
		s.open(&clean.Scenarios[i])
	}
	for i := range clean.Scenarios {
		if err := s.told(&clean.Scenarios[i]); err != nil {
			return err
		}
	}
	if err := s.latencies(clean); err != nil {
		return err
	}
	for i := range r.Scenarios {
		if err := s.clients(&r.Scenarios[i]); err != nil {
			return err
		}
	}
	s.generators(clean)
	return nil
}

func (s *screen) line(format string, args ...any) { fmt.Fprintf(&s.text, format+"\n", args...) }

// wrapped writes text from column indent on, later lines two columns further.
func (s *screen) wrapped(indent int, text string) {
	lines := columns.Wrap(text, s.width-indent-2)
	for i, l := range lines {
		if i > 0 {
			l = "  " + l
		}
		s.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// paint prints a verdict, coloured where that is allowed; a failure that does not count is not red.
func (s *screen) paint(v verdict.Verdict, counts bool) string {
	switch {
	case v == verdict.Pass:
		return s.escape("32", "PASS")
	case v == verdict.Fail && counts:
		return s.escape("1;31", "FAIL")
	case v == verdict.Fail:
		return s.escape("33", "FAIL")
	default:
		return s.escape("33", "INCONCLUSIVE")
	}
}

func (s *screen) bold(text string) string { return s.escape("1", text) }

func (s *screen) dim(text string) string { return s.escape("2", text) }

func (s *screen) escape(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// scenarios writes a row a scenario: in columns where they fit, else with what belongs together below each
// other.
func (s *screen) scenarios(r *result.Run, o Options) error {
	head := []string{"VERDICT", "SCENARIO", "DECLARED (MEASURED)", "ALLOWED", "DENIED", "UNKNOWN",
		"P50/P99 ms"}
	align := "lllrrrr"
	var rows [][]string
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		rows = append(rows, []string{s.verdictCell(x, o), columns.Clip(x.ID, 32),
			strings.Join(x.Worth(), "\n"), quantity.Thousands(x.Counts.Allowed),
			quantity.Thousands(x.Counts.Denied), quantity.Thousands(x.Counts.Unknown), tails(x)})
	}
	if columns.Width(head, rows) <= s.width {
		return s.table(head, align, rows)
	}
	head = []string{"VERDICT", "SCENARIO", "DECLARED (MEASURED), REQUESTS, P50/P99 ms"}
	for i, row := range rows {
		body := fmt.Sprintf("%s allowed, %s denied, %s unknown\n%s", row[3], row[4], row[5],
			strings.ReplaceAll(row[6], "\n", " | "))
		if row[2] != "" {
			body = row[2] + "\n" + body
		}
		rows[i] = []string{row[0], row[1], body}
	}
	room := s.width - columns.Width(head[:2], firstColumns(rows, 2)) - 2
	for i := range rows {
		rows[i][2] = columns.Rewrap(rows[i][2], room)
	}
	head[2] = columns.Rewrap(head[2], room)
	return s.table(head, align[:3], rows)
}

// tails are the median and the 99th percentile of the service times, allowed above denied; of a target whose
// answers are all neither, those of its answers.
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

// verdictCell is the verdict and, where a failure does not count, the kind.
func (s *screen) verdictCell(x *result.Scenario, o Options) string {
	if x.Verdict == verdict.Fail && !x.Weighs(o.Strict) {
		return s.paint(x.Verdict, false) + "\n" + x.Kind
	}
	return s.paint(x.Verdict, true)
}

func firstColumns(rows [][]string, n int) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = r[:n]
	}
	return out
}

// table writes rows below a head. Cells are clean already and may have several lines.
func (s *screen) table(head []string, align string, rows [][]string) error {
	lines, err := columns.Table(head, align, rows)
	for _, l := range lines {
		s.line("%s", l)
	}
	return err
}
