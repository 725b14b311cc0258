package check

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// counter is the bound of the sliding window counter with a phase in a box. At position x in a window it
// admits while
//
//	round(prev * (size-x)/size) + cur + cost - 1 < quota
//
// With a the units that must lie in the window before (or may lie there, and then count no more than in this
// one), j the units certainly in the window and decided by y, the last of them was admitted only if the
// weighted a at y, plus j-1, is below the quota. A denial at t needs the weighted units that may lie in the
// window before, plus those that may lie in this one and start by t, to reach the quota. A request that may
// lie in either counts more in the later one.
type counter struct {
	windows
	quota    int64
	all      bool
	rounding spec.Rounding
	// anchored: the first counted request begins window 0, so none is in a window before.
	anchored bool
	// late: requests are counted when they are complete, so that more than the quota may lie in a window.
	late bool
}

// newCounter returns the bound for windows of a phase in the box; with AlignFirst the box is that of the
// first counted request.
func newCounter(p spec.Policy, from, to int64) counter {
	return counter{newWindows(p, from, to), p.Rate.N, p.Count == spec.CountAll, p.Rounding,
		p.Align == spec.AlignFirst, p.Charge == spec.ChargeCompletion}
}

// first and last are those of the windows, but for windows that were never opened.
func (c counter) first(s int64) int64 { return c.opened(c.windows.first(s)) }
func (c counter) last(e int64) int64  { return c.opened(c.windows.last(e)) }

func (c counter) opened(k int64) int64 {
	if c.anchored {
		return max(k, 0)
	}
	return k
}

// weigh returns prev*left/size as a whole number and the rest of the division, left clipped to the window.
func weigh(prev, left, size int64) (whole, rest int64) {
	left = min(max(left, 0), size)
	hi, lo := bits.Mul64(uint64(prev), uint64(left))
	q, r := bits.Div64(hi, lo, uint64(size))
	return int64(q), int64(r)
}

// weighted returns the smallest integer w such that, for every integer n, round(prev*left/size) + n < quota
// exactly when w + n < quota. Without rounding that is the floor: q + r/size + n < quota holds exactly when q
// + n < quota, or q + n + 1 <= quota, as 0 <= r < size.
func (c counter) weighted(prev, left int64) int64 { return c.share(prev, left, c.size) }

// share is weighted for windows of a given length.
func (c counter) share(prev, left, size int64) int64 {
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
// window k. The weight is k+1 less (t-P)/W, which grows with the phase P, and with the length W where P is
// before t.
func (c counter) lightest(prev, k, t int64) int64 {
	return c.share(prev, c.earliest(k+1)-t, c.least(k))
}

func (c counter) heaviest(prev, k, t int64) int64 {
	return c.share(prev, c.latest(k)-t, c.most(k))
}

// over asks what the admissions alone leave no room for, which holds where denied requests are counted too;
// then what all the requests do.
func (c counter) over(h *history) *breach {
	if br := tooDear(h, c.quota); br != nil {
		return br
	}
	if br := c.overAdmitted(h); br != nil || !c.all {
		return br
	}
	return c.overCounting(h, h.surely())
}

func (c counter) overAdmitted(h *history) *breach {
	if y, k, over := c.firstOver(h); over {
		return c.breachAt(h, y, k)
	}
	return nil
}

// firstOver returns the earliest end y of an admission for which the others leave no room, and its window k;
// ok=false where there is none.
func (c counter) firstOver(h *history) (y, k int64, ok bool) {
	sure := c.sureUnits(h.admitted)
	var inside, window int64 = 0, minTime
	var either int64 // units that may lie in this window or in the one before
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		k := c.last(ev.e)
		if k != window {
			window, inside, either = k, 0, 0
		}
		switch c.first(ev.s) {
		case k:
			inside += ev.cost
		case k - 1:
			either += ev.cost
		default:
			continue
		}
		prev := sure.in(k-1) + either
		if c.lightest(prev, k, ev.e)+inside-1 >= c.quota && inside > 0 {
			return ev.e, k, true
		}
	}
	return 0, 0, false
}

// sureUnits adds up the units that must lie in each window; evs ascend by start.
func (c counter) sureUnits(evs []event) *loads {
	out := &loads{}
	for i := range evs {
		if k := c.first(evs[i].s); k == c.last(evs[i].e) {
			out.add(k, evs[i].cost)
		}
	}
	return out
}

// loads has the units in some windows, ascending.
type loads struct {
	windows, units []int64
	// i is where the last one was found.
	i int
}

// add adds units to window k, which is not before the last one.
func (l *loads) add(k, units int64) {
	if n := len(l.windows); n == 0 || l.windows[n-1] != k {
		l.windows, l.units = append(l.windows, k), append(l.units, 0)
	}
	l.units[len(l.units)-1] += units
}

