package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// longScreen is the number of lines from which the verdict is repeated at the end, as the first line may be
// out of sight.
const longScreen = 24

// writeTable writes the report for a terminal: the verdict and the measured policy, a line for each scenario,
// and what needs action, each cause once. Verbose writes the findings of each scenario instead of the causes,
// with its latencies and how well the generator kept its plan. Quiet writes only the verdict.
func writeTable(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	s := newScreen(o)
	verdict := s.paintWord(clean.Word(o.Strict), clean.Verdict(o.Strict), true) + ": " +
		s.bold(Headline(clean, o.Strict))
	if o.Quiet {
		_, err := io.WriteString(w, verdict+inBrief(Causes(r, clean, o.Strict))+"\n")
		return err
	}
	s.wrapped(0, verdict)
	for _, line := range evidenceAbout(clean) {
		s.wrapped(0, line)
	}
	s.body(r, clean, o)
	if strings.Count(s.text.String(), "\n") > longScreen {
		s.line("")
		s.wrapped(0, verdict)
	}
	return s.print(w)
}

// body writes what stands below the verdict.
func (s *screen) body(r, clean *result.Run, o Options) {
	if len(clean.Scenarios) == 0 {
		return
	}
	s.line("")
	if o.Verbose {
		s.everything(r, clean, o)
		s.line("")
		s.totals(clean)
		s.notes(clean)
		return
	}
	s.rows(clean, o)
	s.line("")
	s.totals(clean)
	s.loads(clean)
	if ids := result.Untried(clean); len(ids) > 0 {
		s.wrapped(0, strings.Join(ids, ", ")+": not every order was tried, as the exact search reached its "+
			"limit; a fault that shows only in the order of requests may be missed "+
			"(-v: for how many clients)")
	}
	s.causes(Causes(r, clean, o.Strict))
	s.notes(clean)
	for i, text := range clean.Remarks() {
		if i == 0 {
			s.line("")
		}
		s.wrapped(0, text)
	}
	if len(clean.Scenarios) == 1 {
		s.told(&clean.Scenarios[0])
	}
}

// totals writes the numbers that add up.
func (s *screen) totals(r *result.Run) {
	for _, equation := range strings.Split(result.CountsText(r.Sum()), "; ") {
		s.wrapped(0, equation)
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

// leastWhy is the least number of columns of the last cell of a row. Below it, the counts are left out.
const leastWhy = 16

// rows writes one line for each scenario, those that need action first. A line has the verdict, the requests,
// and what was measured or why it did not pass. A scenario that sent nothing and does not count stands only
// in a note, if there are others.
func (s *screen) rows(r *result.Run, o Options) {
	head := []string{"VERDICT", "SCENARIO", "MEASURED, OR WHY", "ALLOWED", "DENIED"}
	least := leastWhy
	if s.width < narrow {
		head[2], least = "MEASURED", len("MEASURED")
	}
	align := "lllrr"
	var rows [][]string
	shown, judged := listed(r, o.Strict)
	for _, x := range shown {
		word := s.paintWord(x.Word(), x.Verdict, x.Weighs(o.Strict))
		if judged && x.Uncounted() {
			word = s.dim("not judged")
		}
		rows = append(rows, []string{word, clip(x.ID, s.width*3/8) + mark(r, x),
			"", text.Thousands(x.Counts.Allowed), text.Thousands(x.Counts.Denied)})
	}
	room := func() int { return s.width - widthOf(head, rows) + len(head[2]) }
	for len(head) > 3 && room() < least {
		last := len(head) - 1
		head, align, rows = head[:last], align[:last], firstColumns(rows, last)
	}
	widest := room()
	for i, x := range shown {
		rows[i][2] = clip(why(x, o.Strict), widest)
	}
	s.table(head, align, rows)
	s.marked(r)
}

// mark returns the sign of a scenario whose failures all count, where those of others of its run do not.
func mark(r *result.Run, x *result.Scenario) string {
	optional := func(s result.Scenario) bool { return !s.Required() }
	if !x.Required() || x.Answer != "" || !slices.ContainsFunc(r.Scenarios, optional) {
		return ""
	}
	return " *"
}

// marked writes below a table what that sign means.
func (s *screen) marked(r *result.Run) {
	if slices.ContainsFunc(r.Scenarios, func(x result.Scenario) bool { return mark(r, &x) != "" }) {
		s.line("")
		s.wrapped(0, "* required: any FAIL of it counts. A FAIL of the others counts if more was admitted "+
			"than the declared limit can, and of recommended ones with --strict.")
	}
}

// urgency orders scenarios: failures that count, other failures, open ones, passed ones, and those that were
// not judged.
func urgency(s *result.Scenario, strict bool) int {
	switch {
	case s.Uncounted():
		return 4
	case s.Verdict == result.Fail && s.Weighs(strict):
		return 0
	case s.Verdict == result.Fail:
		return 1
	case s.Verdict == result.Inconclusive:
		return 2
	default:
		return 3
	}
}

// listed returns the scenarios of r by their urgency, and those of equal urgency in the order of the run. If
// any was judged, those are left out that only a note names.
func listed(r *result.Run, strict bool) (all []*result.Scenario, judged bool) {
	judged = slices.ContainsFunc(r.Scenarios, func(s result.Scenario) bool { return !s.Uncounted() })
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; !judged || !s.Uncounted() || s.Counts.Sent > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *result.Scenario) int {
		return urgency(a, strict) - urgency(b, strict)
	})
	return all, judged
}

