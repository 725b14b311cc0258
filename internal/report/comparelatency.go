package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ComparedLatency is one quantile of the latency of one outcome. Latency counts from the planned time of a
// request.
type ComparedLatency struct {
	Outcome  timeline.Outcome `json:"outcome"`
	Quantile float64          `json:"quantile"`
	Old      Sample           `json:"old"`
	New      Sample           `json:"new"`
	Ratio    Ratio            `json:"-"`
	// Change and Interval are the Ratio less 1. Interval is empty if it is not bounded. Shown: it differs.
	Change   float64   `json:"change"`
	Interval []float64 `json:"interval"`
	Shown    bool      `json:"shown"`
}

// Sample is a quantile in each run of a side.
type Sample struct {
	// Median is that of the Values.
	Median time.Duration `json:"median_ns"`
	// Values ascend. There is one for each run with enough answers, at most mostRuns.
	Values []time.Duration `json:"runs_ns"`
	// Answers is the number of answers in these runs.
	Answers int64 `json:"answers"`
	// Within is, for one run, the interval that holds its quantile with probability 95 % if answers are
	// independent. For several runs it is their range. An unknown end is 0.
	Within [2]time.Duration `json:"within_ns"`
}

// compareQuantiles are the compared quantiles, each with the least number of answers of a run that takes
// part.
var compareQuantiles = []struct {
	q     float64
	least int64
}{{0.5, 10}, {0.99, 100}}

// Name returns a name such as "allowed p50".
func (l *ComparedLatency) Name() string { return fmt.Sprintf("%s p%g", l.Outcome, l.Quantile*100) }

func latenciesOf(old, new []*result.Scenario) (out []ComparedLatency) {
	for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		for _, x := range compareQuantiles {
			a, b := sampleOf(old, o, x.q, x.least), sampleOf(new, o, x.q, x.least)
			if len(a.Values) > 0 && len(b.Values) > 0 {
				out = append(out, ComparedLatency{Outcome: o, Quantile: x.q, Old: a, New: b})
			}
		}
	}
	return out
}

// sampleOf takes a quantile from each run with enough answers.
func sampleOf(runs []*result.Scenario, o timeline.Outcome, q float64, least int64) (out Sample) {
	var one *timeline.Distribution
	for _, s := range runs {
		d := &s.Latency.Of(o).Corrected
		if d.Count < least || len(out.Values) == mostRuns {
			continue
		}
		one = d
		out.Values = append(out.Values, quantileOf(d, q))
		out.Answers += d.Count
	}
	slices.Sort(out.Values)
	n := len(out.Values)
	if n > 0 {
		out.Median = (out.Values[(n-1)/2] + out.Values[n/2]) / 2
	}
	switch n {
	case 0:
	case 1:
		out.Within = compareWithin(one, q)
	default:
		out.Within = [2]time.Duration{out.Values[0], out.Values[n-1]}
	}
	return out
}

// quantileOf returns a quantile to three digits, also from a report that was read back.
func quantileOf(d *timeline.Distribution, q float64) time.Duration {
	if q == 0.5 {
		return d.P50
	}
	return d.P99
}

// compareWithin returns the interval of a quantile from the order statistics of one run. Its ends are as
// exact as the buckets.
func compareWithin(d *timeline.Distribution, q float64) (out [2]time.Duration) {
	lo, hi := ranks(d.Count, q)
	rank := int64(0)
	for _, b := range d.Buckets {
		before := rank
		rank += b.Count
		if before < lo && lo <= rank {
			out[0] = max(b.From, d.Min)
		}
		if before < hi && hi <= rank {
			out[1] = min(b.To, d.Max)
		}
	}
	return out
}

// judge sets the ratio, with an error probability of at most alpha.
func (l *ComparedLatency) judge(alpha float64) {
	r := ratioOf(numbers(l.Old.Values), numbers(l.New.Values), alpha)
	l.Ratio, l.Change, l.Shown = r, r.Mid-1, r.Differs()
	if r.Bounded {
		l.Interval = []float64{r.Lo - 1, r.Hi - 1}
	}
}

// numbers returns durations as floats. None is below a nanosecond, since a ratio needs more than zero.
func numbers(values []time.Duration) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(max(v, 1))
	}
	return out
}

// Percent returns a ratio as a change: +12 %, -3.1 %, 0 %.
func Percent(ratio float64) string {
	p := (ratio - 1) * 100
	switch {
	case math.Abs(p) < 0.05:
		return "0 %"
	case math.Abs(p) < 9.95:
		return fmt.Sprintf("%+.1f %%", p)
	default:
		return fmt.Sprintf("%+.0f %%", p)
	}
}