// in returns the units in window k.
func (l *loads) in(k int64) int64 {
	for l.i < len(l.windows) && l.windows[l.i] < k {
		l.i++
	}
	for l.i > 0 && l.windows[l.i-1] >= k {
		l.i--
	}
	if l.i < len(l.windows) && l.windows[l.i] == k {
		return l.units[l.i]
	}
	return 0
}

// breachAt collects what must weigh on window k by y.
func (c counter) breachAt(h *history, y, k int64) *breach {
	br := &breach{kind: verdict.OverAdmission, windows: 2, bound: c.quota}
	var prev, cur int64
	for _, ev := range h.admitted {
		lo, hi := c.first(ev.s), c.last(ev.e)
		if ev.e > y || hi > k || lo < k-1 {
			continue
		}
		if lo == k {
			cur += ev.cost
		} else {
			prev += ev.cost
		}
		br.events = append(br.events, ev)
	}
	br.seen = c.lightest(prev, k, y) + cur
	br.span = spanOf(br.events)
	return br
}

// overCounting asks of each admission that must lie in one window whether the certain load leaves room for it
// at its start; later the weighted part has fallen and the count may have grown.
func (c counter) overCounting(h *history, counted []event) *breach {
	sure := c.sureUnits(counted)
	all := newCertain(counted)
	for _, i := range h.admittedByEnd {
		ev := h.admitted[i]
		k := c.first(ev.s)
		if k != c.last(ev.e) {
			continue
		}
		begin := c.latest(k - 1)
		if c.anchored && k == 0 {
			begin = minTime // nothing counted came before
		}
		cur := all.within(begin-1, ev.s, ev)
		load := c.lightest(sure.in(k-1), k, ev.e) + cur + ev.cost - 1
		if load < c.quota {
			continue
		}
		br := &breach{kind: verdict.OverAdmission, seen: load + 1, bound: c.quota, windows: 2, roomless: true,
			events: []event{ev}}
		for _, other := range counted {
			lo, hi := c.first(other.s), c.last(other.e)
			if other.seq != ev.seq && lo == hi && (lo == k-1 || lo == k && other.e < ev.s) {
				br.events = append(br.events, other)
			}
		}
		br.span = spanOf(br.events)
		return br
	}
	return nil
}