// why says in a few words why a scenario did not pass, and what it measured.
func why(s *result.Scenario, strict bool) string {
	var parts []string
	if s.Verdict == result.Fail && !s.Weighs(strict) {
		parts = append(parts, s.Kind)
	}
	if s.Verdict == result.Inconclusive && s.Reason != "" {
		parts = append(parts, string(s.Reason))
	}
	for _, c := range s.Claims {
		if c.Verdict == result.Fail && s.Verdict == result.Fail && c.ID != result.ConformanceID {
			parts = append(parts, c.ID)
		}
	}
	if m := inShort(s); m != "" {
		parts = append(parts, m)
	}
	if n := s.Counts.Unknown; n > 0 {
		parts = append(parts, text.Thousands(n)+" unknown")
	}
	return strings.Join(parts, "; ")
}

// inShort returns what a scenario measured of its limit: 20..20, 9.97..10.04/s, with + between several
// policies. Empty: it measured nothing.
func inShort(s *result.Scenario) string {
	if s.Judgement == nil {
		return ""
	}
	var out []string
	known := false
	for i, p := range s.Limit {
		m := s.Judgement.Measured.Of(i, len(s.Limit))
		burst := shortly(result.SeenBurst(p, m.Burst), "", text.Whole)
		rate := shortly(m.Rate, "/s", text.PerSecond)
		known = known || burst != unmeasured || rate != unmeasured
		switch {
		case p.InFlight(), rate == unmeasured, result.Refuted(m.Burst, p):
			out = append(out, burst)
		default:
			out = append(out, burst+", "+rate)
		}
	}
	if !known {
		return ""
	}
	return strings.Join(out, " + ")
}

// unmeasured stands for a parameter of which nothing is known.
const unmeasured = "-"

// shortly prints an interval in few columns: 20..20, >=18, <=22, none fits.
func shortly(v result.Interval, unit string, text func(x float64, up bool) string) string {
	if v.Finite().Empty() {
		return "none fits"
	}
	return cmp.Or(v.Text(">=", "<=", unit, text), unmeasured)
}

// mostCauses is how many causes are written, as a reader mends one at a time.
const mostCauses = 12

// causes writes what needs action. A mend that several causes in a row share stands below the first.
func (s *screen) causes(all []Cause) {
	shown := all[:min(len(all), mostCauses)]
	for i := range shown {
		c := &shown[i]
		s.line("")
		s.wrapped(0, s.paint(c.Verdict, c.Counts)+" "+c.Who()+": "+c.Sentence())
		for _, l := range c.below() {
			if i == 0 || l != "mend: "+shown[i-1].Mend {
				s.below(l)
			}
		}
	}
	if n := len(all) - len(shown); n > 0 {
		s.line("")
		rest := strings.Join(IDsOf(all[len(shown):]), ", ")
		s.wrapped(0, text.Plural(n, "more cause")+" in "+rest+" (-v shows all)")
	}
}

