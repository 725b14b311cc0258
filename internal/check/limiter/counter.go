package limiter

import (
	"maps"
	"math/bits"
	"slices"
	"sort"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var counterKind = kind{
	counting: counterCounting,
	model: func(p spec.Policy, box history.Interval, _ []int64) Model {
		return counterModel{Counter: NewCounter(p, box.From, box.To), scale: 1}
	},
}

func counterCounting(p spec.Policy, box history.Interval) counting {
	return NewCounter(p, box.From, box.To)
}

// Counter is the bound of the sliding window counter with a phase in a box. At position x in a window it
// admits while
//
//	round(prev * (size-x)/size) + cur + cost - 1 < quota
//
// Over: take the last of j units that are certainly in a window and decided by y. Let a be the units that
// must lie in the window before, or may lie there (there they weigh less than in this window). The last unit
// was admitted only if the weighted a at y, plus j-1, is below the quota.
//
// Under: a denial at t needs a load that reaches the quota. The load is the weighted units that may lie in
// the window before, plus the units that may lie in this window and start by t. A request that may lie in
// either counts in the later one, where it weighs more. See docs/theory.md, section 5.
type Counter struct {
	Grid
	quota    int64
	all      bool
	rounding spec.Rounding
	// anchored: the first counted request begins window 0, so no request is in a window before.
	anchored bool
	// late: requests are counted when they are complete. Then more than the quota may lie in a window.
	late bool
}

// NewCounter returns the bound for a box of phases, in nanoseconds. With AlignFirst the box is the interval
// of the first counted request.
func NewCounter(p spec.Policy, from, to int64) Counter {
	return Counter{NewGrid(p, from, to), p.Rate.N, p.Count == spec.CountAll, p.Rounding,
		p.Align == spec.AlignFirst, p.Charge == spec.ChargeCompletion}
}

// first and last are FirstOf and LastOf, without windows that were never opened.
func (c Counter) first(s int64) int64 { return c.opened(c.Grid.FirstOf(s)) }
func (c Counter) last(e int64) int64  { return c.opened(c.Grid.LastOf(e)) }

func (c Counter) opened(k int64) int64 {
	if c.anchored {
		return max(k, 0)
	}
	return k
}

// weigh divides prev*left by size: the whole part and the remainder. left is clipped to the window.
func weigh(prev, left, size int64) (whole, rest int64) {
	left = min(max(left, 0), size)
	hi, lo := bits.Mul64(uint64(prev), uint64(left))
	q, r := bits.Div64(hi, lo, uint64(size))
	return int64(q), int64(r)
}

// weighted returns the smallest integer w for which, for every integer n, round(prev*left/size) + n < quota
// exactly if w + n < quota. Without rounding w is the floor q. With 0 <= r < size, q + r/size + n < quota
// holds exactly if q + n < quota.
func (c Counter) weighted(prev, left int64) int64 { return c.share(prev, left, c.size) }

// share is weighted for windows of a given length.
func (c Counter) share(prev, left, size int64) int64 {
	q, r := weigh(prev, left, size)
	switch {
	case c.rounding == spec.RoundUp && r > 0:
		return q + 1
	case c.rounding == spec.RoundNearest && 2*r >= size:
		return q + 1
	default:
		return q
	}
}

// lightest and heaviest return the least and the most that prev units of window k-1 may weigh at instant t of
// window k. The weight is k+1 - (t-P)/W. It grows with the phase P, and with the length W where P is before
// t.
func (c Counter) lightest(prev, k, t int64) int64 {
	return c.share(prev, c.earliest(k+1)-t, c.least(k))
}

func (c Counter) heaviest(prev, k, t int64) int64 {
	return c.share(prev, c.Latest(k)-t, c.most(k))
}

// Over first asks of the admissions alone; that bound also holds where denied requests are counted. Then,
// where they are, it asks of all requests.
func (c Counter) Over(h *history.History) *Breach {
	if br := tooDear(h.Admitted, c.quota); br != nil {
		return br
	}
	if br := c.overAdmitted(h); br != nil || !c.all {
		return br
	}
	return c.overCounting(h, h.Certain())
}

func (c Counter) overAdmitted(h *history.History) *Breach {
	if y, k, over := c.firstOver(h); over {
		return c.breachAt(h, y, k)
	}
	return nil
}

// firstOver returns the earliest end y of an admission for which the other admissions leave no room, and its
// window k. ok=false: there is none.
func (c Counter) firstOver(h *history.History) (y, k int64, ok bool) {
	sure := c.sureUnits(h.Admitted)
	var inside, window int64 = 0, history.MinTime
	var either int64 // units that may lie in this window or in the one before
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		k := c.last(ev.End)
		if k != window {
			window, inside, either = k, 0, 0
		}
		switch c.first(ev.Start) {
		case k:
			inside += ev.Cost
		case k - 1:
			either += ev.Cost
		default:
			continue
		}
		prev := sure.in(k-1) + either
		if c.lightest(prev, k, ev.End)+inside-1 >= c.quota && inside > 0 {
			return ev.End, k, true
		}
	}
	return 0, 0, false
}

