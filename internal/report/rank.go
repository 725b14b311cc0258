package report

import (
	"math"
	"slices"
)

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
