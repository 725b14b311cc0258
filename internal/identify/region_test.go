package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestARateIsKnownBeforeItsWindow: two windows have one rate, and one is ten times as long.
func TestARateIsKnownBeforeItsWindow(t *testing.T) {
	const s = time.Second
	r := &Region{Kind: Kinds()[1], Live: []Box{{Q1: 1, Q2: 1, T1: s, T2: s},
		{Q1: 10, Q2: 10, T1: 10 * s, T2: 10 * s}}}
	if got := r.Rate(r.Hull()); got.Lo != 1 || got.Hi != 1 {
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
	for _, k := range Kinds() {
		if !k.Base.Weighs() {
			continue
		}
		all := Box{Q1: 1, Q2: 250, T1: 50 * time.Millisecond, T2: time.Hour}
		r, large := &Region{Kind: k}, all
		large.Q1 = 100
		if !r.everywhere(tl, k.Policy(large), result.LowerBound) {
			t.Errorf("%s of 100 to 250 a window: got nothing against it, want its denial", k.Text)
		}
		if r.everywhere(tl, k.Policy(all), result.LowerBound) {
			t.Errorf("%s of 1 to 250 a window: got it refuted, and some explain it", k.Text)
		}
	}
}

// TestWhatIsLeftIsDividedUntilSomeOfItExplains: a hundredth of the windows of 1 to 2 s explains the
// recording, and the roundest of it is named. Where none explains it, nothing is named.
func TestWhatIsLeftIsDividedUntilSomeOfItExplains(t *testing.T) {
	const s, us = time.Second, time.Microsecond
	r := &Region{Kind: Kinds()[3], Live: []Box{{Q1: 5, Q2: 5, T1: s, T2: 2 * s}}}
	for _, tt := range []struct {
		from, to, want time.Duration
	}{{1_234_560 * us, 1_244_560 * us, 1_240_000 * us}, {1_600_100 * us, 1_609_100 * us, 1_601_000 * us},
		{3 * s, 4 * s, 0}} {
		explains := func(b Box) bool {
			return b.Q1 == 5 && b.T1 == b.T2 && b.T1 >= tt.from && b.T1 <= tt.to
		}
		got, ok := r.Pinned(&timeline.Timeline{}, MostPinned, func() bool { return false }, explains)
		if got.T1 != tt.want || ok != (tt.want > 0) {
			t.Errorf("%s to %s: got %s, %v, want %s", tt.from, tt.to, got.T1, ok, tt.want)
		}
	}
}

// TestNothingIsDividedOnceTheTimeIsOver: after an interrupt the judge went on, although it could name
// nothing.
func TestNothingIsDividedOnceTheTimeIsOver(t *testing.T) {
	r := &Region{Kind: Kinds()[3], Live: []Box{{Q1: 5, Q2: 5, T1: time.Second, T2: 2 * time.Second}}}
	asked := 0
	over := func() bool { return asked >= 6 }
	no := func(Box) bool { asked++; return false }
	if _, ok := r.Pinned(&timeline.Timeline{}, MostPinned, over, no); ok || asked != 6 || r.Judgements < -6 {
		t.Errorf("got %v after %d questions, %d to the judge, want none after 6", ok, asked, -r.Judgements)
	}
}

// TestCountersArePartedWhereMoreIsNotLearnt: once the time is open by at most two slow answers, and at most
// two quotas are left. A counter of 19 units that rounds up admits, except from rest, as one of 18 that does
// not (seed 131).
func TestCountersArePartedWhereMoreIsNotLearnt(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		slow  time.Duration
		most  int64
		parts int
	}{{6 * ms, 18, 1}, {7 * ms, 18, 3}, {7 * ms, 19, 3}, {7 * ms, 20, 1}} {
		r := &Region{Kind: Kinds()[5],
			Live: []Box{{Q1: 18, Q2: tt.most, T1: 91 * ms, T2: 105 * ms}}}
		if got := len(r.split(tt.slow)); got != tt.parts {
			t.Errorf("%+v: got %d parts", tt, got)
		}
	}
}

// TestTheJudgeIsAskedAnewAboutMore: what a recording did not refute, a longer one may.
func TestTheJudgeIsAskedAnewAboutMore(t *testing.T) {
	b := Box{Q1: 2, Q2: 2, T1: time.Second, T2: time.Second}
	r := &Region{Kind: Kinds()[0], Live: []Box{b}}
	q := question{kind: r.Kind, box: r.Live[0], side: result.Exact}
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