// below writes a line below a sentence. A command stays on one line.
func (s *screen) below(line string) {
	if strings.HasPrefix(line, "replay: ") {
		s.line("  %s", line)
		return
	}
	s.wrapped(2, line)
}

// inBrief returns what the first cause asks for, behind a semicolon. Empty: that takes more than a sentence.
func inBrief(all []Cause) string {
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

// defaultWidth is the width of a terminal of unknown width. leastWidth is the narrowest width that is laid
// out for.
const (
	defaultWidth = 80
	leastWidth   = 40
	// narrow is the width below which heads are shorter.
	narrow = 60
)

// screen gathers what is written to a terminal.
type screen struct {
	text  strings.Builder
	width int
	color bool
	// err is the first error of a table.
	err error
}

func newScreen(o Options) *screen {
	return &screen{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color}
}

func (s *screen) line(format string, args ...any) { fmt.Fprintf(&s.text, format+"\n", args...) }

// wrapped writes text from column indent on, and later lines two columns farther.
func (s *screen) wrapped(indent int, words string) {
	lines := Wrap(words, s.width-indent-2)
	for i, l := range lines {
		if i > 0 {
			l = "  " + l
		}
		s.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// paint prints a verdict, in colour if that is allowed. A failure that does not count is not red.
func (s *screen) paint(v result.Verdict, counts bool) string {
	return s.paintWord(strings.ToUpper(v.String()), v, counts)
}

// paintWord prints a word in the colour of a verdict.
func (s *screen) paintWord(word string, v result.Verdict, counts bool) string {
	switch {
	case v == result.Pass:
		return s.escape("32", word)
	case v == result.Fail && counts:
		return s.escape("1;31", word)
	default:
		return s.escape("33", word)
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

// table writes rows below a head. Cells are clean already and may have several lines.
func (s *screen) table(head []string, align string, rows [][]string) {
	lines, err := tabulate(head, align, rows)
	for _, l := range lines {
		s.line("%s", l)
	}
	s.err = cmp.Or(s.err, err)
}

// print writes the whole screen. The error is that of a table, or of w.
func (s *screen) print(w io.Writer) error {
	if s.err != nil {
		return s.err
	}
	_, err := io.WriteString(w, s.text.String())
	return err
}

// limitText prints the declared limit of s as a SPEC. Empty: none is declared.
func limitText(s *result.Scenario) string {
	if len(s.Limit) == 0 {
		return ""
	}
	return text.Clean(s.Limit.String())
}

// mostAnswers is how many statuses, and how many reasons of missing answers, are listed.
const mostAnswers = 6

// answersText says how many answers had which status and outcome, and why requests had none, the most
// frequent first: 128 × 429 (denied), 52 × 200 (allowed); not answered: 3 × timeout. Empty: neither is known.
func answersText(s *result.Scenario) string {
	statuses, silences := map[string]int{}, map[string]int{}
	known, t := s.Statuses, s.Whole()
	if len(known) == 0 && t != nil {
		known = t.Statuses()
	}
	for _, x := range known {
		statuses[fmt.Sprintf("%d (%s)", x.Status, x.Outcome)] += x.Answers
	}
	if t != nil {
		for i := range t.Observations {
			if o := &t.Observations[i]; !o.Answered {
				silences[cmp.Or(text.Clean(o.Error), "no error is known")]++
			}
		}
	}
	var parts []string
	if len(statuses) > 0 {
		parts = append(parts, strings.Join(frequencies(statuses), ", "))
	}
	if len(silences) > 0 {
		parts = append(parts, "not answered: "+strings.Join(frequencies(silences), ", "))
	}
	return strings.Join(parts, "; ")
}

// frequencies prints how often each word occurs, the most frequent first.
func frequencies(n map[string]int) []string {
	words := slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, w := range words[:min(len(words), mostAnswers)] {
		out = append(out, text.Thousands(n[w])+" × "+w)
	}
	if rest := len(words) - mostAnswers; rest > 0 {
		out = append(out, fmt.Sprintf("%d more kinds", rest))
	}
	return out
}