// sureUnits adds up the units that must lie in each window. evs ascend by Start.
func (c Counter) sureUnits(evs []history.Event) *loads {
	out := &loads{}
	for i := range evs {
		if k := c.first(evs[i].Start); k == c.last(evs[i].End) {
			out.add(k, evs[i].Cost)
		}
	}
	return out
}

// breachAt lists the admissions that must weigh on window k by y.
func (c Counter) breachAt(h *history.History, y, k int64) *Breach {
	br := &Breach{Kind: result.OverAdmission, Windows: 2, Bound: c.quota}
	from := sort.Search(len(h.Admitted), func(i int) bool { return c.first(h.Admitted[i].Start) >= k-1 })
	near := h.Admitted[from:]
	near = near[:sort.Search(len(near), func(i int) bool { return near[i].Start > y })]
	br.Events = make([]history.Event, 0, len(near))
	var prev, cur int64
	for _, ev := range near {
		if ev.End > y || c.last(ev.End) > k {
			continue
		}
		if c.first(ev.Start) == k {
			cur += ev.Cost
		} else {
			prev += ev.Cost
		}
		br.Events = append(br.Events, ev)
	}
	br.Seen = c.lightest(prev, k, y) + cur
	br.Span = SpanOf(br.Events)
	return br
}

// overCounting asks of each admission that must lie in one window whether the certain load leaves room for
// it. It takes the count at its start and the weight at its end: the count may have grown later, the weight
// may have fallen.
func (c Counter) overCounting(h *history.History, counted *history.Certain) *Breach {
	sure := c.sureUnits(counted.Events())
	for _, i := range h.AdmittedByEnd {
		ev := h.Admitted[i]
		k := c.first(ev.Start)
		if k != c.last(ev.End) {
			continue
		}
		begin := c.Latest(k - 1)
		if c.anchored && k == 0 {
			begin = history.MinTime // no counted request came before
		}
		cur := counted.Within(begin-1, ev.Start, ev)
		load := c.lightest(sure.in(k-1), k, ev.End) + cur + ev.Cost - 1
		if load < c.quota {
			continue
		}
		br := &Breach{Kind: result.OverAdmission, Seen: load + 1, Bound: c.quota, Windows: 2, Roomless: true,
			Events: []history.Event{ev}}
		for _, other := range counted.Events() {
			lo, hi := c.first(other.Start), c.last(other.End)
			if other.Seq != ev.Seq && lo == hi && (lo == k-1 || lo == k && other.End < ev.Start) {
				br.Events = append(br.Events, other)
			}
		}
		br.Span = SpanOf(br.Events)
		return br
	}
	return nil
}

