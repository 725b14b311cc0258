package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// model is one policy that is not refuted, brought to the end of the recording. Its predictions only choose
// the next experiment.
type model struct {
	kind  *kind
	point box
	// around is all that is left of the kind.
	around box
	// weight is its share of all models. All kinds have the same weight in all.
	weight  float64
	limiter reference.Limiter
	state   reference.State
	// last is when the last request was decided.
	last time.Duration
	// missed counts the outcomes that it would not have produced, not even a moment earlier or later.
	missed int
}

// phaseCells is how many parts of a window are tried as its phase.
const phaseCells = 16

// newModel returns the model of a policy of a part of the kind; nil where there is none.
func newModel(r *region, tl *timeline.Timeline, part *kind, b box) *model {
	limit := spec.Limit{part.policy(b)}
	if r.beside != nil {
		limit = append(limit, r.beside.kind.policy(r.beside.hull().point()))
	}
	for i, p := range limit {
		if p.Align == spec.AlignUnknown {
			limit[i] = r.asker.placed(tl, limit, i)
		}
	}
	l, err := reference.NewLimit(limit)
	if err == nil && r.beats != nil {
		b, l, err = r.timed(b)
	}
	if err != nil {
		return nil
	}
	if part.ahead > 0 {
		l = ahead{l, part.ahead}
	}
	m := &model{kind: r.kind, point: b, around: r.hull(), limiter: l, state: l.Init()}
	at := time.Duration(0)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		half := time.Duration(0)
		if o.Answered {
			half = (o.FirstByte - o.Sent) / 2
		}
		at = m.follow(max(at, o.Sent+half), half, o.Outcome)
	}
	return m
}

// ahead is a limiter whose clock is ahead of ours.
type ahead struct {
	reference.Limiter
	by time.Duration
}

// Step decides one request.
func (a ahead) Step(s reference.State, at time.Duration, n int64) (reference.State, reference.Decision) {
	return a.Limiter.Step(s, at+a.by, n)
}

// follow brings m past a request that was decided at an instant, give or take slack, and returns the instant.
// A model that would have decided otherwise stays as close to what was seen as it can.
func (m *model) follow(at, slack time.Duration, seen timeline.Outcome) time.Duration {
	s, d := m.limiter.Step(m.state, at, 1)
	switch {
	case seen == timeline.Allowed && !d.Allow:
		if d.RetryAfter > slack {
			m.missed++
		}
		if d.RetryAfter != reference.Never {
			at += d.RetryAfter
			s, _ = m.limiter.Step(m.state, at, 1)
		}
	case seen == timeline.Denied && d.Allow:
		if _, d = m.limiter.Step(m.state, at-slack, 1); d.Allow {
			m.missed++
		}
		switch {
		case m.kind.base.Refresh == spec.RefreshAll: // this starts the window anew all the same
			m.deny(at)
			return at
		case m.kind.base.Count != spec.CountAll:
			return at
		}
	}
	m.state, m.last = s, at
	return at
}

// deny brings m past a denied request at the last instant until at at which it denies one. It does nothing if
// there is none since its last request.
func (m *model) deny(at time.Duration) {
	const steps = 20
	before, from := m.state, m.last
	for range steps {
		middle := from + (at-from)/2
		if s, d := m.limiter.Step(before, middle, 1); d.Allow {
			at = middle
		} else {
			m.state, m.last, from = s, middle, middle
		}
	}
}

// placed returns policy i of a limit with a phase that the recording does not refute; with the last such
// phase of several.
func (a asker) placed(tl *timeline.Timeline, limit spec.Limit, i int) spec.Policy {
	p, limit := limit[i], slices.Clone(limit)
	gone := func(q spec.Policy) bool {
		limit[i] = q
		return a.refuted(tl, limit, verdict.Exact, false)
	}
	p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, 0, 0
	cell := p.Rate.Per / phaseCells
	for j := time.Duration(phaseCells - 1); j > 0; j-- {
		q := p
		q.PhaseFrom, q.PhaseTo = j*cell, (j+1)*cell-1
		if !gone(q) {
			p = q
			break
		}
	}
	for range 12 { // to a 65,536th of the window
		first, second := p, p
		mid := p.PhaseFrom + (p.PhaseTo-p.PhaseFrom)/2
		first.PhaseTo, second.PhaseFrom = mid, mid
		if !gone(first) {
			if gone(second) {
				p = first
				continue
			}
			break
		}
		p = second
	}
	p.PhaseFrom += (p.PhaseTo - p.PhaseFrom) / 2
	p.PhaseTo = p.PhaseFrom
	return p
}

// wait is the time from at until n units are free, if nobody asks meanwhile. Where denied requests count, a
// request that is denied now would put that off.
func (m *model) wait(at time.Duration, n int64) time.Duration {
	const steps = 20
	n = min(n, m.point.q1)
	_, d := m.limiter.Step(m.state, at, n)
	if d.Allow || d.RetryAfter == reference.Never || !m.kind.counts() {
		return d.RetryAfter
	}
	denied, free := time.Duration(0), d.RetryAfter
	for range steps {
		middle := denied + (free-denied)/2
		if _, d := m.limiter.Step(m.state, at+middle, n); d.Allow {
			free = middle
		} else {
			denied = middle
		}
	}
	return free
}

// seen is what an experiment is predicted to show: how many requests each phase admits and denies.
type seen [maxPhases]struct{ admitted, denied int }

// sent counts the requests of all phases.
func (s seen) sent() (n int) {
	for _, p := range s {
		n += p.admitted + p.denied
	}
	return n
}

// predict returns what phases show if each request is decided late after it is sent. It also returns the
// state and the instant after them.
func (m *model) predict(at, late time.Duration, phases []Phase) (seen, reference.State, time.Duration) {
	out, s := seen{}, m.state
	for i, p := range phases {
		n := &out[i]
		for at += p.Rest; !p.Over(n.admitted, n.denied); at += p.Every {
			var d reference.Decision
			if s, d = m.limiter.Step(s, at+late, 1); d.Allow {
				n.admitted++
			} else {
				n.denied++
			}
		}
	}
	return out, s, at
}

// maxPhases is the most phases of an experiment.
const maxPhases = 3
