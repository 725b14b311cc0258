package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// ComparisonFormats returns the formats of WriteComparison, the usual one first.
func ComparisonFormats() []string { return []string{"table", "json", "markdown"} }

// WriteComparison writes a comparison in one of ComparisonFormats. Errors: those of w.
func WriteComparison(w io.Writer, format string, c *Comparison, o Options) error {
	switch format {
	case "json":
		text, err := marshal(filled(*c))
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	case "markdown":
		return comparisonMarkdown(w, c)
	default:
		return comparisonTable(w, c, o)
	}
}

// comparisonTable writes for a terminal: the verdict and its reasons, a row for each scenario, a row for each
// latency.
func comparisonTable(w io.Writer, c *Comparison, o Options) error {
	s := newScreen(o)
	s.wrapped(0, s.paint(c.Verdict, true)+": "+s.bold(text.Clean(comparisonHeadline(c))))
	if !o.Quiet {
		for _, line := range append(text.CleanAll(c.Why), text.CleanAll(c.Notes)...) {
			s.wrapped(2, line)
		}
		s.line("")
		s.compared(c, o.Verbose)
	}
	return s.print(w)
}

// compared writes the tables of a comparison, and what they are worth.
func (s *screen) compared(c *Comparison, all bool) {
	scenarios, same := comparedScenarios(c, s.width, all)
	if len(scenarios) > 0 {
		s.table([]string{"SCENARIO", "VERDICT", "MEASURED"}, "lll", scenarios)
		s.line("")
	}
	rows, hidden := comparedLatencies(c, all)
	if len(rows) > 0 {
		head, align := []string{"SCENARIO", "LATENCY", "OLD ms", "NEW ms", "CHANGE"}, "llrrl"
		if widthOf(head, rows) > s.width { // the sides below each other
			head, align = []string{"SCENARIO", "LATENCY", "NEW, OLD ms", "CHANGE"}, "llrl"
			for i, r := range rows {
				rows[i] = []string{r[0], r[1], r[3] + "\n" + r[2], r[4]}
			}
		}
		s.table(head, align, rows)
		s.line("")
	}
	if same > 0 {
		s.wrapped(0, fmt.Sprintf("%s did not change (-v lists them).", text.Plural(same, "scenario")))
	}
	for _, text := range comparisonFoot(c, hidden) {
		s.wrapped(0, text)
	}
}

// comparisonHeadline says in one line what differs.
func comparisonHeadline(c *Comparison) string {
	worse, better, policies := 0, 0, 0
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		switch s.Change {
		case Worse:
			worse++
		case Better:
			better++
		}
		for _, p := range s.Parameters {
			if p.Changed {
				policies++
			}
		}
	}
	parts := []string{text.Plural(len(c.Scenarios), "scenario") + " compared"}
	for _, x := range []struct {
		n    int
		noun string
		what string
	}{{worse, "verdict", "worse"}, {better, "verdict", "better"}, {policies, "measured parameter",
		"changed"}} {
		if x.n > 0 {
			parts = append(parts, text.Plural(x.n, x.noun)+" "+x.what)
		}
	}
	if worse+better == 0 {
		parts = append(parts, "the same verdicts")
	}
	switch {
	case c.Rows == 0:
	case c.slower+c.faster == 0:
		parts = append(parts, "no difference of latency can be shown")
	default:
		parts = append(parts, fmt.Sprintf("of %s %d slower, %d faster", latencyCount(c.Rows), c.slower,
			c.faster))
	}
	return strings.Join(parts, ", ")
}

func latencyCount(n int) string {
	if n == 1 {
		return "1 latency"
	}
	return text.Thousands(n) + " latencies"
}

// mostScenarios is how many scenarios are listed without -v. If there are more, only those that changed are.
const mostScenarios = 12

