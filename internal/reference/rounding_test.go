package reference

import (
	"testing"
	"time"
)

// TestUnroundedCounters: a limiter that does not round is declared as none if it admits while weighted +
// count < quota. It is declared as up if it admits while weighted + count + cost <= quota. After 5 of 10
// units, 2.5 of them weigh half-way through the next window.
func TestUnroundedCounters(t *testing.T) {
	const weighted, quota = 2.5, 10
	below, within := 0, 0
	for weighted+float64(below) < quota {
		below++
	}
	for weighted+float64(within)+1 <= quota {
		within++
	}
	for rounding, want := range map[string]int{"none": below, "down": below, "up": within} {
		s := newSubject(t, "sliding-window-counter,rate=10/1s,rounding="+rounding)
		state, at := s.limiter.Init(), 1_800_000_000*time.Second
		for range 5 {
			state, _ = s.limiter.Step(state, at, 1)
		}
		at += 1500 * time.Millisecond
		got := 0
		for range 2 * quota {
			next, d := s.limiter.Step(state, at, 1)
			state = next
			if d.Allow {
				got++
			}
		}
		if got != want {
			t.Errorf("rounding=%s admits %d, want %d", rounding, got, want)
		}
	}
}
