package identify

import (
	"testing"
	"time"
)

// TestTimesAreNamedAsPeopleWriteThem: a limit of 4/504ms is nobody's, and a target of 4/500ms would fail it.
func TestTimesAreNamedAsPeopleWriteThem(t *testing.T) {
	for _, tt := range []struct{ from, to, want time.Duration }{
		{496, 514, 500}, // the far rounder time, though further than 2 % from one end
		{494, 509, 500}, // within 2 % of both ends
		{506, 523, 513}, // 510 is not much rounder
		{990, 1025, 1000},
		{2011, 2039, 2020},
	} {
		b := box{q1: 4, q2: 4, t1: tt.from * time.Millisecond, t2: tt.to * time.Millisecond}
		if got, want := b.usual().t1, tt.want*time.Millisecond; got != want {
			t.Errorf("%v..%v: got %v, want %v", b.t1, b.t2, got, want)
		}
	}
}

// TestWhatIsNamedIsNearBothEnds: a far rounder time is named only once both ends are near it. 37/1.8s was, of
// 37/1.85s.
func TestWhatIsNamedIsNearBothEnds(t *testing.T) {
	for _, tt := range []struct {
		from, to time.Duration
		want     bool
	}{{1790, 1860, false}, {1796, 1830, true}, {496, 514, false}, {497, 509, true}} {
		b := box{q1: 37, q2: 37, t1: tt.from * time.Millisecond, t2: tt.to * time.Millisecond}
		if got := b.single(0); got != tt.want {
			t.Errorf("%v..%v: got known %v, want %v", b.t1, b.t2, got, tt.want)
		}
	}
}
