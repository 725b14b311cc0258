package check

import (
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// burst returns the interval of bursts that a policy may have, over all recordings.
func (q *inquiry) burst(p spec.Policy) result.Interval { return q.measured(p, 32, Gauge.burst) }

// rate returns the interval of rates, per second, that a policy may have, over all recordings. Requests in
// flight have none.
func (q *inquiry) rate(p spec.Policy) result.Interval {
	if p.Completes() || p.Align == spec.AlignCalendar {
		return result.Interval{}
	}
	return q.measured(p, 64, Gauge.back)
}

// measured returns what measure does not refute, over all recordings. A measurement takes up to so many
// judgements. Of a long recording it reads the beginning.
func (q *inquiry) measured(p spec.Policy, judgements int,
	measure func(Gauge, spec.Policy) result.Interval) (all result.Interval) {
	limit := spec.Limit{p}
	if _, err := reference.NewLimit(limit); err != nil || !q.spent(judgements) {
		return all
	}
	for _, x := range q.of {
		mode := x.o.Conformance
		if x.o.Shared { // denials prove nothing, nor does what admissions of others hide
			if _, changed := loosen(limit); changed || mode == result.LowerBound {
				continue
			}
			mode = result.UpperBound
		}
		if Fits(x.rec, limit) != nil {
			return result.Interval{}
		}
		c := NewCase(x.rec, limit, Options{Conformance: mode})
		c.Quick, c.BoundsOnly, c.Frugal = true, true, true
		for _, part := range c.Parts {
			if part.Seen.Known > 0 {
				all = all.Intersect(measure(c.gauge(part), c.declared[0]))
			}
		}
	}
	return all
}

// fitted returns policies like p with bursts and rates that were measured together. For each end of the
// possible bursts, it takes the possible rates. Measured one at a time they often leave nothing, since each
// has to make up for an error of the other.
func (q *inquiry) fitted(p spec.Policy) []spec.Policy {
	var out []spec.Policy
	unit := p.Rate.Per
	for range 2 {
		m := q.burst(p)
		for _, end := range []result.Interval{{Lo: m.Lo, LoSet: m.LoSet}, {Lo: m.Hi, LoSet: m.HiSet}} {
			if !end.LoSet || end.Lo < 1 {
				continue
			}
			try := p.WithFull(int64(end.Lo))
			if try, ok := withRate(try, q.rate(try), unit); ok {
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

// withRate returns p with the roundest of some rates. unit is the time in which the rate of a bucket is
// written. ok=false: there is none.
func withRate(p spec.Policy, rate result.Interval, unit time.Duration) (spec.Policy, bool) {
	ok := true
	if p.HasWindow() {
		if rate.LoSet || rate.HiSet {
			p.Rate.Per, ok = roundWindow(rate, p.Rate.N)
		}
	} else {
		p.Rate, ok = roundRate(rate, p.Rate, unit)
	}
	return p, ok
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
