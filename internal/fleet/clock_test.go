package fleet

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// crystal is a clock that is fast by ppm millionths. It showed base at start.
type crystal struct {
	start time.Time
	base  time.Duration
	ppm   int64
}

func (c crystal) at(t time.Time) time.Duration {
	d := t.Sub(c.start)
	return c.base + d + d*time.Duration(c.ppm)/1_000_000
}

func (c crystal) now() time.Duration { return c.at(time.Now()) }

// TestTheOffsetIsInItsInterval: the true offset lies in the interval at every instant of the recording. That
// holds however long the ways there and back take, and however the clocks differ and drift. The error of one
// measurement is at most half of the shortest exchange plus the tick.
func TestTheOffsetIsInItsInterval(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			s := newServer()
			s.skew = time.Duration(rng.Int64N(int64(10*time.Second))) - 5*time.Second
			w := s.to(0)
			shortest := time.Duration(1 << 62)
			var there time.Duration
			w.there = func() time.Duration {
				there = 20*us + time.Duration(rng.ExpFloat64()*float64(100*us))
				return there
			}
			w.back = func() time.Duration {
				back := 20*us + time.Duration(rng.ExpFloat64()*float64(100*us))
				shortest = min(shortest, there+back)
				return back
			}
			own := crystal{time.Now(), time.Duration(rng.Int64N(int64(time.Hour))), rng.Int64N(200) - 100}
			c := Clock{now: own.now}
			truth := func() time.Duration { return time.Duration(time.Now().UnixNano()) + s.skew - own.now() }
			var err error
			if c.before, err = c.measure(t.Context(), w, "r", probesFor); err != nil {
				t.Fatal(err)
			}
			if got, most := c.before.Error(), shortest/2+tick; got > most {
				t.Errorf("seed %d: the error is %v, half of the shortest way is %v", seed, got, shortest/2)
			}
			var truths []time.Duration
			for range 50 {
				time.Sleep(200 * ms)
				truths = append(truths, truth())
			}
			if c.after, err = c.measure(t.Context(), w, "r", probesFor); err != nil {
				t.Fatal(err)
			}
			o := c.Offset()
			for i, x := range truths {
				if x < o.Lo || x > o.Hi {
					t.Fatalf("seed %d: look %d: the offset is %v, not in %v..%v", seed, i, x, o.Lo, o.Hi)
				}
			}
			if d := c.Drift() + float64(own.ppm); d > 30 || d < -30 { // 100 us in 10 s are 10 ppm
				t.Errorf("seed %d: the drift is %.1f ppm, want %d", seed, c.Drift(), -own.ppm)
			}
		})
	}
}

// TestAClockThatWasSetIsSeen: a clock jumps away and back between two measurements that agree. The interval
// widens so that it holds both offsets.
func TestAClockThatWasSetIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := newServer(), time.Now()
		w := s.to(50 * us)
		c := Clock{now: func() time.Duration { return time.Since(start) }}
		look := func() probe {
			p, err := c.measure(t.Context(), w, "r", 0)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		c.before = look()
		s.set(func(s *server) { s.skew += 30 * ms })
		c.looks = append(c.looks, look())
		s.set(func(s *server) { s.skew -= 30 * ms })
		c.looks = append(c.looks, look())
		c.after = look()
		o := c.Offset()
		if got := o.Hi - o.Lo; got < 30*ms || got > 31*ms {
			t.Errorf("the interval is %v wide, want what the clock was set by", got)
		}
	})
}