// comparedScenarios returns the rows of the scenarios, with changed ones first, and how many were left out.
func comparedScenarios(c *Comparison, width int, all bool) (rows [][]string, hidden int) {
	for _, same := range []bool{false, true} {
		for i := range c.Scenarios {
			s := &c.Scenarios[i]
			changed := slices.ContainsFunc(s.Parameters, func(p Parameter) bool { return p.Changed })
			switch {
			case (s.Change == Same && !changed) != same:
				continue
			case same && !all && len(c.Scenarios) > mostScenarios:
				hidden++
				continue
			}
			verdicts := text.Clean(s.New.String())
			if s.Change != Same {
				verdicts = string(s.Change) + ": " + verdicts + "\nwas " + text.Clean(s.Old.String())
			}
			room := max(width*5/12, 30)
			rows = append(rows, []string{clip(text.Clean(s.ID), 32), verdicts,
				rewrap(parameterText(s), room)})
		}
	}
	return rows, hidden
}

// parameterText says what was measured of each parameter: once, if one value explains both sides.
func parameterText(s *ComparedScenario) string {
	var lines []string
	for i := range s.Parameters {
		p := &s.Parameters[i]
		name := p.Name
		if p.Policy > 0 {
			name += fmt.Sprintf(" of policy %d", p.Policy)
		}
		if p.Changed {
			name += " changed:"
		}
		old, now := p.Text(p.Old), p.Text(p.New)
		line := name + " " + now
		if p.Changed || old != now {
			line += ", was " + strings.TrimPrefix(old, "measured ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// mostLatencies is how many latencies are listed without -v. If there are more, only those that differ are.
const mostLatencies = 24

// comparedLatencies returns the rows of the latencies, and how many were left out.
func comparedLatencies(c *Comparison, all bool) (rows [][]string, hidden int) {
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		for k := range s.Latencies {
			l := &s.Latencies[k]
			if !all && c.Rows > mostLatencies && !l.Ratio.Differs() {
				hidden++
				continue
			}
			rows = append(rows, []string{clip(text.Clean(s.ID), 24), l.Name(), sampleText(&l.Old),
				sampleText(&l.New), shiftText(l.Ratio)})
		}
	}
	return rows, hidden
}

// sampleText prints 1.20 (1.10..1.31): the median of the runs, and its interval.
func sampleText(s *Sample) string {
	end := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return text.Millis(d)
	}
	return fmt.Sprintf("%s (%s..%s)", text.Millis(s.Median), end(s.Within[0]), end(s.Within[1]))
}

// shiftText says what a ratio shows.
func shiftText(r Ratio) string {
	span := Percent(r.Lo) + " .. " + Percent(r.Hi)
	switch {
	case !r.Bounded:
		return "not shown"
	case r.Lo > 1:
		return "slower: " + span
	case r.Hi < 1:
		return "faster: " + span
	default:
		return "not shown: " + span
	}
}

// comparisonFoot says what the numbers are worth.
func comparisonFoot(c *Comparison, hidden int) (out []string) {
	if hidden > 0 {
		out = append(out, fmt.Sprintf("For %s no difference can be shown (-v lists them).",
			latencyCount(hidden)))
	}
	n, m := len(c.Old.Runs), len(c.New.Runs)
	sides := fmt.Sprintf("Compared: %s (old) with %s (new).", text.Plural(n, "run"), text.Plural(m, "run"))
	switch {
	case c.Rows == 0:
		return append(out, sides+" No latency: too few answers of one outcome on both sides.")
	case n == 1 && m == 1:
		sides += " In parentheses: the 95 % interval of the quantile of this one run. One run on each " +
			"side does not say how much runs of one build differ, so no difference of latency can be shown." +
			fmt.Sprintf(" %s on each side can show a difference.", text.Plural(c.Needed, "run"))
	default:
		sides += " In parentheses: the smallest and the largest run, or the 95 % interval of the quantile " +
			"of one run. A change holds with 95 % for all rows together (rank test of Mann and Whitney)."
		if min(n, m) < c.Needed {
			sides += fmt.Sprintf(" For this many rows it takes %d runs on each side.", c.Needed)
		}
	}
	if len(c.OnlyNew) > 0 {
		out = append(out, "New: "+strings.Join(text.CleanAll(c.OnlyNew), ", ")+".")
	}
	return append(out, sides+" Latency counts from the plan.")
}

// comparisonMarkdown writes GitHub-flavoured Markdown, fit for a step summary.
func comparisonMarkdown(w io.Writer, c *Comparison) error {
	var scenarios [][]string
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		now := mdSign(s.New.Verdict, s.Counts)
		if words := s.New.String(); strings.Contains(words, "(") {
			now += " " + text.Markdown(text.Clean(words[strings.Index(words, "("):]))
		}
		scenarios = append(scenarios, []string{text.MarkdownCode(text.Clean(s.ID), true),
			text.Markdown(text.Clean(s.Old.String())), now,
			strings.ReplaceAll(text.Markdown(parameterText(s)), "\n", "<br>")})
	}
	latencies, _ := comparedLatencies(c, true)
	return write(w, markdown(), "comparison", map[string]any{
		"Word": strings.ToUpper(c.Verdict.String()), "Headline": text.Clean(comparisonHeadline(c)),
		"Lines": append(text.CleanAll(c.Why), text.CleanAll(c.Notes)...), "Scenarios": scenarios,
		"Latencies": latencies, "Open": c.slower+c.faster > 0 || c.Verdict == result.Fail,
		"Foot": comparisonFoot(c, 0)})
}

// Parameter is one parameter of a measured policy.
type Parameter struct {
	// Name is burst, quota, rate, and so on. Policy is the number of its policy, from 1; 0 if the limit has
	// only one.
	Name   string `json:"name"`
	Policy int    `json:"policy"`
	// Old and New are the values that the runs of a side together do not refute.
	Old result.Interval `json:"old"`
	New result.Interval `json:"new"`
	// Changed tells that no value explains both sides.
	Changed bool `json:"changed"`
	// perSecond tells that the parameter is a rate.
	perSecond bool
}

// Text formats one of the two intervals.
func (p *Parameter) Text(v result.Interval) string {
	if p.perSecond {
		return result.IntervalText(v, "/s", text.PerSecond)
	}
	return result.IntervalText(v, "", text.Whole)
}

// parameters compares what was measured of the declared policies. Both sides must declare the same
// algorithms, and all runs must have used fresh clients. If a declared burst does not hold, nothing is known
// about its rate.
func parameters(old, new []*result.Scenario) (out []Parameter) {
	l, k := old[0].Limit, new[0].Limit
	used := func(s *result.Scenario) bool { return !s.Fresh }
	if len(l) != len(k) || slices.ContainsFunc(old, used) || slices.ContainsFunc(new, used) {
		return nil
	}
	a, b := together(old), together(new)
	for i := range l {
		if l[i].Algorithm != k[i].Algorithm {
			return nil
		}
		of := 0
		if len(l) > 1 {
			of = i + 1
		}
		x, y := a.Of(i, len(l)), b.Of(i, len(l))
		out = addKnown(out, Parameter{Name: l[i].Noun(), Policy: of, Old: x.Burst, New: y.Burst})
		if !l[i].InFlight() && !result.Refuted(x.Burst, l[i]) && !result.Refuted(y.Burst, k[i]) {
			out = addKnown(out, Parameter{Name: "rate", Policy: of, Old: x.Rate, New: y.Rate,
				perSecond: true})
		}
	}
	return out
}

// addKnown adds a parameter if both sides know something about it.
func addKnown(out []Parameter, p Parameter) []Parameter {
	known := func(v result.Interval) bool { return (v.LoSet || v.HiSet) && !v.Empty() }
	if p.Old, p.New = p.Old.Finite(), p.New.Finite(); !known(p.Old) || !known(p.New) {
		return out
	}
	p.Changed = p.Old.Intersect(p.New).Empty()
	return append(out, p)
}

// together returns what several runs of a scenario measured: the intersection.
func together(runs []*result.Scenario) (m result.Measured) {
	for i, s := range runs {
		switch {
		case s.Judgement == nil:
		case i == 0:
			m = s.Judgement.Measured
		default:
			m = m.Intersect(s.Judgement.Measured)
		}
	}
	return m
}
