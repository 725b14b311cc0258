package transport

import (
	"testing"
	"time"
)

// A pacer on few processors spins for little longer than its sleeps are late, and at most half of the time.
// On many processors it may take one of them. On a single one it never spins.
func TestASparingPacerLeavesRoomForTheTarget(t *testing.T) {
	const us = time.Microsecond
	few, many := precise{margin: spin}.on(2, false), precise{margin: spin}.on(manyProcessors, false)
	if got := few.before(time.Millisecond); got != spin {
		t.Errorf("before it knows how late sleeps are it spins for %v, want %v", got, spin)
	}
	for range 1000 {
		few.sparing.woke(32 * us)
	}
	for _, c := range []struct{ left, want time.Duration }{
		{2 * time.Millisecond, 40 * us}, {80 * us, 40 * us}, {50 * us, 25 * us},
	} {
		if got := few.before(c.left).Round(us); got != c.want {
			t.Errorf("with %v left it spins for %v, want %v", c.left, got, c.want)
		}
		if got := many.before(c.left); got != spin {
			t.Errorf("on many processors, with %v left, it spins for %v, want %v", c.left, got, spin)
		}
	}
	few.sparing.woke(time.Second) // the machine stood still
	if got := few.before(time.Second); got != spin {
		t.Errorf("it spins for %v, want at most %v", got, spin)
	}
	for range 1000 {
		few.sparing.woke(0)
	}
	if got := few.before(time.Second); got != leastSpin {
		t.Errorf("it spins for %v, want at least %v", got, leastSpin)
	}
	for _, p := range []precise{precise{margin: spin}.on(1, false), precise{margin: spin}.on(8, true)} {
		if got := p.before(time.Second); got != 0 {
			t.Errorf("it spins for %v, want not at all", got)
		}
	}
}
