package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlcheck/rlcheck/internal/check"
)

// writeMarkdown writes GitHub-flavoured Markdown, fit for a step summary: a table of scenarios, the failures with their
// witness, what stayed open, the latencies.
func writeMarkdown(w io.Writer, r *Run, o Options) error {
	clean := plainRun(r)
	m := &markdown{}
	m.line("## rlcheck: %s", mdText(verdictText(clean)))
	m.line("")
	m.line("%s", mdText(countsText(clean.sum())))
	for i, n := range clean.Notes() {
		if i == 0 {
			m.line("")
		}
		m.line("- %s", mdText(n.String()))
	}
	if len(clean.Scenarios) > 0 {
		m.scenarios(clean, o)
		for i := range clean.Scenarios {
			m.failure(&r.Scenarios[i], &clean.Scenarios[i], o)
		}
		m.open(clean)
		for i := range clean.Scenarios {
			m.told(&clean.Scenarios[i])
		}
		m.latencies(clean)
	}
	m.line("")
	m.line("<sub>%s</sub>", mdText(provenance(clean)))
	_, err := io.WriteString(w, m.text.String())
	return err
}

// markdown gathers lines. What comes from outside is escaped by the caller.
type markdown struct{ text strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

func (m *markdown) row(cells ...string) { m.line("| %s |", strings.Join(cells, " | ")) }

func (m *markdown) scenarios(r *Run, o Options) {
	m.line("")
	m.row("verdict", "scenario", "declared (measured)", "allowed", "denied", "unknown", "p50 / p99 allowed", "p50 / p99 denied")
	m.row("---", "---", "---", "--:", "--:", "--:", "--:", "--:")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		worths := worth(s)
		for k := range worths {
			worths[k] = mdText(worths[k])
		}
		m.row(mdVerdict(s, o), mdCode(s.ID, true)+"<br>"+mdText(s.Title), strings.Join(worths, "<br>"), thousands(s.Counts.Allowed),
			thousands(s.Counts.Denied), thousands(s.Counts.Unknown), medianAndTail(s.Latency.Allowed.Service),
			medianAndTail(s.Latency.Denied.Service))
	}
}

// mdVerdict is a verdict with a sign that does not rest on colour, and the kind where a failure does not count.
func mdVerdict(s *Scenario, o Options) string {
	switch {
	case s.Verdict == check.Pass:
		return "✅ PASS"
	case s.Verdict == check.Fail && !s.counts(o.Strict):
		return "⚠️ FAIL (" + mdText(s.Kind) + ")"
	case s.Verdict == check.Fail:
		return "❌ **FAIL**"
	default:
		return "❔ INCONCLUSIVE"
	}
}

func (m *markdown) failure(raw, s *Scenario, o Options) {
	if s.Verdict != check.Fail {
		return
	}
	m.line("")
	m.line("### %s %s", mdVerdict(s, o), mdText(s.ID))
	if s.Title != "" {
		m.line("")
		m.line("%s", mdText(s.Title))
	}
	for _, e := range shown(failures(raw)) {
		m.line("")
		m.line("- %s%s", mdClaim(e.claim), mdText(e.sentence))
		if e.span != "" {
			m.line("  <br>%s", mdText(e.span))
		}
		if e.hint != "" {
			m.line("  <br>perhaps: %s", mdText(e.hint))
		}
		if e.replay != "" {
			m.line("  <br>replay: %s", mdCode(e.replay, false))
		}
	}
}

func mdClaim(claim string) string {
	if claim == conformance {
		return ""
	}
	return mdCode(claim, false) + " "
}

// open lists what stayed inconclusive, each with what to do about it.
func (m *markdown) open(r *Run) {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for k, t := range troubles(s) {
			if k == 0 {
				m.line("")
				m.line("### ❔ INCONCLUSIVE %s", mdText(s.ID))
				m.line("")
			}
			m.line("- %s", mdText(t.line()))
			if t.mend != "" {
				m.line("  <br>mend: %s", mdText(t.mend))
			}
		}
	}
}

func (m *markdown) latencies(r *Run) {
	rows := latencyRows(r)
	if len(rows) == 0 {
		return
	}
	m.line("")
	m.line("<details><summary>Latency in ms: from the plan (what a client felt) and from the send (what the target took)</summary>")
	m.line("")
	m.row("scenario", "outcome", "from", "answers", "p50", "p90", "p99", "p99.9", "max")
	m.row("---", "---", "---", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, l := range rows {
		cells := []string{mdCode(l.scenario, true), l.outcome, l.from, thousands(int(l.dist.Count))}
		m.row(append(cells, l.values()...)...)
	}
	m.line("")
	m.line("</details>")
}
