package history

// The ends of time: far beyond any recording, far from overflow.
const (
	MaxTime = int64(1) << 61
	MinTime = -MaxTime
)

// Later adds two times of which either may be maxTime.
func Later(t, d int64) int64 {
	if t == MaxTime || d == MaxTime {
		return MaxTime
	}
	return min(t+d, MaxTime)
}

func Gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func Mod(a, b int64) int64 { return a - FloorDiv(a, b)*b }
