package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// CompareOptions are what makes a comparison fail.
type CompareOptions struct {
	// MaxRegression is the share by which a latency may grow, 0.1 for 10 %. It applies only with Gate.
	// Without Gate no latency fails a comparison.
	MaxRegression float64
	Gate          bool
	// Strict lets recommended scenarios count.
	Strict bool
}

// Side is one side of a comparison.
type Side struct {
	// Name is the user's name for the side.
	Name string `json:"name"`
	// Runs has at least one element. Compare sets IDs to theirs.
	Runs []*result.Run `json:"-"`
	IDs  []string      `json:"runs"`
}

// Comparison is how two sides differ, in the form of rlcheck.compare/v1.
type Comparison struct {
	Schema string `json:"schema"`
	// Verdict is Fail if a verdict became worse or a latency grew by more than was allowed. It is
	// Inconclusive if that could not be shown either way, and Pass otherwise. Why has a sentence for each
	// reason; it is empty for a Pass.
	Verdict result.Verdict `json:"verdict"`
	Why     []string       `json:"why"`
	// MaxRegression is that of the options; nil without Gate.
	MaxRegression *float64       `json:"max_regression"`
	Options       CompareOptions `json:"-"`
	Old           Side           `json:"old"`
	New           Side           `json:"new"`
	// Notes are other reasons why the sides may differ, a sentence each; may be empty.
	Notes []string `json:"notes"`
	// OnlyOld and OnlyNew are the ids of scenarios that only one side has.
	OnlyOld []string `json:"only_old"`
	OnlyNew []string `json:"only_new"`
	// Rows counts the compared latencies: those that became slower or faster, that have too few runs, and all
	// others. Needed is how many runs each side must have to show a difference in one.
	Rows                    int `json:"-"`
	slower, faster, unknown int
	Needed                  int `json:"runs_needed"`
	// Scenarios are those that both sides have, in the order of the old side.
	Scenarios []ComparedScenario `json:"scenarios"`
}

// ComparedScenario is one scenario of both sides.
type ComparedScenario struct {
	ID     string `json:"id"`
	Change Change `json:"change"`
	// Counts tells whether its verdict counts for the verdict of the comparison.
	Counts bool  `json:"counts"`
	Old    Tally `json:"old"`
	New    Tally `json:"new"`
	// Parameters are empty if nothing was measured on one side, or if the declared limits have different
	// forms.
	Parameters []Parameter       `json:"parameters"`
	Latencies  []ComparedLatency `json:"latencies"`
}

// Compare compares two sides and changes neither. It returns an error if they have no scenario in common.
func Compare(old, new Side, o CompareOptions) (*Comparison, error) {
	c := &Comparison{Schema: compareForm, Old: old, New: new, Options: o}
	if o.Gate {
		c.MaxRegression = &o.MaxRegression
	}
	for _, s := range []*Side{&c.Old, &c.New} {
		for _, r := range s.Runs {
			s.IDs = append(s.IDs, r.ID)
		}
	}
	a, b := gather(old.Runs), gather(new.Runs)
	for _, id := range a.ids {
		if b.of[id] == nil {
			c.OnlyOld = append(c.OnlyOld, id)
			continue
		}
		x, y := a.of[id], b.of[id]
		s := ComparedScenario{ID: id, Old: compareTally(x), New: compareTally(y),
			Counts: y[0].Weighs(o.Strict), Parameters: parameters(x, y), Latencies: latenciesOf(x, y)}
		s.Change = changeOf(s.Old, s.New)
		c.Scenarios = append(c.Scenarios, s)
	}
	for _, id := range b.ids {
		if a.of[id] == nil {
			c.OnlyNew = append(c.OnlyNew, id)
		}
	}
	if len(c.Scenarios) == 0 {
		return nil, fmt.Errorf("%s, %s: they have no scenario in common", old.Name, new.Name)
	}
	c.latencies()
	c.Notes = notes(old.Runs, new.Runs)
	c.conclude()
	return c, nil
}

// gathered are the scenarios of several runs, by id.
type gathered struct {
	ids []string
	of  map[string][]*result.Scenario
}

func gather(runs []*result.Run) gathered {
	g := gathered{of: map[string][]*result.Scenario{}}
	for _, r := range runs {
		for i := range r.Scenarios {
			s := &r.Scenarios[i]
			if g.of[s.ID] == nil {
				g.ids = append(g.ids, s.ID)
			}
			g.of[s.ID] = append(g.of[s.ID], s)
		}
	}
	return g
}

