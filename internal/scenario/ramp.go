package scenario

import (
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// A ramp goes from rate f to rate g within D. After t it has sent n(t) = f*t + (g-f)*t*t/(2*D) requests;
// request k is due at the t with n(t) = k.

// rampCount returns n(D) = (f+g)*D/2, rounded up.
func rampCount(from, to spec.Rate, whole time.Duration) float64 {
	return math.Ceil((from.PerSecond()+to.PerSecond())*whole.Seconds()/2 - 1e-9)
}

// rampAt returns when request k is due. The root is taken in the form that does not cancel: 2k/(f + sqrt(f*f
// + 2ak)) with a = (g-f)/D.
func rampAt(from, to spec.Rate, whole time.Duration, k int) time.Duration {
	f, g, d := from.PerSecond(), to.PerSecond(), whole.Seconds()
	inside := max(0, f*f+2*(g-f)/d*float64(k))
	return min(time.Duration(2*float64(k)/(f+math.Sqrt(inside))*1e9), whole)
}