// FirstDenied asks of each window with a denial whether there can be a first one, where denied requests are
// counted. In that window only admissions came before the first denial. Asked alone, each denial could be
// explained by the others. It returns nil where each window can have a first denial, and where denied
// requests are not counted.
//
//	window k-1          window k
//	[ all that may lie  [ what was not denied, and may    the first   the denials that
//	  in it counts    )   come before the first denial    denial      follow          )
func (c Counter) FirstDenied(h *history.History) *Breach {
	if !c.all {
		return nil
	}
	all, anywhere, ok := c.deniedWindows(h)
	if !ok {
		return nil
	}
	c.addAdmitted(h, all)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		var before int64
		if last := all[k-1]; last != nil {
			before = last.units
		}
		// The window before weighs most at the earliest instant at which a denial of window k can be decided.
		w := all[k]
		if w.denies && c.heaviest(before+anywhere, k, max(c.earliest(k), w.start))+w.admitted+
			w.dearest-1 < c.quota {
			return c.breachOfFirst(h, k)
		}
	}
	return nil
}

// deniedWindow is what may lie in one window, for a counter that counts denied requests.
type deniedWindow struct {
	// units are all that may lie in the window. admitted are those that were not denied and may come before
	// its first denial.
	units, admitted int64
	// denies: a denial surely lies in it. end is the least End of such denials.
	denies bool
	end    int64
	// start is the first Start of the denials that may lie in it, dearest the largest of their costs.
	start, dearest int64
}

// deniedWindows returns, by number, the windows in which requests may lie. deniedWindow.admitted is not
// filled yet. anywhere are the units of requests that may lie in too many windows. ok=false: such a request
// was denied.
func (c Counter) deniedWindows(h *history.History) (all map[int64]*deniedWindow, anywhere int64, ok bool) {
	all = map[int64]*deniedWindow{}
	for i := range h.All {
		ev := &h.All[i]
		lo, hi := c.first(ev.Start), c.last(ev.End)
		denied := ev.Outcome == timeline.Denied
		if hi-lo > widest {
			if denied {
				return nil, 0, false
			}
			anywhere += ev.Cost
			continue
		}
		for k := lo; k <= hi; k++ {
			w := all[k]
			if w == nil {
				w = &deniedWindow{start: history.MaxTime, end: history.MaxTime}
				all[k] = w
			}
			if w.units += ev.Cost; denied {
				w.start, w.dearest = min(w.start, ev.Start), max(w.dearest, ev.Cost)
			}
		}
		if denied && lo == hi {
			all[lo].denies, all[lo].end = true, min(all[lo].end, ev.End)
		}
	}
	return all, anywhere, true
}

func (c Counter) addAdmitted(h *history.History, all map[int64]*deniedWindow) {
	for i := range h.Possible {
		ev := &h.Possible[i]
		add := func(w *deniedWindow) {
			if w != nil && w.denies && ev.Start <= w.end {
				w.admitted += ev.Cost
			}
		}
		lo, hi := c.first(ev.Start), c.last(ev.End)
		if hi-lo <= widest {
			for k := lo; k <= hi; k++ {
				add(all[k])
			}
			continue
		}
		for k, w := range all {
			if lo <= k && hi >= k {
				add(w)
			}
		}
	}
}

// widest is the most windows through which one request is followed.
const widest = 1 << 10

// breachOfFirst lists the requests that may lie in window k or the one before.
func (c Counter) breachOfFirst(h *history.History, k int64) *Breach {
	br := &Breach{Kind: result.NoExplanation, Windows: 2}
	for _, ev := range h.All {
		if c.first(ev.Start) <= k && c.last(ev.End) >= k-1 {
			br.Events = append(br.Events, ev)
		}
	}
	br.Seen, br.Bound = int64(len(br.Events)), int64(len(br.Events))-1
	br.Span = SpanOf(br.Events)
	return br
}

// counterMeter bounds the weighted load at t from above.
type counterMeter struct {
	Counter
	inUse
	// gone and old count the units that ended before a window, and before the window in front of it. There is
	// one tally for even and one for odd windows, so that the instants of each mostly grow.
	gone, old [2]history.Tally
}

// Usage implements Bound.
func (c Counter) Usage(h *history.History) Meter {
	t := history.NewTally(h.CountedEnds(c.all))
	both := [2]history.Tally{t, t}
	return &counterMeter{c, inUse{starts: h.Counted(c.all)}, both, both}
}

