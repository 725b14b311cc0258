package identify

import (
	"math"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAVolleyOutlastsTheRefill: a bucket of 14 that regains a unit in 50 ms denies none of 17 requests that
// come 30 ms apart. So it looks like one that never denies.
func TestAVolleyOutlastsTheRefill(t *testing.T) {
	m := &Model{kind: Kinds()[0], point: Box{Q1: 14, Q2: 14, T1: 50 * time.Millisecond,
		T2: 50 * time.Millisecond}}
	p := &Planner{Models: []*Model{m}}
	if got := p.volley("", 0, 30*time.Millisecond); got.Requests < 35 {
		t.Errorf("got %d requests, want the 35 of which one is denied", got.Requests)
	}
	m.kind = Kinds()[1]
	if got := p.volley("", 0, 30*time.Millisecond); got.Requests != 17 {
		t.Errorf("a window: got %d requests, want its quota and 3", got.Requests)
	}
}

// TestALadderAsksNoFurtherThanTheReturnMayBe: with the shortest steps it went on for 20 denials, far beyond
// the last time at which a unit could come back.
func TestALadderAsksNoFurtherThanTheReturnMayBe(t *testing.T) {
	const ms = time.Millisecond
	for open, want := range map[time.Duration]int{0: 4, 100 * ms: 13, 8 * time.Second: 20} {
		window := Box{Q1: 5, Q2: 5, T1: time.Minute, T2: time.Minute + open}
		r := &Region{Kind: Kinds()[3], Live: []Box{window}}
		window.T2 = window.T1
		m := NewModel(r, &timeline.Timeline{}, r.Kind, window)
		p := &Planner{Models: []*Model{m}, Trip: ms, Every: 20 * ms, Dense: 20 * ms, TimeLeft: time.Hour}
		if got := p.ladders(m, time.Minute)[0].Phases[1].Requests; got != want {
			t.Errorf("%s are open: got %d requests, want %d", open, got, want)
		}
	}
}

// TestWhereNothingIsLikelyNothingIsPlanned: far away this was a panic, when the judge had left no policy that
// surely explains all.
func TestWhereNothingIsLikelyNothingIsPlanned(t *testing.T) {
	p := &Planner{Far: true, Trip: 100 * time.Millisecond, Every: 125 * time.Millisecond,
		Dense: 60 * time.Millisecond, Requests: 100, TimeLeft: time.Minute}
	if e, ok := p.Best(); ok {
		t.Errorf("got %+v, want none", e)
	}
}

// TestAWaitIsCountedFromTheLastDenial: where denied requests count, it was counted from now on, as if a
// request were denied now. So no experiment told windows of 531 and 560 ms apart (seed 222). A window that
// ended a moment before a denial is supposed to be started anew by it.
func TestAWaitIsCountedFromTheLastDenial(t *testing.T) {
	const ms = time.Millisecond
	b := Box{Q1: 2, Q2: 2, T1: 500 * ms, T2: 500 * ms}
	for _, k := range Kinds() {
		last := map[string]time.Duration{"a fixed window that every request starts anew": 910 * ms,
			"a sliding window log that counts denied requests too": 480 * ms}[k.Text]
		if last == 0 {
			continue
		}
		m := NewModel(&Region{Kind: k, Live: []Box{b}}, &timeline.Timeline{}, k, b)
		for i, at := range []time.Duration{0, 10 * ms, 20 * ms, 400 * ms, last} {
			m.follow(at, 0, []timeline.Outcome{timeline.Allowed, timeline.Denied}[min(i/2, 1)])
		}
		want := 400*ms + 500*ms - last - 20*ms // when the last request but one leaves the log
		if k.Base.Refresh != "" {
			want = 900*ms + 500*ms - last - 20*ms
		}
		if w := m.Wait(last+20*ms, 1); w < want-ms || w > want+ms {
			t.Errorf("%s: got %s to wait, 20 ms after a denial, want %s", k.Text, w, want)
		}
	}
}

// TestWhatTellsNothingIsNotAskedForEver: a minute's counter was asked a hundred times at once for what it
// denied, as models that were a little off promised an admission.
func TestWhatTellsNothingIsNotAskedForEver(t *testing.T) {
	const ms = time.Millisecond
	p := &Planner{Trip: ms, Every: 20 * ms, Dense: 20 * ms, TimeLeft: time.Hour, Requests: 400,
		Made: map[string]int{}}
	for i, quota := range []int64{5, 6} {
		b := Box{Q1: quota, Q2: quota, T1: time.Minute, T2: time.Minute}
		r := &Region{Kind: Kinds()[2+i], Live: []Box{b}}
		p.Models = append(p.Models, NewModel(r, &timeline.Timeline{}, r.Kind, b))
		p.Models[i].Weight = 0.5
	}
	for range 300 {
		e, ok := p.Best()
		if !ok {
			break
		}
		p.Made[e.Phases[0].Name]++
	}
	for name, n := range p.Made {
		if n > mostAlike {
			t.Errorf("got %s %d times", name, n)
		}
	}
	if len(p.Made) == 0 {
		t.Error("got no experiment")
	}
}

// TestAnExperimentThatIsCutShortIsNotMade: of half a quota and two volleys a minute's length, planned until a
// second before the end, the last volley had two requests, and told nothing.
func TestAnExperimentThatIsCutShortIsNotMade(t *testing.T) {
	const ms = time.Millisecond
	b := Box{Q1: 50, Q2: 50, T1: time.Minute, T2: time.Minute}
	r := &Region{Kind: Kinds()[2], Live: []Box{b}}
	p := &Planner{Trip: ms, Every: 20 * ms, Dense: 20 * ms, Requests: 400,
		Models: []*Model{NewModel(r, &timeline.Timeline{}, r.Kind, b)}}
	e := Experiment{[]Phase{p.volley("", time.Minute, p.Every)}}
	for left, want := range map[time.Duration]bool{60500 * ms: false, 62 * time.Second: true} {
		p.TimeLeft = left
		if cost := p.cost(e, 50); math.IsInf(cost, 1) == want {
			t.Errorf("with %s left: got cost %v", left, cost)
		}
	}
}
