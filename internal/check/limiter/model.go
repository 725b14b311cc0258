package limiter

import (
	"slices"
)

// The caps of a model. WindowCap is the most boundaries that it lists at once. OutcomeCap is the most states
// that one decision may lead to.
const (
	WindowCap  = 1 << 16
	OutcomeCap = 64
)

// State is the symbolic state of a limiter: counts, and a zone over the present and the remembered times.
// Each model numbers its own counts and times from zero. In a state of several policies, each model sees its
// own first.
type State struct {
	Counts []int64
	Zone   Zone
	// Base is how many counts come before those of the model that sees the state.
	Base int
}

// Clone returns a copy that shares no memory with m.
func (m State) Clone() State {
	m, _ = m.Into(nil)
	return m
}

// Into is Clone into memory, which is used if it is large enough. It also returns that memory.
func (m State) Into(memory []int64) (State, []int64) {
	n := len(m.Zone.At)
	memory = append(slices.Grow(memory[:0], n+len(m.Counts)), m.Zone.At...) // one allocation, not two
	memory = append(memory, m.Counts...)
	m.Zone.At, m.Counts = memory[:n:n], memory[n:]
	return m, memory
}

// count returns a pointer to count k of the model.
func (m State) count(k int) *int64 { return &m.Counts[m.Base+k] }

// Request is a request that is decided. End is the scaled instant by which it was answered, MaxTime: not
// known.
type Request struct{ Cost, End int64 }

// Model is a limiter as the exact search sees it. Instants are scaled: nanoseconds multiplied by
// Traits.Scale. Admit and Deny get a state whose present lies in a range of instants. Inside that range no
// request begins or ends, and there is no boundary. They return the states after the decision; none: the
// decision is impossible. They may change the state that they are given.
//
// The search relies on two properties. Requests alike in cost and outcome are interchangeable but for their
// ends. A limiter that denies a request also denies a dearer request.
type Model interface {
	Traits() Traits
	// Scaled returns the model for a scale that is k times as large.
	Scaled(k int64) Model
	// Start returns the state of a partition that was not asked before the instant begin, which is the
	// present.
	Start(begin int64) State
	Admit(m State, a Request) []State
	Deny(m State, a Request) []State
	// Pass returns states that include every state in which the model would admit a request that is not
	// charged, as another limiter denies the request.
	Pass(m State, a Request) []State
	// Boundaries returns the instants of [from, to] at which a window of known phase begins, ascending. It
	// returns the first WindowCap of them.
	Boundaries(from, to int64) []int64
	// Forget makes states equal that no request at or after lo can tell apart. The present of m is lo or
	// later. The result may hold more than m.
	Forget(m State, lo int64)
}

// base has the usual answers of a model. It has no boundaries and forgets nothing.
type base struct{}

func (base) Boundaries(int64, int64) []int64 { return nil }

func (base) Forget(State, int64) {}

// Passed is the usual answer of Pass. Where denied requests count, the request is charged. Otherwise every
// state is returned, whether it would admit the request or not.
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
	// Counted: a denial changes the state, so each denial is decided on its own.
	Counted bool
	// Created: the first request creates the state, even if it is denied.
	Created bool
	// Windowed: something that is fixed between boundaries changes at them. So a range of instants ends
	// before the next boundary.
	Windowed bool
	// Counting: a denial depends only on how many units were counted in this window. When they were counted
	// does not matter, nor do they matter after the next boundary.
	Counting bool
}

// around is what models that wrap another model share. They have one time of their own, in front of the times
// of the inner model.
type around struct{ Model }

// ownTime is the index of that time.
const ownTime = FirstVariable

// question is one of Model.Admit, Model.Deny and Model.Pass.
type question func(to Model, m State, a Request) []State

// Start sets the time to the present.
func (w around) Start(begin int64) State {
	m := w.Model.Start(begin)
	m.Zone = m.Zone.WithFirst()
	return m
}

// ask asks the inner model, which sees m without the time.
func (w around) ask(m State, a Request, q question) []State {
	m.Zone.Skip++
	out := q(w.Model, m, a)
	for i := range out {
		out[i].Zone.Skip--
	}
	return out
}

func (w around) Forget(m State, lo int64) {
	m.Zone.Skip++
	w.Model.Forget(m, lo)
}

// remembers returns the traits of the inner model, for a wrapper whose time a denied request changes.
func (w around) remembers() Traits {
	t := w.Model.Traits()
	t.Counted = true
	return t
}

func onlyIf(ok bool, m State) []State {
	if !ok {
		return nil
	}
	return []State{m}
}

// shown is the time of a laggingModel: what its clock showed last.
const shown = ownTime

// Lagging returns m with a clock that may stand still for as long as lag, in nanoseconds.
func Lagging(m Model, lag int64) Model {
	return laggingModel{around{m}, lag * m.Traits().Scale}
}

// laggingModel is one of several limiters, with a clock of its own that may stand still for as long as lag.
// The inner model takes what the clock shows for the present. The clock shows an instant of [now-lag, now],
// and never an earlier one than before.
type laggingModel struct {
	around
	lag int64
}

func (l laggingModel) Scaled(k int64) Model {
	return laggingModel{around{l.Model.Scaled(k)}, l.lag * k}
}

// Start: the clock shows the earliest instant that it can show.
func (l laggingModel) Start(begin int64) State {
	m := l.around.Start(begin - l.lag)
	m.Zone.Set(ZoneNow, 0, begin)
	return m
}

func (l laggingModel) Admit(m State, a Request) []State { return l.read(m, a, Model.Admit) }

func (l laggingModel) Deny(m State, a Request) []State { return l.read(m, a, Model.Deny) }

func (l laggingModel) Pass(m State, a Request) []State { return l.read(m, a, Model.Pass) }

// advance lets the clock show any instant that it may show now. false: there is none.
func (l laggingModel) advance(m State) bool {
	m.Zone.Later(shown)
	return m.Zone.Limit(shown, ZoneNow, 0) && m.Zone.Limit(ZoneNow, shown, l.lag)
}

// read asks the inner model, for each window that the clock may show.
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

// byClock asks the inner model, with the clock in place of the present.
func (l laggingModel) byClock(m State, a Request, q question) []State {
	m.Zone.Clock = m.Zone.Index(shown) - ZoneNow
	out := l.ask(m, a, q)
	for i := range out {
		out[i].Zone.Clock = 0
	}
	return out
}

// Forget: the clock will show lo-lag or later.
func (l laggingModel) Forget(m State, lo int64) {
	l.advance(m)
	if m.Zone.Limit(0, shown, l.lag-lo) {
		m.Zone.Clock = m.Zone.Index(shown) - ZoneNow
		l.around.Forget(m, lo-l.lag)
	}
}
