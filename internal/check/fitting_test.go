package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// A rate is written in the declared unit of time if it is no whole number a second, whatever was tried in
// between.
func TestRoundRates(t *testing.T) {
	perMinute := func(lo, hi float64) result.Interval {
		return result.Interval{Lo: lo / 60, Hi: hi / 60, LoSet: true, HiSet: true}
	}
	for _, x := range []struct {
		in    result.Interval
		tried string
		unit  time.Duration
		want  string
	}{
		{perMinute(9.99, 10.2), "2250/1h", 2 * time.Second, "10/1m"},
		{perMinute(9.99, 10.2), "2250/1h", time.Hour, "600/1h"},
		{perMinute(590, 610), "1/s", time.Minute, "10/s"},
		{perMinute(149, 151), "1/s", 2 * time.Second, "5/2s"},
	} {
		tried, err := spec.ParseRate(x.tried)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := roundRate(x.in, tried, x.unit); !ok || got.String() != x.want {
			t.Errorf("%v per %s: got %s, %t, want %s", x.in, x.unit, got, ok, x.want)
		}
	}
}