// firstDenied asks of each window with a denial whether there can be a first one, where denied requests are
// counted: in that window only admissions came before it. Asked alone, each denial of a crowd could be
// explained by the others. It returns nil where denied requests are not counted.
func (c counter) firstDenied(h *history) *breach {
	if !c.all {
		return nil
	}
	ends, starts, costs := map[int64]int64{}, map[int64]int64{}, map[int64]int64{}
	prev := map[int64]int64{} // the units that may lie in each window
	var anywhere int64        // the units that may lie in more windows than are told apart
	for _, ev := range h.all {
		lo, hi := c.first(ev.s), c.last(ev.e)
		if hi-lo > widest {
			if ev.outcome == timeline.Denied {
				return nil
			}
			anywhere += ev.cost
			continue
		}
		for k := lo; k <= hi; k++ {
			prev[k] += ev.cost
			if ev.outcome != timeline.Denied {
				continue
			}
			if s, ok := starts[k]; !ok || ev.s < s {
				starts[k] = ev.s
			}
			costs[k] = max(costs[k], ev.cost)
		}
		if e, ok := ends[lo]; ev.outcome == timeline.Denied && lo == hi && (!ok || ev.e < e) {
			ends[lo] = ev.e
		}
	}
	cur := map[int64]int64{} // of those, the units that were not denied and may come before the first denial
	for _, ev := range h.possible {
		lo, hi := c.first(ev.s), c.last(ev.e)
		if hi-lo > widest {
			for k := range ends {
				if ev.s <= ends[k] && lo <= k && hi >= k {
					cur[k] += ev.cost
				}
			}
			continue
		}
		for k := lo; k <= hi; k++ {
			if end, ok := ends[k]; ok && ev.s <= end {
				cur[k] += ev.cost
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(ends)) {
		// The window before weighs the most at the earliest instant at which a denial of this one can be
		// decided.
		if c.heaviest(prev[k-1]+anywhere, k, max(c.earliest(k), starts[k]))+cur[k]+costs[k]-1 < c.quota {
			return c.breachOfFirst(h, k)
		}
	}
	return nil
}

// widest is the largest number of windows that a request is followed through.
const widest = 1 << 10

// breachOfFirst collects what may lie in window k or the one before.
func (c counter) breachOfFirst(h *history, k int64) *breach {
	br := &breach{kind: verdict.NoExplanation, windows: 2}
	for _, ev := range h.all {
		if c.first(ev.s) <= k && c.last(ev.e) >= k-1 {
			br.events = append(br.events, ev)
		}
	}
	br.seen, br.bound = int64(len(br.events)), int64(len(br.events))-1
	br.span = spanOf(br.events)
	return br
}

// counterMeter bounds the weighted load at t from above.
type counterMeter struct {
	counter
	starts []event
	i      int
	units  int64
	// gone and old count the units that ended before a window and before the one before it.
	gone, old tally
}

func (c counter) usage(h *history) meter {
	t := newTally(h.countedEnds(c.all))
	return &counterMeter{counter: c, starts: h.counted(c.all), gone: t, old: t}
}

func (m *counterMeter) unit() int64 { return 1 }

func (m *counterMeter) excess(t int64) int64 {
	for ; m.i < len(m.starts) && m.starts[m.i].s <= t; m.i++ {
		m.units += m.starts[m.i].cost
	}
	first, last := m.first(t), m.last(t)
	if last-first > widest { // too many to ask of each: all of two windows may count
		return m.units - m.old.before(t-2*m.sizeTo+1) - m.quota + 1
	}
	best := minTime
	for k := first; k <= last; k++ {
		// Window k contains t for the phases that begin it in [begin, latest]: the earlier it began the more
		// lies in it, the later it began the more the window before weighs.
		begin := max(m.earliest(k), t-m.sizeTo+1)
		cur := m.units - m.gone.before(begin)
		prev := m.gone.before(begin) - m.old.before(begin-m.sizeTo)
		if !m.all && !m.late {
			prev = min(prev, m.quota)
		}
		best = max(best, m.heaviest(prev, k, t)+cur)
	}
	return best - m.quota + 1
}

func (c counter) scope() scope { return scope{memory: 2 * c.sizeTo, full: c.quota, all: c.all} }

// counterModel is a sliding window counter of known phase, or with a phase in a box.
type counterModel struct {
	base
	counter
	scale int64
}

func (c counterModel) traits() traits {
	return traits{scale: c.scale, counted: c.all, windowed: true}
}

func (c counterModel) scaled(k int64) model {
	c.scale *= k
	c.windows = c.windows.scaled(k)
	return c
}

func (c counterModel) boundaries(from, to int64) []int64 { return c.begins(from, to) }

func (c counterModel) start(begin int64) memoryState {
	return memoryState{counts: []int64{windowIndex: minTime, inThis: 0, inLast: 0}, zone: newZone(begin)}
}

func (c counterModel) turn(m memoryState) {
	k, old := c.at(m.zone), *m.count(windowIndex)
	if k == old {
		return
	}
	*m.count(inLast) = 0
	if k == old+1 {
		*m.count(inLast) = *m.count(inThis)
	}
	*m.count(windowIndex), *m.count(inThis) = k, 0
}

// admits tells whether the weighted load leaves room with `left` to go in the window.
func (c counterModel) admits(m memoryState, cost, left int64) bool {
	return c.weighted(*m.count(inLast), left)+*m.count(inThis)+cost-1 < c.quota
}

// admit: the load falls while time passes, so from some instant on there is room.
func (c counterModel) admit(m memoryState, a ask) []memoryState {
	if !c.fits(m, a.cost) {
		return nil
	}
	*m.count(inThis) += a.cost
	return []memoryState{m}
}

// fits limits m to where there is room.
func (c counterModel) fits(m memoryState, cost int64) bool {
	c.turn(m)
	end := c.earliest(*m.count(windowIndex) + 1)
	lo, hi := m.zone.present()
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
	return m.zone.limit(0, now, -lo)
}

func (c counterModel) pass(m memoryState, a ask) []memoryState {
	if c.all {
		return c.admit(m, a)
	}
	return onlyIf(c.fits(m, a.cost), m)
}

// deny: only before there is room.
func (c counterModel) deny(m memoryState, a ask) []memoryState {
	c.turn(m)
	end := c.latest(*m.count(windowIndex))
	lo, hi := m.zone.present()
	if c.admits(m, a.cost, end-lo) {
		return nil
	}
	if !c.admits(m, a.cost, end-hi) {
		lo = hi
	}
	for lo < hi {
		if mid := lo + (hi-lo+1)/2; !c.admits(m, a.cost, end-mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if !m.zone.limit(now, 0, lo) {
		return nil
	}
	if c.all {
		*m.count(inThis) += a.cost
	}
	return []memoryState{m}
}

func (c counterModel) forget(m memoryState, _ int64) { c.turn(m) }

func (c counter) exceeds(h *history, _ *asker) bool {
	if c.all {
		return c.over(h) != nil
	}
	_, _, over := c.firstOver(h)
	return over || tooDear(h, c.quota) != nil
}
