package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

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
