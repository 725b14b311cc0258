package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAWindowThatIsNotRoundIsNamed: this window is one that nobody would write. No time that was tried
// explained all, although an eighth of the times that were left do. So it was called unknown, and later open.
func TestAWindowThatIsNotRoundIsNamed(t *testing.T) {
	limit := parsed(t, "sliding-window-counter,rate=4/6.17611425s,align=first")
	res := Identify(t.Context(), simulate(t, limit, 36), budget(limit))
	if res.Verdict != identity.Identified {
		t.Fatalf("got %s, want it named", res.Summary())
	}
	right(t, limit, res)
}

// TestWhatIsNotJudgedInTimeStaysAsItWas: all of it was judged, however late it was.
func TestWhatIsNotJudgedInTimeStaysAsItWas(t *testing.T) {
	tl := &timeline.Timeline{Observations: bursts(0, 1)} // this refutes whatever has a quota
	for judged, want := range []struct{ live, doubtful int }{{2, 3}, {1, 3}, {0, 3}, {0, 2}, {0, 1}, {0, 0}} {
		one, n := space.Box{Q1: 5, Q2: 5, T1: time.Second, T2: time.Second}, 0
		r := &space.Region{Kind: space.Kinds()[3], Live: []space.Box{one, one},
			Doubtful: []space.Box{one, one, one}}
		r.Over = func() bool { return true }
		r.Late = func() bool { n++; return n > judged }
		r.Narrow(tl, 100)
		if len(r.Live) != want.live || len(r.Doubtful) != want.doubtful {
			t.Errorf("late after %d: got %d live and %d doubtful, want %+v", judged, len(r.Live),
				len(r.Doubtful), want)
		}
	}
}

// TestABucketIsDividedAsFinelyAsItIsTold: the bucket of 23 in 19 s was never full for 75 s, so no other unit
// explained all. What was left of it had no point, and pairs of limits took its place (seed 139).
func TestABucketIsDividedAsFinelyAsItIsTold(t *testing.T) {
	x := volleys(t, "token-bucket,rate=23/19s,burst=23", 1, 26, 0)
	for back := range time.Duration(90) { // once before and once after each unit comes back
		for _, at := range []time.Duration{-4 * ms, 6 * ms} {
			at += (back + 1) * 19 * time.Second / 23
			x.send(t.Context(), plan.Phase{Rest: at - x.s.Now(), Requests: 1})
		}
	}
	r := known(parsed(t, "token-bucket,rate=23/19s,burst=23")[0])
	r.Live = []space.Box{{Q1: 23, Q2: 23, T1: 825_905 * time.Microsecond, T2: 826_530 * time.Microsecond}}
	r.Over = never
	if r.Narrow(x.shown(), space.FewAsked); len(r.Live) == 0 {
		t.Errorf("got %d doubtful boxes, want one with a unit that explains all", len(r.Doubtful))
	}
}

// TestARoundPolicyIsGuessed: each policy of 25 to 122 requests that was tried was refuted. So a clock of
// whole seconds was looked for, although 40 in 2 s explained all answers (seed 244). Nothing is guessed late.
func TestARoundPolicyIsGuessed(t *testing.T) {
	for _, tt := range []struct {
		text string
		late bool
		want int
	}{{"fixed-window,rate=40/2s", false, 1}, {"fixed-window,rate=40/2s", true, 0},
		{"token-bucket,rate=20/s,burst=40", false, 0}} {
		x := volleys(t, tt.text, 1, 43, 0, 6*ms, 220*ms, 2*time.Second, time.Second)
		left := &space.Region{Kind: space.Kinds()[1],
			Doubtful: []space.Box{{Q1: 25, Q2: 122, T1: 740 * ms, T2: 162 * time.Second}}}
		x.regions, x.late = []*space.Region{left}, nil
		x.clock = func() time.Duration { return map[bool]time.Duration{true: time.Hour}[tt.late] }
		x.o.Think = time.Minute
		if x.guess(); len(x.likely()) != tt.want {
			t.Errorf("%s, late %v: got %v live, want %d", tt.text, tt.late, left.Live, tt.want)
		}
		if want := (space.Box{Q1: 40, Q2: 40, T1: 2 * time.Second, T2: 2 * time.Second}); tt.want > 0 &&
			(len(left.Live) == 0 || left.Live[0] != want) {
			t.Errorf("%s: got %v, want %v", tt.text, left.Live, want)
		}
	}
}

// known is the region of a single policy.
func known(p spec.Policy) *space.Region {
	for _, k := range space.Kinds() {
		if k.Base.Algorithm == p.Algorithm && (!p.Windowed() || k.Base.Align == p.Align) {
			b := space.Box{Q1: p.Full(), Q2: p.Full(), T1: p.Rate.Per, T2: p.Rate.Per}
			if k.Paced {
				b.T1 /= time.Duration(p.Rate.N)
				b.T2 = b.T1
			}
			return &space.Region{Kind: k, Live: []space.Box{b}}
		}
	}
	panic("no kind of " + p.String())
}
