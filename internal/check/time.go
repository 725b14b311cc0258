package check

// The ends of time: far beyond any recording, far from overflow.
const (
	maxTime = int64(1) << 61
	minTime = -maxTime
)

// later adds two times of which either may be maxTime.
func later(t, d int64) int64 {
	if t == maxTime || d == maxTime {
		return maxTime
	}
	return min(t+d, maxTime)
}

func gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func mod(a, b int64) int64 { return a - floorDiv(a, b)*b }
