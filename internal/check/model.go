package check

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The caps of a model: windowCap is the most boundaries that it lists at once, outcomeCap the largest number of
// states that one decision may lead to.
const (
	windowCap  = 1 << 16
	outcomeCap = 64
)

// memoryState is the symbolic state of a limiter: counts, and a zone over the present and the times it
// remembers. Counts and times are numbered from zero by each model: a state of several policies is seen by
// each of them with its own first.
type memoryState struct {
	counts []int64
	zone   zone
	// base is the number of counts before those of the model that sees the state.
	base int
}

func (m memoryState) clone() memoryState {
	m, _ = m.into(nil)
	return m
}

// into is clone, into memory that is used again where it is large enough. It returns that memory, too.
func (m memoryState) into(memory []int64) (memoryState, []int64) {
	n := len(m.zone.at)
	memory = append(append(memory[:0], m.zone.at...), m.counts...)
	m.zone.at, m.counts = memory[:n:n], memory[n:]
	return m, memory
}

// count returns the model's count k, which may be changed.
func (m memoryState) count(k int) *int64 { return &m.counts[m.base+k] }

// ask is a request that is decided. end is the scaled instant by which it was answered, maxTime where that is
// not known.
type ask struct{ cost, end int64 }

// model is a limiter as the exact search sees it. Instants are scaled: multiplied by traits().scale. admit
// and deny get a state whose present lies in a range within which no request begins or ends, and no instant
// of boundaries lies; they return the states after the decision, none where it is impossible. They may change
// the state they are given.
//
// What the search takes for granted: requests alike in cost and outcome are interchangeable but for their
// ends, and a limiter that denies a request denies a dearer one too.
type model interface {
	traits() traits
	// scaled returns the model for a scale that is k times as large.
	scaled(k int64) model
	// start returns the memory of a partition that was not asked for before the instant begin, which is the
	// present.
	start(begin int64) memoryState
	admit(m memoryState, a ask) []memoryState
	deny(m memoryState, a ask) []memoryState
	// pass returns the states in which it would admit a request that does not count as admitted, or more
	// of them: another limiter denies it, or it is charged when it is complete.
	pass(m memoryState, a ask) []memoryState
	// complete returns the states after an admitted request of the cost is complete.
	complete(m memoryState, a ask) []memoryState
	// short tells whether an admission lacks nothing but places that requests in flight may give back.
	short(m memoryState, cost int64) bool
	// boundaries returns the instants of [from, to] at which a window begins, for windows of known phase:
	// ascending, the first windowCap of them.
	boundaries(from, to int64) []int64
	// forget makes m, whose present is lo or later, the same as as many memories as possible that no
	// request at or after lo can tell from it. It may also hold more.
	forget(m memoryState, lo int64)
}

// base has the usual answers of a model: completions are nothing to it, no window of known phase begins,
// and there is nothing to forget.
type base struct{}

func (base) complete(m memoryState, _ ask) []memoryState { return []memoryState{m} }

func (base) short(memoryState, int64) bool { return false }

func (base) boundaries(int64, int64) []int64 { return nil }

func (base) forget(memoryState, int64) {}

// passed is the usual answer of pass: where denied requests count it charges the request, else it may be
// any state.
func passed(by model, m memoryState, a ask) []memoryState {
	if by.traits().counted {
		return by.admit(m, a)
	}
	return []memoryState{m}
}

// traits are what the search must know of a model.
type traits struct {
	// scale is what times in nanoseconds are multiplied by.
	scale int64
	// counted: a denial changes the memory, so that each is decided on its own.
	counted bool
	// created: the first request makes the memory, also one that is denied.
	created bool
	// windowed: what is fixed between boundaries changes at them, so that a range of instants ends before the
	// next.
	windowed bool
	// counting: it matters how many are counted when a request is denied, but not when they were, nor to what
	// comes after the next boundary.
	counting bool
	// eager: it matters when a request is complete, also where nobody needs its place.
	eager bool
}

// newModel returns the exact model of a policy for requests of the given costs, or nil where there is none.
// from and to are the box of phases of windows; no request changes its window inside.
func newModel(p spec.Policy, from, to int64, costs []int64) model {
	m := algorithmModel(p, from, to, costs)
	if m == nil || p.Count == spec.CountOwn {
		return nil
	}
	if p.Charge == spec.ChargeCompletion {
		p.Count, p.Charge = spec.CountAll, spec.ChargeDecision
		return chargedModel{m, algorithmModel(p, from, to, costs)}
	}
	if p.TTL > 0 {
		scale := m.traits().scale
		m = ttlModel{around{m}, int64(p.TTL) * scale, int64(max(p.TTL, p.TTLTo)) * scale, false}
	}
	if p.Ban > 0 {
		m = banModel{around{m}, int64(p.Ban) * m.traits().scale, int64(p.LongestBan()) * m.traits().scale}
	}
	return m
}