// latencies judges the rows of all scenarios together. The more rows there are, the wider each interval is.
func (c *Comparison) latencies() {
	for i := range c.Scenarios {
		c.Rows += len(c.Scenarios[i].Latencies)
	}
	c.Needed = needed(c.Rows)
	for i := range c.Scenarios {
		for k := range c.Scenarios[i].Latencies {
			l := &c.Scenarios[i].Latencies[k]
			l.judge(level / float64(c.Rows))
			switch {
			case !l.Ratio.Bounded:
				c.unknown++
			case l.Ratio.Lo > 1:
				c.slower++
			case l.Ratio.Hi < 1:
				c.faster++
			}
		}
	}
}

// conclude sets Verdict and Why.
func (c *Comparison) conclude() {
	c.Verdict = result.Pass
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		switch {
		case !s.Counts:
		case s.Change == Worse && s.New.Verdict == result.Fail:
			c.because(result.Fail, fmt.Sprintf("%s became worse: %s, was %s", s.ID, s.New, s.Old))
		case s.Change == Worse:
			c.because(result.Inconclusive, fmt.Sprintf("%s is no longer judged: %s, was %s", s.ID, s.New,
				s.Old))
		}
		for k := range s.Latencies {
			if l := &s.Latencies[k]; c.Options.Gate && l.Ratio.Bounded &&
				l.Ratio.Lo > 1+c.Options.MaxRegression {
				c.because(result.Fail, fmt.Sprintf("%s: %s became slower by at least %s", s.ID, l.Name(),
					strings.TrimPrefix(Percent(l.Ratio.Lo), "+")))
			}
		}
	}
	for _, id := range c.OnlyOld {
		c.because(result.Inconclusive, fmt.Sprintf("%s is missing in %s", id, c.New.Name))
	}
	if !c.Options.Gate {
		return
	}
	switch {
	case c.Rows == 0:
		c.because(result.Inconclusive, "no latency can be compared: too few answers of one outcome on "+
			"both sides")
	case c.unknown > 0:
		c.because(result.Inconclusive, fmt.Sprintf("too few runs to show a difference in %d of %d "+
			"latencies: %d runs on each side can", c.unknown, c.Rows, c.Needed))
	}
}

// because adds a reason. The verdict never becomes better.
func (c *Comparison) because(v result.Verdict, why string) {
	c.Verdict = result.Worst(c.Verdict, v)
	c.Why = append(c.Why, why)
}

// notes returns other reasons why two sides may differ: the machine, the version, the target, the limit.
func notes(old, new []*result.Run) (out []string) {
	for _, x := range []struct {
		what string
		of   func(*result.Run) []string
		why  string
	}{
		{"machine", func(r *result.Run) []string {
			return []string{fmt.Sprintf("%s/%s with %d CPUs", r.Host.OS, r.Host.Arch, r.Host.CPUs)}
		}, "the latencies also compare the two machines"},
		{"version of rlcheck", func(r *result.Run) []string { return []string{r.Version} }, ""},
		{"target", targets, ""},
		{"declared limit", limits, "the verdicts are about different limits"},
	} {
		a, b := words(old, x.of), words(new, x.of)
		if a == b {
			continue
		}
		text := fmt.Sprintf("another %s: %s, was %s", x.what, b, a)
		if x.why != "" {
			text += ": " + x.why
		}
		out = append(out, text)
	}
	for _, r := range old {
		if slices.ContainsFunc(new, func(other *result.Run) bool { return other.ID == r.ID && r.ID != "" }) {
			out = append(out, "both sides have the run "+r.ID)
		}
	}
	return out
}

// words returns what the runs of a side say, sorted and each once.
func words(runs []*result.Run, of func(*result.Run) []string) string {
	var all []string
	for _, r := range runs {
		all = append(all, of(r)...)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

func targets(r *result.Run) (out []string) {
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		text := s.Target
		if s.Store != "" { // the embedded target, at any port
			text = strings.TrimSuffix("embedded ("+s.Store+") with the fault "+s.Fault, " with the fault ")
		}
		out = append(out, text)
	}
	return out
}

func limits(r *result.Run) (out []string) {
	for i := range r.Scenarios {
		if l := r.Scenarios[i].Limit; len(l) > 0 {
			out = append(out, l.String())
		}
	}
	return out
}

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
		value := d.P99 // to three digits, also from a report that was read back
		if q == 0.5 {
			value = d.P50
		}
		out.Values = append(out.Values, value)
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
