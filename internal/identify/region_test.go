package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestARateIsKnownBeforeItsWindow: two windows have one rate, and one is ten times as long.
func TestARateIsKnownBeforeItsWindow(t *testing.T) {
	const s = time.Second
	r := &region{kind: kinds()[1], live: []box{{q1: 1, q2: 1, t1: s, t2: s},
		{q1: 10, q2: 10, t1: 10 * s, t2: 10 * s}}}
	if got := r.rate(r.hull()); got.Lo != 1 || got.Hi != 1 {
		t.Errorf("got a rate of %s, want 1", got)
	}
}

// A counter of a hundred or more denies none of six requests, however long its windows are.
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

// TestAWindowThatIsNotRoundIsNamed: this window is one that nobody would write. No time that was tried
// explained all, although an eighth of the times that were left do. So it was called unknown, and later open.
func TestAWindowThatIsNotRoundIsNamed(t *testing.T) {
	limit := parsed(t, "sliding-window-counter,rate=4/6.17611425s,align=first")
	res := Identify(t.Context(), simulate(t, limit, 36), budget(limit))
	if res.Verdict != Identified {
		t.Fatalf("got %s, want it named", res.Summary())
	}
	right(t, limit, res)
}

// TestWhatIsLeftIsDividedUntilSomeOfItExplains: a hundredth of the windows of 1 to 2 s explains the
// recording, and the roundest of it is named. Where none explains it, nothing is named.
func TestWhatIsLeftIsDividedUntilSomeOfItExplains(t *testing.T) {
	const s, us = time.Second, time.Microsecond
	r := &region{kind: kinds()[3], live: []box{{q1: 5, q2: 5, t1: s, t2: 2 * s}}}
	for _, tt := range []struct {
		from, to, want time.Duration
	}{{1_234_560 * us, 1_244_560 * us, 1_240_000 * us}, {1_600_100 * us, 1_609_100 * us, 1_601_000 * us},
		{3 * s, 4 * s, 0}} {
		explains := func(b box) bool {
			return b.q1 == 5 && b.t1 == b.t2 && b.t1 >= tt.from && b.t1 <= tt.to
		}
		got, ok := r.pinned(&timeline.Timeline{}, mostPinned, func() bool { return false }, explains)
		if got.t1 != tt.want || ok != (tt.want > 0) {
			t.Errorf("%s to %s: got %s, %v, want %s", tt.from, tt.to, got.t1, ok, tt.want)
		}
	}
}

// TestNothingIsDividedOnceTheTimeIsOver: after an interrupt the judge went on, although it could name
// nothing.
func TestNothingIsDividedOnceTheTimeIsOver(t *testing.T) {
	r := &region{kind: kinds()[3], live: []box{{q1: 5, q2: 5, t1: time.Second, t2: 2 * time.Second}}}
	asked := 0
	over := func() bool { return asked >= 6 }
	no := func(box) bool { asked++; return false }
	if _, ok := r.pinned(&timeline.Timeline{}, mostPinned, over, no); ok || asked != 6 || r.left < -6 {
		t.Errorf("got %v after %d questions, %d to the judge, want none after 6", ok, asked, -r.left)
	}
}

// TestWhatIsNotJudgedInTimeStaysAsItWas: all of it was judged, however late it was.
func TestWhatIsNotJudgedInTimeStaysAsItWas(t *testing.T) {
	tl := &timeline.Timeline{Observations: bursts(0, 1)} // this refutes whatever has a quota
	for judged, want := range []struct{ live, doubtful int }{{2, 3}, {1, 3}, {0, 3}, {0, 2}, {0, 1}, {0, 0}} {
		one, n := box{q1: 5, q2: 5, t1: time.Second, t2: time.Second}, 0
		r := &region{kind: kinds()[3], live: []box{one, one}, doubtful: []box{one, one, one}}
		r.over = func() bool { return true }
		r.late = func() bool { n++; return n > judged }
		r.narrow(tl, 100)
		if len(r.live) != want.live || len(r.doubtful) != want.doubtful {
			t.Errorf("late after %d: got %d live and %d doubtful, want %+v", judged, len(r.live),
				len(r.doubtful), want)
		}
	}
}

// known is the region of a single policy.
func known(p spec.Policy) *region {
	for _, k := range kinds() {
		if k.base.Algorithm == p.Algorithm && (!p.Windowed() || k.base.Align == p.Align) {
			b := box{q1: p.Full(), q2: p.Full(), t1: p.Rate.Per, t2: p.Rate.Per}
			if k.paced {
				b.t1 /= time.Duration(p.Rate.N)
				b.t2 = b.t1
			}
			return &region{kind: k, live: []box{b}}
		}
	}
	panic("no kind of " + p.String())
}

// TestTheJudgeIsAskedAnewAboutMore: what a recording did not refute, a longer one may.
func TestTheJudgeIsAskedAnewAboutMore(t *testing.T) {
	r := known(parsed(t, "token-bucket,rate=1/s,burst=2")[0])
	q := question{kind: r.kind, box: r.live[0], side: verdict.Exact}
	tl := &timeline.Timeline{}
	for i, want := range []bool{false, false, true} {
		at := time.Duration(i) * time.Millisecond
		longer := *tl
		longer.Observations = append(longer.Observations, timeline.Observation{Sent: at, FirstByte: at,
			Answered: true, Outcome: timeline.Allowed})
		if tl = &longer; r.asked(tl, q) != want {
			t.Errorf("%d admitted of a burst of 2: got it refuted %v, want %v", i+1, !want, want)
		}
	}
}
