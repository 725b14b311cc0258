package identify

import (
	"slices"
	"time"
)

// roundTimes are units of the times that people write, the roundest first.
func roundTimes() []time.Duration {
	return []time.Duration{24 * time.Hour, time.Hour, 10 * time.Minute, time.Minute, 10 * time.Second,
		time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond,
		100 * time.Microsecond, 10 * time.Microsecond}
}

// roundness is the index in roundTimes of the first unit that divides t; 11 for none.
func roundness(t time.Duration) int {
	units := roundTimes()
	if i := slices.IndexFunc(units, func(unit time.Duration) bool { return t%unit == 0 }); i >= 0 {
		return i
	}
	return len(units)
}

// written returns the smallest box around the policies of b that people would write: with numbers of two
// digits, or with a five after them. It reports false where there are none.
func (b Box) written() (Box, bool) {
	up := func(n int64) int64 { return (n + grid(n) - 1) / grid(n) * grid(n) }
	down := func(n int64) int64 { return n / grid(n) * grid(n) }
	b.Q1, b.Q2 = up(b.Q1), down(b.Q2)
	b.T1, b.T2 = time.Duration(up(int64(b.T1))), time.Duration(down(int64(b.T2)))
	return b, b.Q1 <= b.Q2 && b.T1 <= b.T2
}

// grid is the step between the numbers near t that people would write.
func grid[N int64 | time.Duration](t N) N {
	step := N(1)
	for step*100 <= t {
		step *= 10
	}
	if step > 1 {
		step /= 2
	}
	return step
}

// Round tells whether b holds a time that people would write.
func (b Box) Round() bool {
	b.Q1, b.Q2 = 1, 1
	_, is := b.written()
	return is
}

// Configured tells whether b holds a time that people configure: whole minutes, or one digit, perhaps with a
// five after it (1.5 s).
func (b Box) Configured() bool {
	half := time.Duration(1)
	for 10*half <= b.T2 {
		half *= 10
	}
	half = max(1, half/2)
	return b.T2/half*half >= b.T1 || roundness(Roundest(b.T1, b.T2)) <= roundness(time.Minute)
}

// Roundest returns the roundest duration of a closed interval.
func Roundest(from, to time.Duration) time.Duration {
	for _, unit := range roundTimes() {
		if t := (from + unit - 1) / unit * unit; t <= to && t > 0 {
			return t
		}
	}
	return from + (to-from)/2
}

// Amid returns the roundest duration of a closed interval; of several the one nearest to its middle.
func Amid(from, to time.Duration) time.Duration {
	t := Roundest(from, to)
	units, middle := roundTimes(), from+(to-from)/2
	if i := roundness(t); i < len(units) {
		if near := (middle + units[i]/2) / units[i] * units[i]; near >= from && near <= to {
			return near
		}
	}
	return t
}
