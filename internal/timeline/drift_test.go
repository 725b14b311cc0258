package timeline

import (
	"testing"
	"time"
)

func TestDriftGrowsWithTime(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{0: 0, 1: 1, time.Second: 200 * time.Microsecond,
		-time.Second:    200 * time.Microsecond,
		time.Minute + 1: 12*time.Millisecond + 1, 100 * 365 * 24 * time.Hour: 175200 * time.Hour / 1000} {
		if got := (&Header{DriftPPM: 200}).Drift(d); got != want {
			t.Errorf("200 ppm of %s: got %s, want %s", d, got, want)
		}
	}
	if got := (&Header{}).Drift(time.Hour); got != 0 {
		t.Errorf("no drift: got %s", got)
	}
}
