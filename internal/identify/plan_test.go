package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAVolleyOutlastsTheRefill: a bucket of 14 that regains a unit in 50 ms denies none of 17 requests that
// come 30 ms apart. So it looks like one that never denies.
func TestAVolleyOutlastsTheRefill(t *testing.T) {
	m := &model{kind: kinds()[0], point: box{q1: 14, q2: 14, t1: 50 * time.Millisecond,
		t2: 50 * time.Millisecond}}
	p := &planner{models: []*model{m}}
	if got := p.volley("", 0, 30*time.Millisecond); got.Requests < 35 {
		t.Errorf("got %d requests, want the 35 of which one is denied", got.Requests)
	}
	m.kind = kinds()[1]
	if got := p.volley("", 0, 30*time.Millisecond); got.Requests != 17 {
		t.Errorf("a window: got %d requests, want its quota and 3", got.Requests)
	}
}

// TestALadderAsksNoFurtherThanTheReturnMayBe: with the shortest steps it went on for 20 denials, far beyond
// the last time at which a unit could come back.
func TestALadderAsksNoFurtherThanTheReturnMayBe(t *testing.T) {
	for open, want := range map[time.Duration]int{0: 4, 100 * ms: 13, 8 * time.Second: 20} {
		window := box{q1: 5, q2: 5, t1: time.Minute, t2: time.Minute + open}
		r := &region{kind: kinds()[3], live: []box{window}}
		window.t2 = window.t1
		m := newModel(r, &timeline.Timeline{}, r.kind, window)
		p := &planner{models: []*model{m}, trip: ms, every: 20 * ms, dense: 20 * ms, left: time.Hour}
		if got := p.ladders(m, time.Minute)[0].phases[1].Requests; got != want {
			t.Errorf("%s are open: got %d requests, want %d", open, got, want)
		}
	}
}

// TestWhereNothingIsLikelyNothingIsPlanned: far away this was a panic, when the judge had left no policy that
// surely explains all.
func TestWhereNothingIsLikelyNothingIsPlanned(t *testing.T) {
	p := &planner{far: true, trip: 100 * time.Millisecond, every: 125 * time.Millisecond,
		dense: 60 * time.Millisecond, requests: 100, left: time.Minute}
	if e, ok := p.best(); ok {
		t.Errorf("got %+v, want none", e)
	}
}

// TestAWaitIsCountedFromTheLastDenial: where denied requests count, it was counted from now on, as if a
// request were denied now. So no experiment told windows of 531 and 560 ms apart (seed 222). A window that
// ended a moment before a denial is supposed to be started anew by it.
func TestAWaitIsCountedFromTheLastDenial(t *testing.T) {
	const ms = time.Millisecond
	b := box{q1: 2, q2: 2, t1: 500 * ms, t2: 500 * ms}
	for _, k := range kinds() {
		last := map[string]time.Duration{"a fixed window that every request starts anew": 910 * ms,
			"a sliding window log that counts denied requests too": 480 * ms}[k.text]
		if last == 0 {
			continue
		}
		m := newModel(&region{kind: k, live: []box{b}}, &timeline.Timeline{}, k, b)
		for i, at := range []time.Duration{0, 10 * ms, 20 * ms, 400 * ms, last} {
			m.follow(at, 0, []timeline.Outcome{timeline.Allowed, timeline.Denied}[min(i/2, 1)])
		}
		want := 400*ms + 500*ms - last - 20*ms // when the last request but one leaves the log
		if k.base.Refresh != "" {
			want = 900*ms + 500*ms - last - 20*ms
		}
		if w := m.wait(last+20*ms, 1); w < want-ms || w > want+ms {
			t.Errorf("%s: got %s to wait, 20 ms after a denial, want %s", k.text, w, want)
		}
	}
}

