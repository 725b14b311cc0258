package scenario

import (
	"math"
	"math/bits"
)

// MulDiv returns a*b/c, rounded down or up, or MaxInt64 where that does not fit. a and b are not negative, c
// is positive.
func MulDiv(a, b, c int64, up bool) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(c-1), 0)
		hi += carry
	}
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