func (m *counterMeter) Excess(t int64) int64 {
	m.begin(t)
	first, last := m.first(t), m.last(t)
	if last-first > widest { // too many windows to ask of each: take all units of two windows
		return m.used - m.old[0].Before(t-2*m.sizeTo+1) - m.quota + 1
	}
	best := history.MinTime
	for k := first; k <= last; k++ {
		// Window k contains t for the phases that begin it in [begin, latest]. The earlier it begins, the
		// more lies in it. The later it begins, the more the window before weighs. Both extremes are taken.
		begin := max(m.earliest(k), t-m.sizeTo+1)
		gone, old := m.gone[k&1].Before(begin), m.old[k&1].Before(begin-m.sizeTo)
		cur, prev := m.used-gone, gone-old
		if !m.all && !m.late {
			prev = min(prev, m.quota)
		}
		best = max(best, m.heaviest(prev, k, t)+cur)
	}
	return best - m.quota + 1
}

// Scope implements Bound.
func (c Counter) Scope() Scope {
	return Scope{Memory: 2 * c.sizeTo, Full: c.quota, All: c.all, Crowd: c.all && !c.anchored}
}

// counterModel is a sliding window counter of known phase, or with a phase in a box.
type counterModel struct {
	Counter
	scale int64
}

func (c counterModel) Traits() Traits {
	return Traits{Scale: c.scale, Counted: c.all, Windowed: true}
}

func (c counterModel) Scaled(k int64) Model {
	c.scale *= k
	c.Grid = c.Grid.scaled(k)
	return c
}

func (c counterModel) Boundaries(from, to int64) []int64 { return c.begins(from, to) }

func (c counterModel) Start(begin int64) State {
	return State{Counts: []int64{windowIndex: history.MinTime, inThis: 0, inLast: 0}, Zone: NewZone(begin)}
}

// turn makes the window of the present the current one.
func (c counterModel) turn(m State) {
	k, old := c.at(m.Zone), *m.count(windowIndex)
	if k == old {
		return
	}
	*m.count(inLast) = 0
	if k == old+1 {
		*m.count(inLast) = *m.count(inThis)
	}
	*m.count(windowIndex), *m.count(inThis) = k, 0
}

// admits tells whether the weighted load leaves room for cost when `left` of the window is still to come,
// scaled.
func (c counterModel) admits(m State, cost, left int64) bool {
	return c.weighted(*m.count(inLast), left)+*m.count(inThis)+cost-1 < c.quota
}

// Admit: the load falls while time passes, so there is room from some instant on.
func (c counterModel) Admit(m State, a Request) []State {
	if !c.fits(m, a.Cost) {
		return nil
	}
	*m.count(inThis) += a.Cost
	return []State{m}
}

// fits limits m to the instants at which there is room; false: there are none.
func (c counterModel) fits(m State, cost int64) bool {
	c.turn(m)
	end := c.earliest(*m.count(windowIndex) + 1)
	lo, hi := m.Zone.Present()
	if !c.admits(m, cost, end-hi) {
		return false
	}
	if c.admits(m, cost, end-lo) {
		return true
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; c.admits(m, cost, end-mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return m.Zone.Limit(0, ZoneNow, -lo)
}

func (c counterModel) Pass(m State, a Request) []State {
	if c.all {
		return c.Admit(m, a)
	}
	return onlyIf(c.fits(m, a.Cost), m)
}

// Deny: the decision comes before there is room.
func (c counterModel) Deny(m State, a Request) []State {
	c.turn(m)
	end := c.Latest(*m.count(windowIndex))
	lo, hi := m.Zone.Present()
	if c.admits(m, a.Cost, end-lo) {
		return nil
	}
	if !c.admits(m, a.Cost, end-hi) {
		lo = hi
	}
	for lo < hi {
		if mid := lo + (hi-lo+1)/2; !c.admits(m, a.Cost, end-mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if !m.Zone.Limit(ZoneNow, 0, lo) {
		return nil
	}
	if c.all {
		*m.count(inThis) += a.Cost
	}
	return []State{m}
}

func (c counterModel) Forget(m State, _ int64) { c.turn(m) }
