package identify

import (
	"testing"
	"time"
)

// TestAVolleyOutlastsTheRefill: a bucket of 14 that gains one unit each 50 ms denies none of 17 requests that
// come 30 ms apart, and so it looks like one that never denies.
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

// TestWhereNothingIsLikelyNothingIsPlanned: from far away it was a panic, where the judge had left no policy
// that surely explains all.
func TestWhereNothingIsLikelyNothingIsPlanned(t *testing.T) {
	p := &planner{far: true, trip: 100 * time.Millisecond, every: 125 * time.Millisecond,
		dense: 60 * time.Millisecond, requests: 100, left: time.Minute}
	if e, ok := p.best(); ok {
		t.Errorf("got %+v, want none", e)
	}
}
