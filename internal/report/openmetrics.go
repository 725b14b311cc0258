package report

import (
	_ "embed" // the template
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

//go:embed openmetrics.txt
var metricsText string

// metrics has the template of an OpenMetrics text exposition. Source: OpenMetrics 1.0, section "Text format".
var metrics = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("run").Funcs(template.FuncMap{"label": labelEscapes.Replace,
		"num":   func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) },
		"count": func(n int) string { return strconv.FormatFloat(float64(n), 'g', -1, 64) },
	}).Parse(metricsText))
})

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// family is a metric family whose samples are made here, as some may be missing.
type family struct {
	Name, Help string
	Samples    []string
}

// add adds a sample. labels are pairs of name and value. A value that is not finite is left out.
func (f *family) add(end string, value float64, labels ...string) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+`="`+labelEscapes.Replace(labels[i+1])+`"`)
	}
	f.Samples = append(f.Samples, f.Name+end+"{"+strings.Join(pairs, ",")+"} "+
		strconv.FormatFloat(value, 'g', -1, 64))
}

// writeOpenMetrics writes verdicts, counts, measured policies and latencies as gauges and summaries, for a
// push gateway or a text file collector. The label scenario tells scenarios apart.
func writeOpenMetrics(w io.Writer, r *result.Run, o Options) error {
	c := cleanRun(r)
	return write(w, metrics(), "run", map[string]any{"Run": c, "Verdict": c.Verdict(o.Strict),
		"Verdicts": []result.Verdict{result.Pass, result.Fail, result.Inconclusive},
		"Started":  float64(c.Started.UnixMilli()) / 1e3, "Measured": measuredFamilies(c),
		"Latencies": latencyFamilies(c)})
}

func measuredFamilies(r *result.Run) []family {
	const of = "Ends of the interval of the "
	const ends = "that the recording does not refute; absent if it refutes every value."
	burst := family{Name: "rlcheck_measured_burst", Help: of + "burst or quota " + ends}
	rate := family{Name: "rlcheck_measured_rate", Help: of + "rate, in units per second, " + ends}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for k, pol := range s.Limit {
			if s.Judgement == nil {
				continue
			}
			labels := []string{"scenario", s.ID}
			if len(s.Limit) > 1 {
				labels = append(labels, "policy", pol.String())
			}
			m := s.Judgement.Measured.Of(k, len(s.Limit))
			burst.interval(m.Burst, labels)
			rate.interval(m.Rate, labels)
		}
	}
	return []family{burst, rate}
}

// interval adds the known ends of an interval. The ends of an empty one would look like an interval.
func (f *family) interval(v result.Interval, labels []string) {
	if v.LoSet && !v.Empty() {
		f.add("", v.Lo, append(labels, "end", "lower")...)
	}
	if v.HiSet && !v.Empty() {
		f.add("", v.Hi, append(labels, "end", "upper")...)
	}
}

func latencyFamilies(r *result.Run) []family {
	plan := family{Name: "rlcheck_latency_seconds", Help: "First byte minus plan, what a client felt."}
	send := family{Name: "rlcheck_service_time_seconds", Help: "First byte minus send, what the target took."}
	for _, l := range latencyRows(r) {
		f := &plan
		if l.from == fromSend {
			f = &send
		}
		f.summary(l.dist, []string{"scenario", l.scenario, "outcome", l.outcome})
	}
	return []family{plan, send}
}

func (f *family) summary(d timeline.Distribution, labels []string) {
	names := []string{"0.5", "0.9", "0.99", "0.999", "1.0"}
	for i, v := range quantiles(d) {
		f.add("", v.Seconds(), append(labels, "quantile", names[i])...)
	}
	f.add("_count", float64(d.Count), labels...)
	f.add("_sum", d.Mean.Seconds()*float64(d.Count), labels...)
}
