package check

import "github.com/rlcheck/rlcheck/internal/reference"

// memoryState is the symbolic state of a limiter: counts, and a zone over the present and the times it remembers.
type memoryState struct {
	// window, prev and cur are the counts of windowed limiters, zero for others.
	window, prev, cur int64
	zone              zone
}

func (m memoryState) clone() memoryState {
	m.zone = m.zone.clone()
	return m
}

// model is a limiter as the exact search sees it, for requests of one cost. Both methods get a state whose present lies in
// a range within which no request begins or ends (and no window, for windows of known phase); they return the states
// after the decision, none where it is impossible. They may change the zone they are given.
type model interface {
	start(begin int64) memoryState
	admit(m memoryState) []memoryState
	deny(m memoryState) []memoryState
	// boundaries returns the instants of [from, to] at which a window begins, for windows of known phase.
	boundaries(from, to int64) []int64
}

// tat is the index of the theoretical arrival time of a bucket.
const tat = 2

// bucketModel is a bucket with continuous refill; times are scaled by n.
type bucketModel struct {
	bucket
	cost int64
	// strict is the least amount by which a strict inequality holds: one where every time is whole, none where times are
	// scaled, which is wider.
	strict int64
}

func (b bucketModel) boundaries(int64, int64) []int64 { return nil }

func (b bucketModel) start(begin int64) memoryState {
	z := newZone(begin, begin)
	if b.startsEmpty {
		z.limit(tat, 0, begin)
	}
	return memoryState{zone: z}
}

// admit: TAT + (c-1)T <= now + tau; then TAT' = max(now, TAT) + cT.
func (b bucketModel) admit(m memoryState) []memoryState {
	room := (b.burst - b.cost) * b.per
	if !m.zone.limit(tat, now, room) {
		return nil
	}
	var out []memoryState
	idle := m.clone()
	if idle.zone.limit(tat, now, 0) {
		idle.zone.set(tat, now, b.cost*b.per)
		out = append(out, idle)
	}
	if m.zone.limit(now, tat, 0) {
		m.zone.shift(tat, b.cost*b.per)
		out = append(out, m)
	}
	return out
}

// deny: TAT + (c-1)T > now + tau.
func (b bucketModel) deny(m memoryState) []memoryState {
	if !m.zone.limit(now, tat, -(b.burst-b.cost)*b.per-b.strict) {
		return nil
	}
	return []memoryState{m}
}

// logModel remembers the times of the last quota/cost admissions, oldest first, in the variables 2 and up.
type logModel struct {
	windowLog
	keep int
}

func (l logModel) boundaries(int64, int64) []int64 { return nil }

func (l logModel) start(begin int64) memoryState {
	values := []int64{begin}
	for range l.keep {
		values = append(values, begin-l.window)
	}
	return memoryState{zone: newZone(values...)}
}

func (l logModel) admit(m memoryState) []memoryState {
	if !m.zone.limit(2, now, -l.window) {
		return nil
	}
	l.remember(m.zone)
	return []memoryState{m}
}

// remember drops the oldest time and appends the present.
func (l logModel) remember(z zone) {
	for i := 2; i < l.keep+1; i++ {
		z.set(i, i+1, 0)
	}
	z.set(l.keep+1, now, 0)
}

func (l logModel) deny(m memoryState) []memoryState {
	if !m.zone.limit(now, 2, l.window-1) {
		return nil
	}
	if l.all {
		l.remember(m.zone)
	}
	return []memoryState{m}
}

// opened is the index of the time at which the open window of a firstModel began.
const opened = 2

// firstModel is a fixed window that a request opens; window is 1 while one was ever open.
type firstModel struct {
	first
	cost int64
}

func (f firstModel) boundaries(int64, int64) []int64 { return nil }

func (f firstModel) start(begin int64) memoryState { return memoryState{zone: newZone(begin, begin)} }

func (f firstModel) admit(m memoryState) []memoryState {
	if f.cost > f.quota {
		return nil
	}
	var out []memoryState
	if m.window == 1 && m.cur+f.cost <= f.quota {
		in := m.clone()
		if in.zone.limit(now, opened, f.size-1) {
			in.cur += f.cost
			out = append(out, in)
		}
	}
	if m.window == 0 || m.zone.limit(opened, now, -f.size) {
		m.zone.set(opened, now, 0)
		m.window, m.cur = 1, f.cost
		out = append(out, m)
	}
	return out
}

func (f firstModel) deny(m memoryState) []memoryState {
	if f.cost > f.quota {
		return []memoryState{m}
	}
	if m.window == 0 || m.cur+f.cost <= f.quota || !m.zone.limit(now, opened, f.size-1) {
		return nil
	}
	return []memoryState{m}
}

// fixedModel is a fixed window of known phase, or with a phase in a box inside which no request changes its window.
type fixedModel struct {
	fixed
	cost int64
}

