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
