package identify

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// model is one policy that is not refuted, brought to the end of the recording. What it predicts decides
// nothing but the next experiment.
type model struct {
	kind  *kind
	point box
	// weight is its share of all models; every kind has the same in all.
	weight  float64
	limiter reference.Limiter
	state   reference.State
}

// phaseCells is into how many parts the phases of windows are divided to find one.
const phaseCells = 16

// newModel returns the model of a policy; nil where there is none.
func (r *region) newModel(tl *timeline.Timeline, b box) *model {
	p := r.kind.policy(b)
	if p.Align == spec.AlignUnknown {
		p = r.placed(tl, p)
	}
	l, err := reference.New(p)
	if err != nil {
		return nil
	}
	m := &model{kind: r.kind, point: b, limiter: l, state: l.Init()}
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			m.state, _ = m.limiter.Step(m.state, o.Sent+(o.FirstByte-o.Sent)/2, 1)
		}
	}
	return m
}

// placed returns p with windows that begin where the recording does not refute it; the last of them where
// there are several.
func (r *region) placed(tl *timeline.Timeline, p spec.Policy) spec.Policy {
	p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, 0, 0
	cell := p.Rate.Per / phaseCells
	for i := time.Duration(phaseCells - 1); i > 0; i-- {
		q := p
		q.PhaseFrom, q.PhaseTo = i*cell, (i+1)*cell-1
		if !refuted(tl, q, verdict.Exact, false) {
			p = q
			break
		}
	}
	for range 12 { // to a 65,536th of the window
		first, second := p, p
		mid := p.PhaseFrom + (p.PhaseTo-p.PhaseFrom)/2
		first.PhaseTo, second.PhaseFrom = mid, mid
		if !refuted(tl, first, verdict.Exact, false) {
			if refuted(tl, second, verdict.Exact, false) {
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

// wait returns the time until n units are free, from the instant at on.
func (m *model) wait(at time.Duration, n int64) time.Duration {
	_, d := m.limiter.Step(m.state, at, min(n, m.point.q1))
	return d.RetryAfter
}

// predict returns how many requests of each phase are admitted, and how many are sent, where the limiter
// decides late after each request is sent.
func (m *model) predict(at, late time.Duration, phases []Phase) (admitted [maxPhases]int, sent int) {
	s := m.state
	for i, p := range phases {
		at += p.Rest
		for n, denied := 0, 0; n < p.Requests && (p.Denials == 0 || denied < p.Denials); n++ {
			var d reference.Decision
			if s, d = m.limiter.Step(s, at+late, 1); d.Allow {
				admitted[i]++
			} else {
				denied++
			}
			sent++
			at += p.Every
		}
	}
	return admitted, sent
}

// maxPhases is how many phases an experiment has at most.
const maxPhases = 3
