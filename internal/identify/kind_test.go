package identify

import (
	"strings"
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

// TestABucketIsWrittenAsItIsConfigured: as a rate where that is round, else as its quota in the time in which
// it fills; of several round times the one amid what is left.
func TestABucketIsWrittenAsItIsConfigured(t *testing.T) {
	k := kinds()[0]
	for _, tt := range []struct {
		q        int64
		from, to time.Duration
		want     string
	}{
		{5, 312, 330, "rate=5/1.6s"}, // and not 11250/1h
		{6, 329, 335, "rate=6/2s"},
		{20, 99, 101, "rate=10/s"},
		{5, 5900, 6100, "rate=10/1m"},
		{1, 1050, 1290, "rate=50/1m"}, // 1.2s, and not 1.1s
	} {
		b := box{q1: tt.q, q2: tt.q, t1: tt.from * time.Millisecond, t2: tt.to * time.Millisecond}
		if got := k.written(k.usual(b)).String(); !strings.Contains(got, tt.want) {
			t.Errorf("%v..%v of %d: got %s, want %s", b.t1, b.t2, tt.q, got, tt.want)
		}
	}
	const unit = 260 * time.Millisecond
	if got := queueKind(k).written(box{q1: 6, q2: 6, t1: unit, t2: unit}); got.Rate.N != 5 {
		t.Errorf("a queue with five places: got %s, want 5/1.3s", got)
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
