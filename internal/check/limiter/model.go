package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/zone"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The caps of a model: WindowCap is the most boundaries that it lists at once, OutcomeCap the largest number
// of states that one decision may lead to.
const (
	WindowCap  = 1 << 16
	OutcomeCap = 64
)

// State is the symbolic state of a limiter: counts, and a zone over the present and the times it
// remembers. Counts and times are numbered from zero by each model: a state of several policies is seen by
// each of them with its own first.
type State struct {
	Counts []int64
	Zone   zone.Zone
	// Base is the number of counts before those of the model that sees the state.
	Base int
}

// Clone returns a copy that shares nothing with m.
func (m State) Clone() State {
	m, _ = m.Into(nil)
	return m
}

// Into is clone, into memory that is used again where it is large enough. It returns that memory, too.
func (m State) Into(memory []int64) (State, []int64) {
	n := len(m.Zone.At)
	memory = append(append(memory[:0], m.Zone.At...), m.Counts...)
	m.Zone.At, m.Counts = memory[:n:n], memory[n:]
	return m, memory
}

// count returns the model's count k, which may be changed.
func (m State) count(k int) *int64 { return &m.Counts[m.Base+k] }

// Request is a request that is decided. end is the scaled instant by which it was answered, MaxTime where
// that is not known.
type Request struct{ Cost, End int64 }

// Model is a limiter as the exact search sees it. Instants are scaled: multiplied by traits().scale. admit
// and deny get a state whose present lies in a range within which no request begins or ends, and no instant
// of boundaries lies; they return the states after the decision, none where it is impossible. They may change
// the state they are given.
//
// What the search takes for granted: requests alike in cost and outcome are interchangeable but for their
// ends, and a limiter that denies a request denies a dearer one too.
type Model interface {
	Traits() Traits
	// Scaled returns the model for a scale that is k times as large.
	Scaled(k int64) Model
	// Start returns the memory of a partition that was not asked for before the instant begin, which is the
	// present.
	Start(begin int64) State
	Admit(m State, a Request) []State
	Deny(m State, a Request) []State
	// Pass returns the states in which it would admit a request that does not count as admitted, or more
	// of them: another limiter denies it, or it is charged when it is complete.
	Pass(m State, a Request) []State
	// Complete returns the states after an admitted request of the cost is complete.
	Complete(m State, a Request) []State
	// Short tells whether an admission lacks nothing but places that requests in flight may give back.
	Short(m State, cost int64) bool
	// Boundaries returns the instants of [from, to] at which a window begins, for windows of known phase:
	// ascending, the first WindowCap of them.
	Boundaries(from, to int64) []int64
	// Forget makes m, whose present is lo or later, the same as as many memories as possible that no
	// request at or after lo can tell from it. It may also hold more.
	Forget(m State, lo int64)
}

// base has the usual answers of a model: completions are nothing to it, no window of known phase begins,
// and there is nothing to forget.
type base struct{}

func (base) Complete(m State, _ Request) []State { return []State{m} }

func (base) Short(State, int64) bool { return false }

func (base) Boundaries(int64, int64) []int64 { return nil }

func (base) Forget(State, int64) {}

// Passed is the usual answer of pass: where denied requests count it charges the request, else it may be
// any state.
func Passed(by Model, m State, a Request) []State {
	if by.Traits().Counted {
		return by.Admit(m, a)
	}
	return []State{m}
}

// Traits are what the search must know of a model.
type Traits struct {
	// Scale is what times in nanoseconds are multiplied by.
	Scale int64
	// Counted: a denial changes the memory, so that each is decided on its own.
	Counted bool
	// Created: the first request makes the memory, also one that is denied.
	Created bool
	// Windowed: what is fixed between boundaries changes at them, so that a range of instants ends before the
	// next.
	Windowed bool
	// Counting: it matters how many are counted when a request is denied, but not when they were, nor to what
	// comes after the next boundary.
	Counting bool
	// Eager: it matters when a request is complete, also where nobody needs its place.
	Eager bool
}

// NewModel returns the exact model of a policy for requests of the given costs, or nil where there is none.
// from and to are the box of phases of windows; no request changes its window inside.
func NewModel(p spec.Policy, from, to int64, costs []int64) Model {
	m := kindOf(p).model(p, history.Interval{From: from, To: to}, costs)
	if m == nil || p.Count == spec.CountOwn {
		return nil
	}
	if p.Charge == spec.ChargeCompletion {
		p.Count, p.Charge = spec.CountAll, spec.ChargeDecision
		return chargedModel{m, kindOf(p).model(p, history.Interval{From: from, To: to}, costs)}
	}
	if p.TTL > 0 {
		scale := m.Traits().Scale
		m = ttlModel{around{m}, int64(p.TTL) * scale, int64(max(p.TTL, p.TTLTo)) * scale, false}
	}
	if p.Ban > 0 {
		m = banModel{around{m}, int64(p.Ban) * m.Traits().Scale, int64(p.LongestBan()) * m.Traits().Scale}
	}
	return m
}

