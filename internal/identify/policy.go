package identify

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Policy returns the policies of b as one policy with ranges.
func (k *Kind) Policy(b Box) spec.Policy {
	p := k.Base
	switch {
	case k.Paced && b.T1 == b.T2:
		p.Rate = spec.Rate{N: 1, Per: b.T1}
	case k.Paced:
		p.Rate, p.RateTo = Pace(b.T1, b.T2)
	default:
		p.Rate = spec.Rate{N: b.Q1, Per: b.T1}
		p.RateTo, p.PerTo = rangeTo(b.Q1, b.Q2), rangeTo(b.T1, b.T2)
		p.Burst = b.Q1
		return p
	}
	p.Burst, p.BurstTo = b.Q1, rangeTo(b.Q1, b.Q2)
	return p
}

// Pace returns the rates of units that take t1 to t2 each, as a range of whole numbers per time. It is only
// as fine as the box is narrow, so that no product of the judge overflows.
func Pace(t1, t2 time.Duration) (r spec.Rate, to int64) {
	ratio := float64(t2) / float64(t1)
	units := int64(1)
	for units < 1<<11 && float64(units)*(ratio-1) < 32 {
		units *= 2
	}
	return spec.Rate{N: units, Per: time.Duration(units) * t2}, int64(math.Ceil(float64(units) * ratio))
}

func rangeTo[N int64 | time.Duration](from, to N) N {
	if from == to {
		return 0
	}
	return to
}

// Written returns the policy of a point as people write it. A bucket's rate is a whole number a second, a
// minute or an hour, if there is one. Else it is all units in the time in which the bucket fills.
func (k *Kind) Written(b Box) spec.Policy {
	p := k.Policy(b)
	if !k.Paced || b.T1 != b.T2 {
		return Complete(p)
	}
	for _, per := range []time.Duration{time.Second, time.Minute, time.Hour} {
		if n := int64(per / b.T1); per%b.T1 == 0 && (per == time.Second || n <= mostWritten) {
			p.Rate = spec.Rate{N: n, Per: per}
			return Complete(p)
		}
	}
	const unit = 10 * time.Millisecond
	n := k.unitsWritten(b)
	if all := (b.T1*n + unit/2).Truncate(unit); all > 0 && max(all-b.T1*n, b.T1*n-all) < n {
		p.Rate = spec.Rate{N: int64(n), Per: all}
	}
	return Complete(p)
}

// mostWritten is the largest rate that people write in units a minute or an hour.
const mostWritten = 10_000

// Complete returns p with its defaults.
func Complete(p spec.Policy) spec.Policy {
	if whole, err := spec.Parse(p.String()); err == nil {
		return whole[0]
	}
	return p
}

// unitsWritten is how many units people write the rate of a bucket with: all units; of a queue, its places.
func (k *Kind) unitsWritten(b Box) time.Duration {
	if k.Queue && b.Q1 > 1 {
		return time.Duration(b.Q1 - 1)
	}
	return time.Duration(b.Q1)
}

// Conventional returns the policy of b that people would write. A bucket has a round time of one unit, or of
// all units if that is rounder. A time that is not well known is the roundest near the middle of what is
// left.
func (k *Kind) Conventional(b Box) Box {
	out, all := b.Conventional(), b.Inner()
	if float64(b.T2) > float64(b.T1)*Resolution {
		out.T1 = Amid(b.T1, b.T2)
		out.T2 = out.T1
	}
	if !k.Paced || b.Q1 != b.Q2 {
		return out
	}
	units := k.unitsWritten(b)
	if t := Amid(all.T1*units, all.T2*units); roundness(t) < roundness(out.T1) && t/units >= b.T1 {
		out.T1, out.T2 = t/units, t/units
	}
	return out
}

// Rounded returns the policy of b that people would write: the roundest quota, with the roundest rate of a
// bucket, or the roundest window.
func (k *Kind) Rounded(b Box) spec.Policy {
	c := k.Conventional(b)
	c.Q1 = roundUnits(b.Q1, b.Q2)
	c.Q2 = c.Q1
	if !k.Paced {
		return k.Written(c)
	}
	if n, per, digits := roundRate(b.T1, b.T2); digits <= 2 {
		p := k.Policy(c)
		p.Rate = spec.Rate{N: n, Per: per}
		return Complete(p)
	}
	return k.Written(c)
}

// Round tells whether b holds a policy that people would write: with a window or a rate of two digits.
func (k *Kind) Round(b Box) bool {
	if k.Paced {
		_, _, digits := roundRate(b.T1, b.T2)
		return digits <= 2
	}
	return b.Round()
}

// roundUnits returns the roundest number of a closed interval; the largest of several.
func roundUnits(from, to int64) int64 {
	for unit := int64(1_000_000); unit > 1; unit /= 10 {
		for _, u := range []int64{unit, unit / 2} {
			if n := to / u * u; n >= from && n > 0 {
				return n
			}
		}
	}
	return to
}

// roundRate returns the first rate of at most two digits, or else that of the fewest, in whole units a
// second, a minute or an hour, of a bucket that regains one in t1 to t2. digits is 9 where there is none.
func roundRate(t1, t2 time.Duration) (n int64, per time.Duration, digits int) {
	digits = 9
	for _, unit := range []time.Duration{time.Second, time.Minute, time.Hour} {
		from, to := (int64(unit)+int64(t2)-1)/int64(t2), int64(unit)/int64(max(t1, 1))
		if from > to || from < 1 {
			continue
		}
		m := roundUnits(from, to)
		if unit > time.Second && m > mostWritten {
			continue
		}
		d := len(strings.TrimRight(strconv.FormatInt(m, 10), "0"))
		if d < digits && digits > 2 {
			n, per, digits = m, unit, d
		}
	}
	return n, per, digits
}
