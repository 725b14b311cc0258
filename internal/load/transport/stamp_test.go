package transport

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestNoStampIsTurnedTooEarly: whatever step the wall clock takes and however long samples take, the time
// that is used is not before the arrival. Only two steps that cancel out between two samples stay unseen.
// Where nothing disturbs, it is less than 2 us after the arrival.
func TestNoStampIsTurnedTooEarly(t *testing.T) {
	const us = time.Microsecond
	r := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }
	used := 0
	for range 3000 {
		var s stamps
		calm := r.IntN(3) == 0
		now, ahead := upTo(time.Hour), time.Duration(1.8e18)
		samples, stepped := 0, 0
		pass := func(most time.Duration) {
			if now += upTo(most); calm || samples < stepped+3 || r.IntN(8) > 0 {
				return
			}
			stepped = samples
			step := upTo([]time.Duration{100, 300, us, 3 * us, time.Second}[r.IntN(5)])
			if r.IntN(2) == 0 {
				step = -step
			}
			ahead += step
		}
		sample := func() time.Duration {
			took := []time.Duration{60, 60, 60, 400, us, 20 * us}[r.IntN(6)]
			if calm {
				took = 60
			}
			before := now
			pass(took)
			wall := now + ahead
			pass(took)
			s.sample(before, int64(wall), now)
			samples++
			return now
		}
		last := sample()
		for range 200 {
			pass(50 * us)
			came, stamp := now, int64(now+ahead)
			pass(50 * us)
			read := sample()
			got := s.arrival(stamp, read)
			if got < came || got > read || calm && got > came+2*us && came > last+us {
				t.Fatalf("calm %v: came at %v, read at %v, got %v", calm, came, read, got)
			}
			if got < read {
				used++
			}
			last = read
		}
	}
	if used < 200_000 {
		t.Errorf("%d of 600000 stamps were used", used)
	}
}

func TestWhatCameBeforeTheFirstSampleHasNoStamp(t *testing.T) {
	const us = time.Microsecond
	var s stamps
	s.sample(100*us, int64(time.Hour+100*us), 100*us)
	for stamp, want := range map[int64]time.Duration{
		int64(time.Hour + 99*us):  300 * us,
		int64(time.Hour + 200*us): 201 * us,
		int64(time.Hour + 400*us): 300 * us, // none is later than its read
		0:                         300 * us,
	} {
		s.sample(300*us, int64(time.Hour+300*us), 300*us)
		if got := s.arrival(stamp, 300*us); got != want {
			t.Errorf("stamp %v: got %v, want %v", time.Duration(stamp), got, want)
		}
	}
}