func algorithmModel(p spec.Policy, from, to int64, costs []int64) model {
	switch p.Algorithm {
	case spec.Concurrency:
		return newPlacesModel(p)
	case spec.SlidingWindowLog:
		return newLogModel(p, costs)
	case spec.FixedWindow:
		if p.Slots > 1 {
			return newRingModel(p, from, to)
		}
		if p.Refreshes() {
			return newRefreshModel(p)
		}
		if p.Align == spec.AlignFirst {
			return firstModel{first: newFirst(p), scale: 1}
		}
		return fixedModel{fixed: newFixed(p, from, to), scale: 1}
	case spec.SlidingWindowCounter:
		if p.Align == spec.AlignFirst {
			return newAnchoredModel(p)
		}
		return counterModel{counter: newCounter(p, from, to), scale: 1}
	case spec.TokenBucket, spec.GCRA, spec.LeakyBucket, spec.LeakyBucketQueue:
		if p.Refill == spec.RefillInterval {
			return newBatchModel(p)
		}
		return newBucketModel(p)
	}
	return nil
}

// around is what the models around another one have in common: one time of their own, in front of those of
// the model inside.
type around struct{ model }

// ownTime is the index of that time.
const ownTime = firstVariable

// question is what a model is asked: model.admit, model.deny or model.pass.
type question func(to model, m memoryState, a ask) []memoryState

// start: the time is the present.
func (w around) start(begin int64) memoryState {
	m := w.model.start(begin)
	m.zone = m.zone.withFirst()
	return m
}

// ask asks the model inside, which takes m as if the time were not there.
func (w around) ask(m memoryState, a ask, q question) []memoryState {
	m.zone.skip++
	out := q(w.model, m, a)
	for i := range out {
		out[i].zone.skip--
	}
	return out
}

func (w around) complete(m memoryState, a ask) []memoryState { return w.ask(m, a, model.complete) }

func (w around) short(memoryState, int64) bool { return false }

func (w around) forget(m memoryState, lo int64) {
	m.zone.skip++
	w.model.forget(m, lo)
}

// remembers are the traits of the model inside where a denied request changes the time.
func (w around) remembers() traits {
	t := w.model.traits()
	t.counted = true
	return t
}

// onlyIf returns m, or nothing.
func onlyIf(ok bool, m memoryState) []memoryState {
	if !ok {
		return nil
	}
	return []memoryState{m}
}

// shown is the time of a laggingModel: what its clock showed last.
const shown = ownTime

// laggingModel is one limiter among several, with a clock of its own that may stand still for as long as lag:
// the model inside takes what the clock shows for the present, an instant of [now-lag, now] that is never
// before an earlier one.
type laggingModel struct {
	around
	lag int64
}

func (l laggingModel) scaled(k int64) model {
	return laggingModel{around{l.model.scaled(k)}, l.lag * k}
}

// start: the clock shows the earliest instant that it can.
func (l laggingModel) start(begin int64) memoryState {
	m := l.around.start(begin - l.lag)
	m.zone.set(now, 0, begin)
	return m
}

func (l laggingModel) admit(m memoryState, a ask) []memoryState { return l.read(m, a, model.admit) }

func (l laggingModel) deny(m memoryState, a ask) []memoryState { return l.read(m, a, model.deny) }

func (l laggingModel) pass(m memoryState, a ask) []memoryState { return l.read(m, a, model.pass) }

// advance makes what the clock shows any instant that it may show now, and tells whether there is one.
func (l laggingModel) advance(m memoryState) bool {
	m.zone.later(shown)
	return m.zone.limit(shown, now, 0) && m.zone.limit(now, shown, l.lag)
}

// read asks the model inside, window by window of what the clock may show.
func (l laggingModel) read(m memoryState, a ask, q question) []memoryState {
	if !l.advance(m) {
		return nil
	}
	var out []memoryState
	from, to := -m.zone.bound(0, shown), m.zone.bound(shown, 0)
	t := l.model.traits()
	gap := int64(0)
	if t.windowed {
		gap = t.scale
	}
	for _, begin := range append(l.model.boundaries(from+1, to), to+gap) {
		one := m.clone()
		if one.zone.limit(0, shown, -from) && one.zone.limit(shown, 0, begin-gap) {
			out = append(out, l.byClock(one, a, q)...)
		}
		if from = begin; len(out) > outcomeCap {
			break
		}
	}
	return out
}

// byClock asks the model inside, which takes what the clock shows for the present.
func (l laggingModel) byClock(m memoryState, a ask, q question) []memoryState {
	m.zone.clock = m.zone.index(shown) - now
	out := l.ask(m, a, q)
	for i := range out {
		out[i].zone.clock = 0
	}
	return out
}

func (l laggingModel) complete(m memoryState, a ask) []memoryState {
	if !l.traits().eager {
		return []memoryState{m}
	}
	return l.read(m, a, model.complete)
}

// forget: the clock will show lo less its lag, or later.
func (l laggingModel) forget(m memoryState, lo int64) {
	l.advance(m)
	if m.zone.limit(0, shown, l.lag-lo) {
		m.zone.clock = m.zone.index(shown) - now
		l.around.forget(m, lo-l.lag)
	}
}
