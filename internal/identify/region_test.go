package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestARateIsKnownBeforeItsWindow: of two windows of one rate, one may be ten times as long.
func TestARateIsKnownBeforeItsWindow(t *testing.T) {
	const s = time.Second
	r := &region{kind: kinds()[1], live: []box{{q1: 1, q2: 1, t1: s, t2: s},
		{q1: 10, q2: 10, t1: 10 * s, t2: 10 * s}}}
	if got := r.rate(r.hull()); got.Lo != 1 || got.Hi != 1 {
		t.Errorf("got a rate of %s, want 1", got)
	}
}

// A counter of a hundred and more denies none of six requests, however long its windows last.
func TestCountersAreRefutedAllAtOnce(t *testing.T) {
	tl := &timeline.Timeline{}
	for i := range 6 {
		at := time.Duration(i) * 20 * time.Millisecond
		o := timeline.Observation{Sent: at, FirstByte: at + time.Millisecond, Answered: true,
			Outcome: timeline.Allowed}
		if o.Seq, o.At, o.Cost = i, at, 1; i == 5 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	for _, k := range kinds() {
		if !k.base.Weighs() {
			continue
		}
		all := box{q1: 1, q2: 250, t1: 50 * time.Millisecond, t2: time.Hour}
		r, large := &region{kind: k}, all
		large.q1 = 100
		if !r.everywhere(tl, k.policy(large), verdict.LowerBound) {
			t.Errorf("%s of 100 to 250 a window: got nothing against it, want its denial", k.text)
		}
		if r.everywhere(tl, k.policy(all), verdict.LowerBound) {
			t.Errorf("%s of 1 to 250 a window: got it refuted, and some explain it", k.text)
		}
	}
}

// TestAWindowThatIsNotRoundIsNoStranger: of a counter whose window nobody would write, no time that was tried
// explained all, and the answer was that no limit does.
func TestAWindowThatIsNotRoundIsNoStranger(t *testing.T) {
	limit := parsed(t, "sliding-window-counter,rate=4/6.17611425s,align=first")
	res := Identify(t.Context(), simulate(t, limit, 36), budget(limit))
	if res.Verdict == None || len(res.Found) == 0 {
		t.Fatalf("got %s, want it open or named", res.Summary())
	}
	least, most := limit[0].Rate.PerSecond()*0.99, limit[0].Rate.PerSecond()*1.01
	if m := res.Found[0].Measured.Rate; m.Lo < least || m.Hi > most || m.Lo > m.Hi {
		t.Errorf("got a rate of %v, want it about the true one", m)
	}
}