func (f fixedModel) boundaries(from, to int64) []int64 { return f.begins(from, to) }

func (f fixedModel) start(begin int64) memoryState {
	return memoryState{zone: newZone(begin), window: minTime}
}

func (f fixedModel) turn(m *memoryState) {
	if k := f.at(m.zone); k != m.window {
		m.window, m.cur = k, 0
	}
}

func (f fixedModel) admit(m memoryState) []memoryState {
	f.turn(&m)
	if m.cur+f.cost > f.quota {
		return nil
	}
	m.cur += f.cost
	return []memoryState{m}
}

func (f fixedModel) deny(m memoryState) []memoryState {
	f.turn(&m)
	if m.cur+f.cost <= f.quota {
		return nil
	}
	if f.all {
		m.cur = min(m.cur+f.cost, f.quota)
	}
	return []memoryState{m}
}

// counterModel is a sliding window counter of known phase, or with a phase in a box.
type counterModel struct {
	counter
	cost int64
}

func (c counterModel) boundaries(from, to int64) []int64 { return c.begins(from, to) }

func (c counterModel) start(begin int64) memoryState {
	return memoryState{zone: newZone(begin), window: minTime}
}

func (c counterModel) turn(m *memoryState) {
	k := c.at(m.zone)
	switch {
	case k == m.window:
		return
	case k == m.window+1:
		m.prev = m.cur
	default:
		m.prev = 0
	}
	m.window, m.cur = k, 0
}

// admits tells whether the weighted load leaves room with `left` to go in the window.
func (c counterModel) admits(m memoryState, left int64) bool {
	return c.weighted(m.prev, left)+m.cur+c.cost-1 < c.quota
}

// admit: the load falls while time passes, so from some instant on there is room.
func (c counterModel) admit(m memoryState) []memoryState {
	c.turn(&m)
	end := c.earliest(m.window + 1)
	earliest, latest := -m.zone.bound(0, now), m.zone.bound(now, 0)
	if !c.admits(m, end-latest) {
		return nil
	}
	for lo, hi := earliest, latest; ; {
		if lo == hi {
			if !m.zone.limit(0, now, -lo) {
				return nil
			}
			break
		}
		if mid := lo + (hi-lo)/2; c.admits(m, end-mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	m.cur += c.cost
	return []memoryState{m}
}

// deny: only before there is room.
func (c counterModel) deny(m memoryState) []memoryState {
	c.turn(&m)
	end := c.latest(m.window)
	earliest, latest := -m.zone.bound(0, now), m.zone.bound(now, 0)
	if c.admits(m, end-earliest) {
		return nil
	}
	for lo, hi := earliest, latest; ; {
		if lo == hi {
			if !m.zone.limit(now, 0, lo) {
				return nil
			}
			break
		}
		if mid := lo + (hi-lo+1)/2; !c.admits(m, end-mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	if c.all {
		m.cur += c.cost
	}
	return []memoryState{m}
}

// at returns the window in which the present of z lies: the same for the whole of it, and for every phase of the box.
func (w windows) at(z zone) int64 { return w.first(-z.bound(0, now)) }

// begins returns the instants of [from, to] at which a window begins, at its earliest: the first 2^16 of them.
func (w windows) begins(from, to int64) []int64 {
	var out []int64
	for k := w.last(from); ; k++ {
		begin := w.earliest(k)
		if begin > to || len(out) == windowCap {
			return out
		}
		if begin >= from {
			out = append(out, begin)
		}
	}
}

// longestLog is the most admissions of a log that the exact search remembers one by one.
const longestLog = 8

// newModel returns the exact model of a policy for requests of one cost, or nil where there is none.
func newModel(p reference.Policy, from, to, cost int64) model {
	if p.TTL > 0 || p.Count == reference.CountOwn || p.Ban > 0 || p.Refill == reference.RefillInterval || p.Start == reference.StartUnknown {
		return nil
	}
	all := p.Count == reference.CountAll
	switch p.Algorithm {
	case reference.TokenBucket, reference.GCRA, reference.LeakyBucket:
		b := bucketModel{bucket: newBucket(p), cost: cost}
		if b.n == 1 {
			b.strict = 1
		}
		if all || b.startsEmpty {
			return nil
		}
		return b
	case reference.SlidingWindowLog:
		keep := int(p.Rate.N / cost)
		if keep < 1 || keep > longestLog {
			return nil
		}
		return logModel{newWindowLog(p), keep}
	case reference.FixedWindow:
		if p.Align == reference.AlignFirst {
			if all {
				return nil
			}
			return firstModel{newFirst(p), cost}
		}
		return fixedModel{newFixed(p, from, to), cost}
	case reference.SlidingWindowCounter:
		if p.Align == reference.AlignFirst {
			return nil
		}
		return counterModel{newCounter(p, from, to), cost}
	}
	return nil
}
