package limiter

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestWhatAdmissionsLeaveOfABucket: the least burst and the longest period equal those found by trying one
// value after the other.
func TestWhatAdmissionsLeaveOfABucket(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const longest = 60
	for i := range 3000 {
		var events []history.Event
		for at := int64(0); len(events) < 1+i%8; at += r.Int64N(20) {
			events = append(events, history.Event{Seq: len(events), Start: at, End: at + r.Int64N(40),
				Cost: 1 + r.Int64N(2), Outcome: timeline.Allowed})
		}
		h := history.Of(events)
		p := spec.Policy{Algorithm: spec.TokenBucket, Burst: 1 + r.Int64N(6),
			Rate: spec.Rate{N: 1 + r.Int64N(3), Per: time.Duration(1 + r.Int64N(longest))}}
		b, ok := AdmittedOnly(p)
		if !ok {
			t.Fatalf("%s: no bucket", p)
		}
		least := int64(1)
		for NewBound(p.WithFull(least), 0, 0).Over(h) != nil {
			least++
		}
		if got := b.LeastBurst(h); got != least {
			t.Fatalf("%s, %+v: got the least burst %d, want %d", p, events, got, least)
		}
		from := 1 + r.Int64N(4)
		period := int64(longest)
		for ; period >= from; period-- {
			if p.Rate.Per = time.Duration(period); NewBound(p, 0, 0).Over(h) == nil {
				break
			}
		}
		if got := b.LongestPeriod(h, from, longest); got != period && (got >= from || period >= from) {
			t.Fatalf("%s, %+v: got the period %d from %d on, want %d", p, events, got, from, period)
		}
	}
}
