package check

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// measured returns the interval of the burst and of the rate that a policy has, over all partitions. Of a
// long recording it reads the beginning.
func (q *inquiry) measured(p spec.Policy) result.Measured {
	const questions = 64 // a measurement takes about as many judgements
	limit := spec.Limit{p}
	if _, err := reference.NewLimit(limit); err != nil || Fits(q.rec, limit) != nil ||
		!q.spent(questions) {
		return result.Measured{}
	}
	c := NewCase(q.rec, limit, Options{Conformance: q.o.Conformance, Shared: q.o.Shared})
	c.Quick, c.BoundsOnly, c.Frugal = true, true, true
	out := make([]result.Measured, len(c.Parts))
	Each(len(c.Parts), func(i int) {
		if c.Parts[i].Seen.Known > 0 {
			out[i] = c.Measure(c.Parts[i])
		}
	})
	var all result.Measured
	for _, m := range out {
		all = all.Intersect(m)
	}
	return all
}

// fitted returns buckets like p with bursts and rates that were measured together. For each end of the
// possible bursts, it takes the possible rates. Measured one at a time they often leave nothing, since each
// has to make up for an error of the other.
func (q *inquiry) fitted(p spec.Policy) []spec.Policy {
	var out []spec.Policy
	unit := p.Rate.Per
	for range 2 {
		m := q.measured(p)
		ends := []result.Interval{{Lo: m.Burst.Lo, LoSet: m.Burst.LoSet},
			{Lo: m.Burst.Hi, LoSet: m.Burst.HiSet}}
		for _, end := range ends {
			if !end.LoSet || end.Lo < 1 {
				continue
			}
			try := p.WithFull(int64(end.Lo))
			rate := q.measured(try).Rate
			if r, ok := roundRate(rate, try.Rate, unit); ok {
				try.Rate = r
				out = append(out, try)
			}
		}
		if len(out) == 0 {
			break
		}
		p = out[0]
	}
	return out
}

// roundRate returns the roundest rate of an interval: so many a second, else in the given unit or, for slow
// rates, in a longer time. An end that is not set is that of the declared rate. ok=false: the interval has no
// rate that is a whole number.
func roundRate(iv result.Interval, declared spec.Rate, unit time.Duration) (spec.Rate, bool) {
	now := float64(declared.N) * float64(time.Second) / float64(declared.Per)
	lo, hi := now, now
	switch {
	case iv.LoSet && iv.HiSet:
		lo, hi = iv.Lo, iv.Hi
	case iv.LoSet:
		lo, hi = iv.Lo, max(now, iv.Lo)
	case iv.HiSet:
		lo, hi = min(now, iv.Hi), iv.Hi
	}
	switch {
	case lo > hi || lo <= 0:
		return declared, false
	case now >= lo && now <= hi:
		return declared, true
	}
	for _, per := range []time.Duration{time.Second, unit, 10 * time.Second, time.Minute, time.Hour} {
		if n, ok := roundest(lo*per.Seconds(), hi*per.Seconds()); ok {
			return spec.Rate{N: n, Per: per}, true
		}
	}
	return declared, false
}

// roundWindow returns the roundest length of a window with the given quota whose rate lies in the interval.
// ok=false: there is none, or an end is not set.
func roundWindow(rate result.Interval, quota int64) (time.Duration, bool) {
	if !rate.LoSet || !rate.HiSet || rate.Lo <= 0 || rate.Lo > rate.Hi {
		return 0, false
	}
	shortest, longest := float64(quota)/rate.Hi, float64(quota)/rate.Lo // in seconds
	units := []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Nanosecond}
	for _, unit := range units {
		if n, ok := roundest(shortest/unit.Seconds(), longest/unit.Seconds()); ok {
			return time.Duration(n) * unit, true
		}
	}
	return 0, false
}

// roundest returns the whole number from lo to hi, above 0, that ends in the most zeros.
func roundest(lo, hi float64) (int64, bool) {
	if hi > math.MaxInt32 {
		return 0, false
	}
	least, most := max(int64(math.Ceil(lo)), 1), int64(math.Floor(hi))
	for unit := int64(1_000_000_000); unit > 0; unit /= 10 {
		if n := (least + unit - 1) / unit * unit; n <= most {
			return n, true
		}
	}
	return 0, false
}

// quotas returns the quotas to try for windows of one length. These are the given quota, and both ends of the
// quotas measured for windows that requests open and for a log.
func (q *inquiry) quotas(rate spec.Rate, base spec.Policy) []int64 {
	if known := q.known[rate]; known != nil {
		return known
	}
	out := []int64{rate.N}
	for _, kind := range []spec.Policy{fixedKind(spec.AlignFirst), logKind} {
		m := q.measured(windowed(base, rate, kind)).Burst
		for _, end := range []result.Interval{{Lo: m.Lo, LoSet: m.LoSet}, {Lo: m.Hi, LoSet: m.HiSet}} {
			if n := int64(end.Lo); end.LoSet && n >= 1 && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	if q.known == nil {
		q.known = map[spec.Rate][]int64{}
	}
	q.known[rate] = out
	return out
}
