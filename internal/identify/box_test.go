package identify

import (
	"strings"
	"testing"
	"time"
)

// TestTimesAreNamedAsPeopleWriteThem: nobody has 4/504ms, and a target of 4/500ms would fail it.
func TestTimesAreNamedAsPeopleWriteThem(t *testing.T) {
	for _, tt := range []struct{ from, to, want time.Duration }{
		{496, 514, 500}, // far rounder, though more than 2 % from one end
		{494, 509, 500}, // within 2 % of both ends
		{506, 523, 510}, // 510 is rounder
		{990, 1025, 1000},
		{2011, 2039, 2020},
	} {
		b := Box{Q1: 4, Q2: 4, T1: tt.from * time.Millisecond, T2: tt.to * time.Millisecond}
		if got, want := b.Conventional().T1, tt.want*time.Millisecond; got != want {
			t.Errorf("%v..%v: got %v, want %v", b.T1, b.T2, got, want)
		}
	}
}

// TestABucketIsWrittenAsItIsConfigured: as a rate where that is round, else as its quota in the time in which
// it fills. Of several round times it is the one nearest to the middle.
func TestABucketIsWrittenAsItIsConfigured(t *testing.T) {
	k := Kinds()[0]
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
		b := Box{Q1: tt.q, Q2: tt.q, T1: tt.from * time.Millisecond, T2: tt.to * time.Millisecond}
		if got := k.Written(k.Conventional(b)).String(); !strings.Contains(got, tt.want) {
			t.Errorf("%v..%v of %d: got %s, want %s", b.T1, b.T2, tt.q, got, tt.want)
		}
	}
}

// TestWhatIsNamedIsNearBothEnds: a far rounder time is named only once both ends are near it. 37/1.85s was
// named 37/1.8s.
func TestWhatIsNamedIsNearBothEnds(t *testing.T) {
	for _, tt := range []struct {
		from, to time.Duration
		want     bool
	}{{1790, 1860, false}, {1796, 1830, true}, {496, 514, false}, {497, 509, true}} {
		b := Box{Q1: 37, Q2: 37, T1: tt.from * time.Millisecond, T2: tt.to * time.Millisecond}
		if got := b.Single(0, 0); got != tt.want {
			t.Errorf("%v..%v: got known %v, want %v", b.T1, b.T2, got, tt.want)
		}
	}
}
