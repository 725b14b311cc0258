package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/report/plain"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// metrics gathers an OpenMetrics text exposition. Source: OpenMetrics 1.0, section "Text format".
type metrics struct{ text strings.Builder }

// family begins a metric family. Its samples must follow at once.
func (m *metrics) family(name, kind, unit, help string) {
	fmt.Fprintf(&m.text, "# TYPE %s %s\n", name, kind)
	if unit != "" {
		fmt.Fprintf(&m.text, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(&m.text, "# HELP %s %s\n", name, help)
}

// sample writes one value. labels are pairs of name and value. A value that is not finite is left out.
func (m *metrics) sample(name string, value float64, labels ...string) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	m.text.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		m.text.WriteString([]string{"{", ","}[min(i, 1)] + labels[i] + `="` +
			labelEscapes.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 1 {
		m.text.WriteByte('}')
	}
	m.text.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// writeOpenMetrics writes verdicts, counts, measured policies and latencies as gauges and summaries, for a
// push gateway or a text file collector. The label scenario tells scenarios apart.
func writeOpenMetrics(w io.Writer, r *result.Run, o Options) error {
	c := plain.Run(r)
	m := &metrics{}
	m.family("rlcheck_run", "info", "", "The run.")
	m.sample("rlcheck_run_info", 1, "run", c.ID, "version", c.Version, "verdict",
		c.Verdict(o.Strict).String())
	if !c.Started.IsZero() {
		m.family("rlcheck_run_started_seconds", "gauge", "seconds",
			"When the run started, since the Unix epoch.")
		m.sample("rlcheck_run_started_seconds", float64(c.Started.UnixMilli())/1e3)
	}
	m.family("rlcheck_run_duration_seconds", "gauge", "seconds", "How long the run took.")
	m.sample("rlcheck_run_duration_seconds", c.Duration.Seconds())
	m.verdicts(c)
	m.requests(c)
	m.measured(c)
	m.latencies(c)
	m.text.WriteString("# EOF\n")
	_, err := io.WriteString(w, m.text.String())
	return err
}

func (m *metrics) verdicts(r *result.Run) {
	m.family("rlcheck_verdict", "stateset", "", "The verdict on each scenario.")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, v := range []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Inconclusive} {
			m.sample("rlcheck_verdict", truth(s.Verdict == v), "scenario", s.ID, "kind", s.Kind,
				"rlcheck_verdict", v.String())
		}
	}
	m.family("rlcheck_claim_passed", "gauge", "",
		"1 for each claim that passed, 0 for each claim that failed; inconclusive claims are absent.")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for k := range s.Claims {
			if c := &s.Claims[k]; c.Verdict != verdict.Inconclusive {
				m.sample("rlcheck_claim_passed", truth(c.Verdict == verdict.Pass), "scenario", s.ID, "claim",
					c.ID)
			}
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *metrics) requests(r *result.Run) {
	m.family("rlcheck_requests", "gauge", "", "Requests: allowed + denied + unknown + unsent = planned.")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, x := range []struct {
			n    int
			word string
		}{{s.Counts.Allowed, "allowed"}, {s.Counts.Denied, "denied"}, {s.Counts.Unknown, "unknown"},
			{s.Counts.Unsent, "unsent"}} {
			m.sample("rlcheck_requests", float64(x.n), "scenario", s.ID, "outcome", x.word)
		}
	}
}

func (m *metrics) measured(r *result.Run) {
	const of = "Ends of the interval of the "
	const ends = "that the recording does not refute; absent if it refutes every value."
	for _, x := range []struct {
		name, help string
		of         func(verdict.Measured) verdict.Interval
	}{
		{"rlcheck_measured_burst", of + "burst or quota " + ends,
			func(m verdict.Measured) verdict.Interval { return m.Burst }},
		{"rlcheck_measured_rate", of + "rate, in units per second, " + ends,
			func(m verdict.Measured) verdict.Interval { return m.Rate }},
	} {
		m.family(x.name, "gauge", "", x.help)
		for i := range r.Scenarios {
			s := &r.Scenarios[i]
			if s.Judgement == nil {
				continue
			}
			for k, pol := range s.Limit {
				labels := []string{"scenario", s.ID}
				if len(s.Limit) > 1 {
					labels = append(labels, "policy", pol.String())
				}
				v := x.of(s.Judgement.Measured.Of(k, len(s.Limit)))
				if v.Empty() { // the ends of an empty interval would look like an interval
					continue
				}
				if v.LoSet {
					m.sample(x.name, v.Lo, append(labels, "end", "lower")...)
				}
				if v.HiSet {
					m.sample(x.name, v.Hi, append(labels, "end", "upper")...)
				}
			}
		}
	}
}

func (m *metrics) latencies(r *result.Run) {
	for _, x := range []struct {
		name, help, from string
	}{
		{"rlcheck_latency_seconds", "First byte minus plan, what a client felt.", fromPlan},
		{"rlcheck_service_time_seconds", "First byte minus send, what the target took.", fromSend},
	} {
		m.family(x.name, "summary", "seconds", x.help)
		for _, l := range latencyRows(r) {
			if l.from == x.from {
				m.summary(x.name, l.dist, "scenario", l.scenario, "outcome", l.outcome)
			}
		}
	}
}

func (m *metrics) summary(name string, d latency.Distribution, labels ...string) {
	for i, v := range quantiles(d) {
		m.sample(name, v.Seconds(),
			append(labels[:len(labels):len(labels)], "quantile",
				[]string{"0.5", "0.9", "0.99", "0.999", "1.0"}[i])...)
	}
	m.sample(name+"_count", float64(d.Count), labels...)
	m.sample(name+"_sum", d.Mean.Seconds()*float64(d.Count), labels...)
}
