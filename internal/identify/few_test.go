package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAModelThatTheRecordingRefutesPlansLittle: a window by the clock whose length is refuted said where to
// ask, and a window of a minute was asked for long before it ended.
func TestAModelThatTheRecordingRefutesPlansLittle(t *testing.T) {
	kept, other := &Model{Weight: 0.5, Missed: 1}, &Model{Weight: 0.5, Missed: 9}
	p := &Planner{Models: []*Model{kept, other}}
	if p.Weigh(); kept.Weight < 0.99 || kept.Weight+other.Weight != 1 {
		t.Errorf("got weights of %g and %g, want nearly all for the first", kept.Weight, other.Weight)
	}
}

// TestTheLastExperimentCostsMore: of 230 s, a rest of 173 s took all in which a minute could be asked for.
func TestTheLastExperimentCostsMore(t *testing.T) {
	const s = time.Second
	window := Box{Q1: 5, Q2: 5, T1: time.Minute, T2: time.Minute}
	r := &Region{Kind: Kinds()[3], Live: []Box{window}}
	m := NewModel(r, &timeline.Timeline{}, r.Kind, window)
	p := &Planner{Models: []*Model{m}, Every: s / 50, Requests: 300, TimeLeft: 230 * s}
	cost := func(rest time.Duration) float64 {
		return p.cost(Experiment{[]Phase{{Rest: rest, Requests: 1, Every: s / 50}}}, 1)
	}
	if short, long := cost(100*s), cost(173*s); long < 3*short {
		t.Errorf("a rest of 100 s costs %g and one of 173 s %g, want three times as much", short, long)
	}
}
