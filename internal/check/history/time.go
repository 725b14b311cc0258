package history

// The ends of time: far beyond any recording, far from overflow.
const (
	MaxTime = int64(1) << 61
	MinTime = -MaxTime
)

// Later returns t+d. It is MaxTime if t or d is.
func Later(t, d int64) int64 {
	if t == MaxTime || d == MaxTime {
		return MaxTime
	}
	return min(t+d, MaxTime)
}

// Gcd returns the greatest common divisor of two non-negative numbers (Euclid).
func Gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// FloorDiv returns a/b, rounded down. b is positive.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Mod returns a - b*FloorDiv(a, b), which lies in [0, b).
func Mod(a, b int64) int64 { return a - FloorDiv(a, b)*b }
