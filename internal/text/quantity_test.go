package text

import (
	"testing"
	"time"
)

// TestDurationsHaveNoZeroParts: what is short is exact; what is rough has as many parts as a reader needs.
func TestDurationsHaveNoZeroParts(t *testing.T) {
	const day = 24 * time.Hour
	for _, x := range []struct {
		d            time.Duration
		short, rough string
	}{
		{10 * time.Minute, "10m", "10m"},
		{3 * time.Hour, "3h", "3h"},
		{time.Hour + time.Second, "1h0m1s", "1h"}, // to a minute
		{2 * day, "48h", "2d"},
		{2*day + 90*time.Minute, "49h30m", "2d2h"}, // to an hour
		{1234567 * time.Microsecond, "1.234567s", "1.23s"},
		{12345678 * time.Nanosecond, "12.345678ms", "12.35ms"},
		{1234567 * time.Nanosecond, "1.234567ms", "1.234567ms"}, // exact below 10 ms
		{0, "0s", "0s"},
	} {
		if short, rough := Short(x.d), Rough(x.d); short != x.short || rough != x.rough {
			t.Errorf("%v: got %s and %s, want %s and %s", x.d, short, rough, x.short, x.rough)
		}
	}
}
