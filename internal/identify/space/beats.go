package space

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/beat"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Beats are the timers that are left of a bucket in batches.
type Beats struct {
	Left beat.Set
	// First is the closed interval in which the first request was decided. Full tells that the bucket was
	// full then.
	First [2]time.Duration
	Full  bool
	// trace follows a timer whose beats may be late, prompt one whose beats never are.
	Trace, Punctual *beat.Trace
}

// Late is how late a beat may be: the timer of Envoy is set anew at each beat.
const Late = 5 * time.Millisecond

// byBeats is narrow for buckets in batches.
func (r *Region) byBeats(tl *timeline.Timeline, asked int) {
	const steps, most = 200, 1000
	r.Beats.Trace = beat.NewTrace(tl, r.Beats.Full, refute.Lateness(tl), Late)
	r.Beats.Punctual = beat.NewTrace(tl, r.Beats.Full, refute.Lateness(tl), 0)
	r.Beats.Left = r.Beats.Left.Narrow(r.Beats.Trace, steps*min(asked, most), r.Over)
	r.Project()
}

// Project makes boxes of r from the timers that are left.
func (r *Region) Project() {
	boxes := func(all []beat.Box) (out []Box) {
		for _, b := range all {
			least, longest := b.Apart()
			out = append(out, Box{Q1: b.Least, Q2: b.Most, T1: least / time.Duration(b.Fill),
				T2: longest/time.Duration(b.Fill) + 1})
		}
		return out
	}
	r.Live, r.Doubtful = boxes(r.Beats.Left.Live), boxes(r.Beats.Left.Doubtful)
}

// MiddleTimed returns the middle bucket and timer of what is left about b, as a point and as a limiter for a
// model.
func (r *Region) MiddleTimed(b Box) (Box, reference.Limiter, error) {
	all := slices.Concat(r.Beats.Left.Live, r.Beats.Left.Doubtful)
	i := slices.IndexFunc(slices.Concat(r.Live, r.Doubtful), func(o Box) bool {
		return o.Q1 <= b.Q1 && b.Q1 <= o.Q2 && o.T1 <= b.T1 && b.T1 <= o.T2
	})
	m := all[max(i, 0)].Middle()
	apart, _ := m.Apart()
	l, err := reference.New(BatchPolicy(r.Kind, m.Least, apart))
	b.Q1, b.Q2, b.T1 = m.Least, m.Least, apart/time.Duration(m.Fill)
	b.T2 = b.T1
	return b, createdAt{l, r.Beats.Trace.Origin() - time.Duration(m.U1*float64(apart)), m.Least}, err
}

// createdAt is a bucket that was created full at an instant.
type createdAt struct {
	reference.Limiter
	created  time.Duration
	capacity int64
}

// Init asks for more than the bucket ever holds, which takes nothing.
func (t createdAt) Init() reference.State {
	s, _ := t.Step(t.Limiter.Init(), t.created, t.capacity+1)
	return s
}

// BatchPolicy is a bucket with a capacity and a time between beats.
func BatchPolicy(k *Kind, capacity int64, apart time.Duration) spec.Policy {
	p := k.Base
	p.Rate, p.Burst = spec.Rate{N: p.Fill, Per: apart}, capacity
	return Complete(p)
}
