package chart

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// This file computes what the charts draw: bounds that hold for every right limiter, in floating point.
// Verdicts rest on the judge's integers, and not on these.

// windowPhase returns where windows may begin in a recording: at zero + [lo, hi] + k windows. known=false:
// that is open by half a window or more.
func windowPhase(p spec.Policy, h timeline.Header) (lo, hi time.Duration, known bool) {
	w, ok := check.WindowsOf(p, h)
	return w.Begin.From, w.Begin.To, ok && w.Begin.To-w.Begin.From < w.Every/2
}

// mostBy returns the most units that p admits in the closed span [from, t] if it was full at from. It never
// decreases with t.
func mostBy(p spec.Policy, h timeline.Header, from, t time.Duration) float64 {
	if lo, hi, known := windowPhase(p, h); known && p.Slots <= 1 {
		return float64(p.Rate.N) * float64(floorDiv(t-lo, p.Rate.Per)-floorDiv(from-hi, p.Rate.Per)+1)
	}
	return p.MostWithin(t - from)
}

// limitBy is mostBy for a limit, all of whose policies must admit.
func limitBy(l spec.Limit, h timeline.Header, from, t time.Duration) float64 {
	most := math.Inf(1)
	for _, p := range l {
		most = min(most, mostBy(p, h, from, t))
	}
	return most
}

func floorDiv(a, b time.Duration) int64 {
	q := int64(a / b)
	if a%b < 0 {
		q--
	}
	return q
}

// point is a corner of a line over time.
type point struct {
	t time.Duration
	v float64
}

// admission is an admitted request that was decided in [s, e].
type admission struct {
	s, e time.Duration
	cost float64
}

// admissions returns the admitted requests of one partition, ascending by e. Their intervals are widened by
// the errors of the clocks.
func admissions(obs []timeline.Observation, h timeline.Header, tick time.Duration) []admission {
	admitted := func(o *timeline.Observation) bool { return o.Outcome == timeline.Allowed && o.Answered }
	n := 0
	for i := range obs {
		if admitted(&obs[i]) {
			n++
		}
	}
	out := make([]admission, 0, n) // there may be millions
	for i := range obs {
		if o := &obs[i]; admitted(o) {
			out = append(out, admission{o.Sent - h.ClockError - h.Drift(o.Sent) - tick,
				o.FirstByte + h.ClockError + h.Drift(o.FirstByte), float64(max(o.Cost, 1))})
		}
	}
	slices.SortFunc(out, func(a, b admission) int { return cmp.Compare(a.e, b.e) })
	return out
}

// usage is how much of one policy was certainly in use, in the reading that is kindest to the target, and the
// most that a right limiter ever has in use. Over time, too many were admitted where a point lies above that.
// Over phases, too many were admitted if all points do.
type usage struct {
	policy spec.Policy
	points []point
	most   float64
	// what names v of the points.
	what string
	// phases: the points are not over time, and t is where windows begin.
	phases bool
	// left says why nothing is drawn. Empty: it is drawn.
	left string
}

// share returns how near to its bound the usage surely comes. Over 1: too many were admitted.
func (u usage) share() float64 {
	switch {
	case u.left != "":
		return -1
	case u.phases:
		return slices.MinFunc(u.points, func(a, b point) int { return cmp.Compare(a.v, b.v) }).v / u.most
	default:
		return peak(u.points) / u.most
	}
}

// inUse computes the usage of p over admissions that ascend by e. w is what is known of its windows. It costs
// O(n log n).
func inUse(p spec.Policy, all []admission, w windows) usage {
	switch {
	case p.Windowed():
		u := inWindows(p, all, w)
		u.policy, u.most = p, float64(p.Full())
		return u
	case p.HasWindow():
		what := "units admitted within the last " + span(p.Rate.Per)
		return usage{policy: p, points: inSpan(all, p.Rate.Per), most: float64(p.Full()), what: what}
	}
	most := float64(p.Full() + p.Fill)
	return usage{policy: p, points: inBucket(all, p.Rate), most: most, what: "units in use"}
}

// inWindows computes the usage of a policy with windows.
func inWindows(p spec.Policy, all []admission, w windows) usage {
	const current = "units admitted in the current window"
	from, to := w.Begin.From, w.Begin.To
	switch {
	// A span of all slots but one touches no more slots than a window has.
	case p.Slots > 1:
		short := p.Slot() * time.Duration(p.Slots-1)
		what := "units admitted within the last " + span(short) + ", all slots but one"
		return usage{points: inSpan(all, short), what: what}
	case len(w.opened) > 0:
		return usage{points: inOpened(all, p.Rate.Per, w.opened), what: current}
	case w.known():
		return usage{points: inWindow(all, p.Rate.Per, from, to), what: current}
	case p.PerTo > 0:
		return usage{left: "the length of the windows is a range"}
	case p.Align == spec.AlignFirst:
		return usage{left: "requests open the windows, and which requests do is not known"}
	}
	what := "units in the fullest window, by where windows begin"
	return usage{points: inPhases(all, p.Rate.Per, from, to), what: what, phases: true}
}

