package identify

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Model is one policy that is not refuted, brought to the end of the recording. Its predictions only choose
// the next experiment.
type Model struct {
	kind  *Kind
	point Box
	// around is all that is left of the kind.
	around Box
	// Weight is its share of all models. All kinds have the same weight in all.
	Weight  float64
	Limiter reference.Limiter
	State   reference.State
	// last is when the last request was decided.
	last time.Duration
	// Missed counts the outcomes that it would not have produced, not even a moment earlier or later.
	Missed int
}

// NewModel returns the model of a policy of a part of the kind; nil where there is none.
func NewModel(r *Region, tl *timeline.Timeline, part *Kind, b Box) *Model {
	limit := spec.Limit{part.Policy(b)}
	for i, p := range limit {
		if p.Align == spec.AlignUnknown {
			limit[i] = placed(tl, limit, i)
		}
	}
	m := modelOf(r.Kind, limit)
	if m != nil {
		m.point, m.around = b, r.Hull()
		m.learn(tl, 0, len(tl.Observations))
	}
	return m
}

// modelOf returns the model of a limit of a kind before the first request; nil where there is none.
func modelOf(k *Kind, limit spec.Limit) *Model {
	l, err := reference.NewLimit(limit)
	if err != nil {
		return nil
	}
	return &Model{kind: k, Limiter: l, State: l.Init()}
}

// learn brings m to the end of a recording, or until it missed more than most outcomes, each give or take
// slack.
func (m *Model) learn(tl *timeline.Timeline, slack time.Duration, most int) {
	at, half := time.Duration(0), time.Duration(0)
	for i := 0; i < len(tl.Observations) && m.Missed <= most; i++ {
		o := &tl.Observations[i]
		if half = 0; o.Answered {
			half = (o.FirstByte - o.Sent) / 2
		}
		at = m.follow(max(at, o.Sent+half), half+slack, o.Outcome)
	}
}

// follow brings m past a request that was decided at an instant, give or take slack, and returns the instant.
// A model that would have decided otherwise stays as close to what was seen as it can.
func (m *Model) follow(at, slack time.Duration, seen timeline.Outcome) time.Duration {
	s, d := m.Limiter.Step(m.State, at, 1)
	switch {
	case seen == timeline.Allowed && !d.Allow:
		if d.RetryAfter > slack {
			m.Missed++
		}
		if d.RetryAfter != reference.Never {
			at += d.RetryAfter
			s, _ = m.Limiter.Step(m.State, at, 1)
		}
	case seen == timeline.Denied && d.Allow:
		if _, d = m.Limiter.Step(m.State, at-slack, 1); d.Allow {
			m.Missed++
		}
		switch {
		case m.kind.Base.Refresh == spec.RefreshAll: // this starts the window anew all the same
			m.deny(at)
			return at
		case m.kind.Base.Count != spec.CountAll:
			return at
		}
	}
	m.State, m.last = s, at
	return at
}

// deny brings m past a denied request at the last instant until at at which it denies one. It does nothing if
// there is none since its last request.
func (m *Model) deny(at time.Duration) {
	const steps = 20
	before, from := m.State, m.last
	for range steps {
		middle := from + (at-from)/2
		if s, d := m.Limiter.Step(before, middle, 1); d.Allow {
			at = middle
		} else {
			m.State, m.last, from = s, middle, middle
		}
	}
}

// Wait is the time from at until n units are free, if nobody asks meanwhile. Where denied requests count, a
// request that is denied now would put that off.
func (m *Model) Wait(at time.Duration, n int64) time.Duration {
	const steps = 20
	n = min(n, m.point.Q1)
	_, d := m.Limiter.Step(m.State, at, n)
	if d.Allow || d.RetryAfter == reference.Never || !m.kind.Counts() {
		return d.RetryAfter
	}
	denied, free := time.Duration(0), d.RetryAfter
	for range steps {
		middle := denied + (free-denied)/2
		if _, d := m.Limiter.Step(m.State, at+middle, n); d.Allow {
			free = middle
		} else {
			denied = middle
		}
	}
	return free
}

// Predict returns what phases show if each request is decided late after it is sent. It also returns the
// state and the instant after them. Of a large phase, several requests are decided at once.
func (m *Model) Predict(at, late time.Duration, phases []Phase) (seen, reference.State, time.Duration) {
	const steps = 32
	out, s := seen{}, m.State
	for i, p := range phases {
		n, units := &out[i], max(1, p.Requests/steps)
		for at += p.Rest; !p.Over(n.Admitted, n.Denied); at += p.Every * time.Duration(units) {
			next, d := m.Limiter.Step(s, at+late, int64(units))
			for units > 1 && !d.Allow { // a smaller part may be admitted
				units /= 2
				next, d = m.Limiter.Step(s, at+late, int64(units))
			}
			if s = next; d.Allow {
				n.Admitted += units
			} else {
				n.Denied++
			}
		}
	}
	return out, s, at
}

// seen is what an experiment is predicted to show: how many requests each phase admits and denies.
type seen [maxPhases]struct{ Admitted, Denied int }

// sent counts the requests of all phases.
func (s seen) sent() (n int) {
	for _, p := range s {
		n += p.Admitted + p.Denied
	}
	return n
}

// maxPhases is the most phases of an experiment.
const maxPhases = 3

// placed returns policy i of a limit with the phase at which it misses the fewest outcomes of a recording.
func placed(tl *timeline.Timeline, limit spec.Limit, i int) spec.Policy {
	const cells, finest, finer = 32, 1 << 14, 4
	limit = slices.Clone(limit)
	best, least, whole := limit[i], len(tl.Observations)+1, limit[i].Rate.Per
	try := func(phase time.Duration) {
		q := limit[i]
		q.Align, q.PhaseFrom = spec.AlignPhase, (phase+whole)%whole
		q.PhaseTo = q.PhaseFrom
		limit[i] = q
		if n := missed(tl, limit, least); n < least {
			least, best = n, q
		}
	}
	for j := range time.Duration(cells) {
		try(whole / cells * j)
	}
	for step := whole / cells / finer; step > whole/finest && least > 0; step /= finer {
		for at, j := best.PhaseFrom, time.Duration(1-finer); j < finer; j++ {
			try(at + step*j)
		}
	}
	return best
}

// missed counts the outcomes of a recording that a limit would not have produced, not even a moment earlier
// or later; at most most+1.
func missed(tl *timeline.Timeline, l spec.Limit, most int) int {
	m := modelOf(&Kind{Base: l[0]}, l)
	if m == nil {
		return most + 1
	}
	m.learn(tl, time.Millisecond, most)
	return m.Missed
}
