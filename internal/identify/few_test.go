package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAModelThatTheRecordingRefutesPlansNothing: a window by the clock whose length is refuted said where to
// ask, and a window of a minute was asked for long before it ended.
func TestAModelThatTheRecordingRefutesPlansNothing(t *testing.T) {
	one, other := &Model{Weight: 0.25, Missed: 1}, &Model{Weight: 0.25, Missed: 3}
	kept := &Model{Weight: 0.5, Missed: 9}
	p := &Planner{Models: []*Model{kept, one, other}}
	if p.Prune(1); len(p.Models) != 2 || p.Models[0] != kept || p.Models[1] != one || one.Weight != 0.5 {
		t.Errorf("got %+v, want the models of 9 and 1 missed", p.Models)
	}
}

// TestTheLastExperimentCostsMore: of 230 s, a rest of 173 s took all in which a minute could be asked for.
func TestTheLastExperimentCostsMore(t *testing.T) {
	const s = time.Second
	window := Box{Q1: 5, Q2: 5, T1: time.Minute, T2: time.Minute}
	r := &Region{Kind: Kinds()[3], Live: []Box{window}}
	m := NewModel(r, &timeline.Timeline{}, r.Kind, window)
	p := &Planner{Models: []*Model{m}, Few: true, Every: s / 50, Requests: 300, TimeLeft: 230 * s}
	cost := func(rest time.Duration) float64 {
		_, cost := p.worth(Experiment{[]Phase{{Rest: rest, Requests: 1, Every: s / 50}}})
		return cost
	}
	if short, long := cost(100*s), cost(173*s); long < 3*short {
		t.Errorf("a rest of 100 s costs %g and one of 173 s %g, want three times as much", short, long)
	}
}

// TestALadderCoversTheEndsOfAllWindows: of windows by the clock that end 3 s to 12 s from now it asked about
// one, within a twentieth of that time.
func TestALadderCoversTheEndsOfAllWindows(t *testing.T) {
	const s = time.Second
	k, p := Kinds()[1], &Planner{Few: true, Every: s / 50, Dense: s / 50, TimeLeft: time.Hour}
	for _, per := range []time.Duration{58 * s, 60 * s, 61 * s} {
		b := Box{Q1: 5, Q2: 5, T1: per, T2: per}
		placed := *k
		placed.Base.Align, placed.Base.PhaseFrom, placed.Base.PhaseTo = spec.AlignPhase, 0, 0
		m := NewModel(&Region{Kind: k, Live: []Box{b}}, &timeline.Timeline{}, &placed, b)
		p.Models = append(p.Models, m)
	}
	p.Now = 3*58*s - 3*s
	climb := p.ladders(p.Models[1], s)[1].Phases[1]
	if from, to := climb.Rest, climb.Rest+time.Duration(climb.Requests)*climb.Every; from > 3*s || to < 11*s {
		t.Errorf("got requests from %s to %s after the quota, want the ends of all windows", from, to)
	}
}

// TestALadderTellsFixedWindowsApart: it asked about one kind, and began after the window by the first request
// had ended. So a clock of 60.6 s was left beside it.
func TestALadderTellsFixedWindowsApart(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	p := &Planner{Few: true, Every: 20 * ms, Dense: 20 * ms, TimeLeft: time.Hour}
	for i, per := range map[int]time.Duration{1: 60600 * ms, 2: 60 * s} {
		b := Box{Q1: 5, Q2: 5, T1: per, T2: per}
		k := *Kinds()[i]
		if k.Base.Align == spec.AlignUnknown {
			k.Base.Align = spec.AlignPhase
		}
		wide := b
		wide.T1, wide.T2 = per-2*s, per+2*s
		r := &Region{Kind: Kinds()[i], Live: []Box{wide}}
		p.Models = append(p.Models, NewModel(r, &timeline.Timeline{}, &k, b))
	}
	for _, m := range p.Models {
		climb := p.ladders(m, s)[1].Phases[1]
		if to := climb.Rest + time.Duration(climb.Requests)*climb.Every; climb.Rest > 60*s || to < 60400*ms {
			t.Errorf("%s: got requests from %s to %s, want the ends of both kinds", m.kind.Text, climb.Rest,
				to)
		}
	}
}

// TestALadderOfFewWindowsBeginsWithoutADenial: a denial long before the return leaves room for a ban, and to
// refute that took one more window of a minute.
func TestALadderOfFewWindowsBeginsWithoutADenial(t *testing.T) {
	for few, want := range map[bool]int{true: 5, false: 8} {
		b := Box{Q1: 5, Q2: 5, T1: time.Minute, T2: time.Minute}
		r := &Region{Kind: Kinds()[3], Live: []Box{b}}
		m := NewModel(r, &timeline.Timeline{}, r.Kind, b)
		p := &Planner{Few: few, Models: []*Model{m}, Every: time.Second / 50, Dense: time.Second / 50,
			TimeLeft: time.Hour}
		if got := p.ladders(m, time.Second)[0].Phases[0]; got.Requests != want {
			t.Errorf("few windows %v: got %d requests for a quota of 5, want %d", few, got.Requests, want)
		}
	}
}