// inBucket returns the units in use under a bucket. J[x,y] is the units certainly admitted in [x,y], and N
// units are refilled per Per. The units in use at y are the largest J[x,y] - (y-x)*N/Per over all x <= y. A
// tree over the starts x holds x + J[x,y]*Per/N and its largest value.
func inBucket(all []admission, r spec.Rate) []point {
	starts := make([]int, len(all)) // indices of all, ascending by s
	for i := range starts {
		starts[i] = i
	}
	slices.SortFunc(starts, func(a, b int) int { return cmp.Compare(all[a].s, all[b].s) })
	place := make([]int, len(all))
	for k, i := range starts {
		place[i] = k
	}
	tree := newPrefixMax(len(all))
	unit := r.Per.Seconds() / float64(r.N)
	out := make([]point, 0, 3*len(all)+1)
	top := math.Inf(-1)
	for i, a := range all {
		if before := max(0, (top-a.e.Seconds())/unit); i > 0 {
			if before == 0 { // where the line met zero
				out = append(out, point{max(all[i-1].e, time.Duration(top*1e9)), 0})
			}
			out = append(out, point{a.e, before})
		} else {
			out = append(out, point{a.e, 0})
		}
		tree.start(place[i], a.s.Seconds())
		tree.add(place[i], a.cost*unit)
		top = tree.max()
		out = append(out, point{a.e, max(0, (top-a.e.Seconds())/unit)})
	}
	if len(all) > 0 {
		out = append(out, point{max(all[len(all)-1].e, time.Duration(top*1e9)), 0})
	}
	return out
}

// inSpan counts the units certainly admitted in (y-w, y].
func inSpan(all []admission, w time.Duration) []point {
	out := make([]point, 0, 4*len(all))
	live, used := &bySent{}, 0.0
	leave := func(until time.Duration) {
		for live.Len() > 0 && (*live)[0].s+w <= until {
			a := heap.Pop(live).(admission)
			out = append(out, point{a.s + w, used}, point{a.s + w, used - a.cost})
			used -= a.cost
		}
	}
	for _, a := range all {
		leave(a.e)
		out = append(out, point{a.e, used})
		if a.s+w > a.e {
			used += a.cost
			heap.Push(live, a)
		}
		out = append(out, point{a.e, used})
	}
	leave(math.MaxInt64)
	return out
}

// inWindow counts the units certainly admitted in the window of y, if windows begin at [lo, hi] + k*w.
func inWindow(all []admission, w, lo, hi time.Duration) []point {
	out := make([]point, 0, 2*len(all))
	used, window := 0.0, int64(math.MinInt64)
	for _, a := range all {
		k := floorDiv(a.e-lo, w)
		if floorDiv(a.s-hi, w) != k {
			continue
		}
		if k != window && used > 0 {
			end := time.Duration(window+1)*w + lo
			out = append(out, point{end, used}, point{end, 0})
			used = 0
		}
		window = k
		out = append(out, point{a.e, used}, point{a.e, used + a.cost})
		used += a.cost
	}
	if used > 0 {
		end := time.Duration(window+1)*w + lo
		out = append(out, point{end, used}, point{end, 0})
	}
	return out
}

// inOpened counts the units certainly admitted in the window of y, if windows are opened at the given
// instants.
func inOpened(all []admission, w time.Duration, opened []check.Span) []point {
	var out []point
	used, last, k := 0.0, -1, 0
	for _, a := range all {
		for k+1 < len(opened) && opened[k+1].From <= a.e {
			k++
		}
		if k > 0 && a.s < opened[k-1].To+w || a.e >= opened[k].From+w {
			continue // it may lie in another window
		}
		if k != last && used > 0 {
			end := max(opened[last].To+w, out[len(out)-1].t)
			out = append(out, point{min(end, a.e), used}, point{min(end, a.e), 0})
			used = 0
		}
		last = k
		out = append(out, point{a.e, used}, point{a.e, used + a.cost})
		used += a.cost
	}
	if used > 0 {
		end := opened[last].To + w
		out = append(out, point{end, used}, point{end, 0})
	}
	return out
}

// bySent is a heap of admissions, the one that was sent first on top.
type bySent []admission

func (h bySent) Len() int           { return len(h) }
func (h bySent) Less(i, j int) bool { return h[i].s < h[j].s }
func (h bySent) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *bySent) Push(x any)        { *h = append(*h, x.(admission)) }
func (h *bySent) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// prefixMax is a tree over n values, all absent at first. It adds to all values up to a place, starts a
// value, and returns the largest one. An absent value keeps what is added to it.
type prefixMax struct {
	size int
	// most is the largest value below a node. It includes what was added to the node and below it, but not
	// above it. lazy is what was added to the node as a whole.
	most, lazy []float64
}

func newPrefixMax(n int) *prefixMax {
	size := 1
	for size < n {
		size *= 2
	}
	t := &prefixMax{size: size, most: make([]float64, 2*size), lazy: make([]float64, 2*size)}
	for i := range t.most {
		t.most[i] = math.Inf(-1)
	}
	return t
}

// max returns the largest started value.
func (t *prefixMax) max() float64 { return t.most[1] }

// start sets the value at place k to x plus all that was added to it so far.
func (t *prefixMax) start(k int, x float64) {
	i := k + t.size
	t.most[i] = x + t.lazy[i]
	for i > 1 {
		i /= 2
		t.most[i] = max(t.most[2*i], t.most[2*i+1]) + t.lazy[i]
	}
}

// add adds x to the values at the places 0 to k.
func (t *prefixMax) add(k int, x float64) {
	i := k + t.size
	t.raise(i, x)
	for i > 1 {
		if i&1 == 1 { // all to the left of a right child
			t.raise(i-1, x)
		}
		i /= 2
		t.most[i] = max(t.most[2*i], t.most[2*i+1]) + t.lazy[i]
	}
}

// raise adds x to a whole subtree.
func (t *prefixMax) raise(i int, x float64) {
	t.most[i] += x
	t.lazy[i] += x
}