// around is what the models around another one have in common: one time of their own, in front of those of
// the model inside.
type around struct{ Model }

// ownTime is the index of that time.
const ownTime = zone.FirstVariable

// question is what a model is asked: Model.Admit, Model.Deny or Model.Pass.
type question func(to Model, m State, a Request) []State

// Start: the time is the present.
func (w around) Start(begin int64) State {
	m := w.Model.Start(begin)
	m.Zone = m.Zone.WithFirst()
	return m
}

// ask asks the model inside, which takes m as if the time were not there.
func (w around) ask(m State, a Request, q question) []State {
	m.Zone.Skip++
	out := q(w.Model, m, a)
	for i := range out {
		out[i].Zone.Skip--
	}
	return out
}

func (w around) Complete(m State, a Request) []State { return w.ask(m, a, Model.Complete) }

func (w around) Short(State, int64) bool { return false }

func (w around) Forget(m State, lo int64) {
	m.Zone.Skip++
	w.Model.Forget(m, lo)
}

// remembers are the traits of the model inside where a denied request changes the time.
func (w around) remembers() Traits {
	t := w.Model.Traits()
	t.Counted = true
	return t
}

// onlyIf returns m, or nothing.
func onlyIf(ok bool, m State) []State {
	if !ok {
		return nil
	}
	return []State{m}
}

// shown is the time of a LaggingModel: what its clock showed last.
const shown = ownTime

// Lagging returns a model whose clock may stand still for as long as lag, in nanoseconds.
func Lagging(m Model, lag int64) Model {
	return laggingModel{around{m}, lag * m.Traits().Scale}
}

// LaggingModel is one limiter among several, with a clock of its own that may stand still for as long as lag:
// the model inside takes what the clock shows for the present, an instant of [now-lag, now] that is never
// before an earlier one.
type laggingModel struct {
	around
	lag int64
}

func (l laggingModel) Scaled(k int64) Model {
	return laggingModel{around{l.Model.Scaled(k)}, l.lag * k}
}

// Start: the clock shows the earliest instant that it can.
func (l laggingModel) Start(begin int64) State {
	m := l.around.Start(begin - l.lag)
	m.Zone.Set(zone.Now, 0, begin)
	return m
}

func (l laggingModel) Admit(m State, a Request) []State { return l.read(m, a, Model.Admit) }

func (l laggingModel) Deny(m State, a Request) []State { return l.read(m, a, Model.Deny) }

func (l laggingModel) Pass(m State, a Request) []State { return l.read(m, a, Model.Pass) }

// advance makes what the clock shows any instant that it may show now, and tells whether there is one.
func (l laggingModel) advance(m State) bool {
	m.Zone.Later(shown)
	return m.Zone.Limit(shown, zone.Now, 0) && m.Zone.Limit(zone.Now, shown, l.lag)
}

// read asks the model inside, window by window of what the clock may show.
func (l laggingModel) read(m State, a Request, q question) []State {
	if !l.advance(m) {
		return nil
	}
	var out []State
	from, to := -m.Zone.Bound(0, shown), m.Zone.Bound(shown, 0)
	t := l.Model.Traits()
	gap := int64(0)
	if t.Windowed {
		gap = t.Scale
	}
	for _, begin := range append(l.Model.Boundaries(from+1, to), to+gap) {
		one := m.Clone()
		if one.Zone.Limit(0, shown, -from) && one.Zone.Limit(shown, 0, begin-gap) {
			out = append(out, l.byClock(one, a, q)...)
		}
		if from = begin; len(out) > OutcomeCap {
			break
		}
	}
	return out
}

// byClock asks the model inside, which takes what the clock shows for the present.
func (l laggingModel) byClock(m State, a Request, q question) []State {
	m.Zone.Clock = m.Zone.Index(shown) - zone.Now
	out := l.ask(m, a, q)
	for i := range out {
		out[i].Zone.Clock = 0
	}
	return out
}

func (l laggingModel) Complete(m State, a Request) []State {
	if !l.Traits().Eager {
		return []State{m}
	}
	return l.read(m, a, Model.Complete)
}

// Forget: the clock will show lo less its lag, or later.
func (l laggingModel) Forget(m State, lo int64) {
	l.advance(m)
	if m.Zone.Limit(0, shown, l.lag-lo) {
		m.Zone.Clock = m.Zone.Index(shown) - zone.Now
		l.around.Forget(m, lo-l.lag)
	}
}
