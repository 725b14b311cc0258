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

// level is the probability that any row of a comparison reports a difference where there is none: 5 % for all
// rows together.
const level = 0.05

// Ratio is an interval of NEW/OLD. With too few runs it has no ends.
type Ratio struct {
	// Lo <= Mid <= Hi. Mid is the median over all pairs of an old and a new run.
	Lo, Mid, Hi float64
	// Bounded tells whether Lo and Hi are known.
	Bounded bool
}

// Differs tells whether the interval excludes 1.
func (r Ratio) Differs() bool { return r.Bounded && (r.Lo > 1 || r.Hi < 1) }

// ratioOf returns the interval of the ratio of two samples, with an error probability of at most alpha. It
// uses the estimate of Hodges and Lehmann, and the interval of the rank test of Mann and Whitney. It assumes
// independent runs whose distributions differ by a factor. O(n m log n m).
func ratioOf(old, new []float64, alpha float64) Ratio {
	pairs := make([]float64, 0, len(old)*len(new))
	for _, a := range old {
		for _, b := range new {
			pairs = append(pairs, b/a)
		}
	}
	slices.Sort(pairs)
	last := len(pairs) - 1
	out := Ratio{Mid: (pairs[last/2] + pairs[(last+1)/2]) / 2}
	if k := cut(len(old), len(new), alpha); k >= 0 {
		out.Lo, out.Hi, out.Bounded = pairs[k], pairs[last-k], true
	}
	return out
}

// cut returns the largest k with 2 P(U <= k) <= alpha; -1 if there is none. U is the statistic of Mann and
// Whitney for samples of n and m.
func cut(n, m int, alpha float64) int {
	ways := arrangements(n, m)
	total := 0.0
	for _, w := range ways {
		total += w
	}
	sum := 0.0
	for u, w := range ways {
		if sum += w; 2*sum > alpha*total*(1+1e-12) {
			return u - 1
		}
	}
	return -1
}

// arrangements counts, for each u, the orders of n and m values in which u pairs are inverted. These are the
// coefficients of the Gaussian binomial, the product of (1 - x^(m+i)) / (1 - x^i) for i from 1 to n.
func arrangements(n, m int) []float64 {
	c := make([]float64, n*m+1)
	c[0] = 1
	for i := 1; i <= n; i++ {
		for u := len(c) - 1; u >= m+i; u-- {
			c[u] -= c[u-m-i]
		}
		for u := i; u < len(c); u++ {
			c[u] += c[u-i]
		}
	}
	return c
}

// mostRuns is the most runs of a side that are compared. The test needs no more.
const mostRuns = 40

// needed returns how many runs each side must have to show a difference in one of `rows` rows: the least n
// with 2/C(2n, n) <= level/rows.
func needed(rows int) int {
	for n := 1; n < mostRuns; n++ {
		if cut(n, n, level/float64(max(rows, 1))) >= 0 {
			return n
		}
	}
	return mostRuns
}

// ranks returns the ranks, from 1, of the order statistics around the quantile q of n independent values. The
// quantile lies between them with probability 95 %: the binomial, as a normal distribution, rounded outwards.
// A rank of 0 or n+1 has no value, and that end is open.
func ranks(n int64, q float64) (lo, hi int64) {
	mean, half := float64(n)*q, 1.96*math.Sqrt(float64(n)*q*(1-q))
	return max(0, int64(math.Floor(mean-half))), min(n+1, int64(math.Ceil(mean+half))+1)
}
