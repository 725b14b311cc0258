package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// writeMarkdown writes GitHub-flavoured Markdown, fit for a step summary: the verdict and the measured
// policy, a table of scenarios, and what needs action, each cause once. Below that, folded, are the findings
// of each scenario and the latencies.
func writeMarkdown(w io.Writer, r *result.Run, o Options) error {
	clean := plain.Run(r)
	m := &markdown{}
	m.line("## rlcheck: %s: %s", clean.Word(o.Strict),
		plain.Markdown(evidence.Headline(clean, o.Strict)))
	for _, line := range evidence.About(clean) {
		m.line("")
		m.line("%s", plain.Markdown(line))
	}
	m.line("")
	m.line("%s", plain.Markdown(result.CountsText(clean.Sum())))
	for i, n := range clean.Notes() {
		if i == 0 {
			m.line("")
		}
		m.line("- %s", plain.Markdown(n.String()))
	}
	if len(clean.Scenarios) > 0 {
		m.scenarios(clean, o)
		all := evidence.Causes(r, clean, o.Strict)
		m.causes(all)
		if slices.ContainsFunc(all, func(c evidence.Cause) bool { return c.Several() }) {
			m.each(r, clean, o)
		}
		m.remarks(clean)
		for i := range clean.Scenarios {
			m.told(&clean.Scenarios[i])
		}
		m.latencies(clean)
		m.steps(r)
	}
	m.line("")
	m.line("<sub>%s</sub>", plain.Markdown(provenance(clean)))
	_, err := io.WriteString(w, m.text.String())
	return err
}

// causes lists what needs action.
func (m *markdown) causes(all []evidence.Cause) {
	for i := range all {
		c := &all[i]
		m.line("")
		m.line("### %s %s", mdSign(c.Verdict, c.Counts), plain.Markdown(c.Who()))
		m.line("")
		m.line("- %s", plain.Markdown(c.Sentence()))
		for _, l := range c.Lines()[1:] {
			if command, ok := strings.CutPrefix(l, "replay: "); ok {
				m.line("  <br>replay: %s", plain.Code(command, false))
			} else {
				m.line("  <br>%s", plain.Markdown(l))
			}
		}
	}
}

// each writes the findings of each scenario, folded.
func (m *markdown) each(r, clean *result.Run, o Options) {
	m.line("")
	m.line("<details><summary>Each scenario</summary>")
	for i := range clean.Scenarios {
		m.failure(&r.Scenarios[i], &clean.Scenarios[i], o)
	}
	m.open(clean)
	m.line("")
	m.line("</details>")
}

// mdSign returns a verdict with a sign that does not need colour.
func mdSign(v verdict.Verdict, counts bool) string {
	switch {
	case v == verdict.Fail && counts:
		return "❌ **FAIL**"
	case v == verdict.Fail:
		return "⚠️ FAIL"
	case v == verdict.Pass:
		return "✅ PASS"
	default:
		return "❔ INCONCLUSIVE"
	}
}

// markdown gathers lines. The caller escapes texts from outside.
type markdown struct{ text strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

func (m *markdown) row(cells ...string) { m.line("| %s |", strings.Join(cells, " | ")) }

func (m *markdown) scenarios(r *result.Run, o Options) {
	m.line("")
	m.row("verdict", "scenario", r.LimitWord()+" (measured)", "allowed", "denied", "unknown",
		"p50 / p99 allowed", "p50 / p99 denied")
	m.row("---", "---", "---", "--:", "--:", "--:", "--:", "--:")
	all, judged := listed(r, o.Strict)
	for _, s := range all {
		worths, word := s.Worth(), mdVerdict(s, o)
		if judged && s.Uncounted() {
			word = "not judged"
		}
		for k := range worths {
			worths[k] = plain.Markdown(worths[k])
		}
		m.row(word, plain.Code(s.ID, true)+"<br>"+plain.Markdown(s.Title),
			strings.Join(worths, "<br>"), quantity.Thousands(s.Counts.Allowed),
			quantity.Thousands(s.Counts.Denied), quantity.Thousands(s.Counts.Unknown),
			medianAndTail(s.Latency.Allowed.Service),
			medianAndTail(s.Latency.Denied.Service))
	}
}

// mdVerdict returns the verdict on a scenario, with its kind if a failure does not count.
func mdVerdict(s *result.Scenario, o Options) string {
	if s.Answer != "" {
		return "**" + s.Word() + "**"
	}
	sign := mdSign(s.Verdict, s.Weighs(o.Strict))
	if s.Verdict == verdict.Fail && !s.Weighs(o.Strict) {
		sign += " (" + plain.Markdown(s.Kind) + ")"
	}
	return sign
}

func (m *markdown) failure(raw, s *result.Scenario, o Options) {
	if s.Verdict != verdict.Fail {
		return
	}
	m.line("")
	m.line("### %s %s", mdVerdict(s, o), plain.Markdown(s.ID))
	if s.Title != "" {
		m.line("")
		m.line("%s", plain.Markdown(s.Title))
	}
	for _, e := range evidence.Shown(evidence.Failures(raw)) {
		m.line("")
		m.line("- %s%s", mdClaim(e.Claim), plain.Markdown(e.Sentence))
		if e.Span != "" {
			m.line("  <br>%s", plain.Markdown(e.Span))
		}
		if e.Hint != "" {
			m.line("  <br>perhaps: %s", plain.Markdown(e.Hint))
		}
		if e.Replay != "" {
			m.line("  <br>replay: %s", plain.Code(e.Replay, false))
		}
	}
}

func mdClaim(claim string) string {
	if claim == evidence.Conformance {
		return ""
	}
	return plain.Code(claim, false) + " "
}

// open lists what stayed inconclusive, each with what to do about it.
func (m *markdown) open(r *result.Run) {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for k, t := range evidence.Troubles(s) {
			if k == 0 {
				m.line("")
				m.line("### ❔ INCONCLUSIVE %s", plain.Markdown(s.ID))
				m.line("")
			}
			m.line("- %s", plain.Markdown(t.Line()))
			if t.Mend != "" {
				m.line("  <br>mend: %s", plain.Markdown(t.Mend))
			}
		}
	}
}

// remarks lists what a reader must know beside the verdicts.
func (m *markdown) remarks(r *result.Run) {
	for i, text := range r.Remarks() {
		if i == 0 {
			m.line("")
		}
		m.line("- %s", plain.Markdown(text))
	}
}

func (m *markdown) latencies(r *result.Run) {
	rows := latencyRows(r)
	if len(rows) == 0 {
		return
	}
	m.line("")
	m.line("<details><summary>Latency in ms: from the plan (what a client felt) and from the send (what " +
		"the target took)</summary>")
	m.line("")
	m.row("scenario", "outcome", "from", "answers", "p50", "p90", "p99", "p99.9", "max")
	m.row("---", "---", "---", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, l := range rows {
		cells := []string{plain.Code(l.scenario, true), l.outcome, l.from,
			quantity.Thousands(int(l.dist.Count))}
		m.row(append(cells, l.values()...)...)
	}
	m.line("")
	m.line("</details>")
}