// TestWindowsByTheFirstRequestAreSearchedExactlyLate: the bounds left 29 in 2.155 s beside the log of 29 in 2
// s, and nothing told them apart (seed 96).
func TestWindowsByTheFirstRequestAreSearchedExactlyLate(t *testing.T) {
	for _, far := range []bool{false, true} {
		x := &search{o: usualBudget(), far: far, tl: &timeline.Timeline{}}
		x.regions = []*region{known(parsed(t, "fixed-window,rate=5/2s,align=first")[0])}
		if x.deepen(); x.regions[0].kind.searched {
			t.Errorf("far %v: it is searched at once", far)
		}
		x.tl.Observations = make([]timeline.Observation, x.o.MaxRequests)
		if x.deepen(); x.regions[0].kind.searched == far {
			t.Errorf("far %v: searched late is %v", far, !far)
		}
	}
}

// TestAnEdgeTellsAWindowByTheClock: windows of 50 a minute that the first request opened were left beside one
// of 60.2 s by the clock, as each burst had come when the one before was over.
func TestAnEdgeTellsAWindowByTheClock(t *testing.T) {
	p := &planner{trip: ms, every: 20 * ms, dense: 20 * ms, left: time.Hour, requests: 400}
	at := box{q1: 5, q2: 5, t1: time.Minute, t2: time.Minute}
	tl := &timeline.Timeline{}
	for range 3 { // bursts a little more than a minute apart
		for _, o := range bursts(5, 1) {
			at := time.Duration(len(tl.Observations)/6) * 60200 * ms
			o.Sent, o.FirstByte, o.Done = o.Sent+at, o.FirstByte+at, o.Done+at
			tl.Observations = append(tl.Observations, o)
		}
	}
	for i, window := range []time.Duration{60200 * ms, time.Minute} {
		b := at
		b.t1, b.t2 = window, window
		r := &region{kind: kinds()[1+i], live: []box{b}}
		p.models = append(p.models, newModel(r, tl, r.kind, b))
		p.models[i].weight = 0.5
	}
	p.now = tl.End()
	told := 0
	for _, e := range p.edges(p.models[0].kind, p.waits(1)[len(p.waits(1))-1]) {
		if bits, _ := p.worth(e); bits > 1 {
			told++
		}
	}
	if told == 0 {
		t.Error("got no experiment that parts both")
	}
	if all := p.edges(p.models[1].kind, time.Minute); len(all) > 0 {
		t.Errorf("windows by the first request: got %v", all)
	}
}

// TestWhatTellsNothingIsNotAskedForEver: a minute's counter was asked a hundred times at once for what it
// denied, as models that were a little off promised an admission.
func TestWhatTellsNothingIsNotAskedForEver(t *testing.T) {
	p := &planner{trip: ms, every: 20 * ms, dense: 20 * ms, left: time.Hour, requests: 400,
		made: map[string]int{}}
	for i, quota := range []int64{5, 6} {
		b := box{q1: quota, q2: quota, t1: time.Minute, t2: time.Minute}
		r := &region{kind: kinds()[2+i], live: []box{b}}
		p.models = append(p.models, newModel(r, &timeline.Timeline{}, r.kind, b))
		p.models[i].weight = 0.5
	}
	for range 300 {
		e, ok := p.best()
		if !ok {
			break
		}
		p.made[e.phases[0].Name]++
	}
	for name, n := range p.made {
		if n > mostAlike {
			t.Errorf("got %s %d times", name, n)
		}
	}
	if len(p.made) == 0 {
		t.Error("got no experiment")
	}
}

// TestAnExperimentThatIsCutShortIsNotMade: of half a quota and two volleys a minute's length, planned until a
// second before the end, the last volley had two requests, and told nothing.
func TestAnExperimentThatIsCutShortIsNotMade(t *testing.T) {
	b := box{q1: 50, q2: 50, t1: time.Minute, t2: time.Minute}
	r := &region{kind: kinds()[2], live: []box{b}}
	p := &planner{trip: ms, every: 20 * ms, dense: 20 * ms, requests: 400,
		models: []*model{newModel(r, &timeline.Timeline{}, r.kind, b)}}
	e := experiment{[]Phase{p.volley("", time.Minute, p.every)}}
	for left, want := range map[time.Duration]bool{60500 * ms: false, 62 * time.Second: true} {
		p.left = left
		if _, cost := p.worth(e); (cost != 1) != want { // 1 is what no budget has
			t.Errorf("with %s left: got cost %v", left, cost)
		}
	}
}
