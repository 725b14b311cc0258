// Package identify finds out which limit an endpoint has. Hypotheses are policies, and only the judge of
// package check refutes one. What is left of a kind are its policies that are not refuted. The next
// experiment is the one that divides them best. The core is pure: it asks a Sender for the recording of a
// phase. That may be an endpoint or a simulated limiter.
package identify

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// box is a closed range of policies of one kind. t1 and t2 are times per unit (buckets) or windows (all
// others). d1 and d2 are bans; 0 where the kind has none.
type box struct {
	q1, q2 int64
	t1, t2 time.Duration
	d1, d2 time.Duration
}

// exact tells whether b is as narrow as the judge divides boxes: one quota, and times within a hundredth.
func (b box) exact() bool { return b.q1 == b.q2 && b.narrow() && !b.wide() }

// single tells whether b is known as well as an answer must be. Either what is named is near enough to both
// ends, or the ends are within slack, which no experiment can tell.
func (b box) single(slack time.Duration) bool {
	near := func() bool {
		t := float64(b.usual().t1)
		return float64(b.t2) <= t*exactness && t <= float64(b.t1)*exactness
	}
	return b.q1 == b.q2 && (b.t2-b.t1 <= slack || near()) && !b.wide()
}

// wide tells whether the ban is still open.
func (b box) wide() bool { return float64(b.d2) > float64(b.d1)*longResolution }

// exactness is the largest ratio between the named time and any time that is left. resolution is the largest
// between the ends of these.
const (
	exactness  = 1.02
	resolution = exactness * exactness
	// longResolution is resolution for bans.
	longResolution = 1.1
)

// inner returns the policies of b that are near enough to both ends for an answer; b where there are none.
func (b box) inner() box {
	in := b
	in.t1 = max(b.t1, time.Duration(float64(b.t2)/exactness))
	if in.t2 = min(b.t2, time.Duration(float64(b.t1)*exactness)); in.t1 > in.t2 ||
		float64(b.t2) > float64(b.t1)*resolution {
		return b
	}
	return in
}

func (b box) narrow() bool { return float64(b.t2) <= float64(b.t1)*1.01 }

// size is how much of b is open, as a logarithm.
func (b box) size() float64 {
	out := math.Log(float64(b.q2)/float64(b.q1)) + math.Log(float64(b.t2)/float64(b.t1))
	if b.d1 > 0 {
		out += math.Log(float64(b.d2) / float64(b.d1))
	}
	return out
}

// halves divides b across its widest dimension.
func (b box) halves() (lower, upper box) {
	lower, upper = b, b
	if b.wide() && math.Log(float64(b.d2)/float64(b.d1)) >= b.size()/3 {
		mid := time.Duration(math.Sqrt(float64(b.d1) * float64(b.d2)))
		lower.d2, upper.d1 = mid, mid
		return lower, upper
	}
	if q := math.Log(float64(b.q2) / float64(b.q1)); b.q1 < b.q2 && (q >= b.size()/2 || b.narrow()) {
		mid := int64(math.Sqrt(float64(b.q1) * float64(b.q2)))
		mid = min(max(mid, b.q1), b.q2-1)
		lower.q2, upper.q1 = mid, mid+1
		return lower, upper
	}
	mid := time.Duration(math.Sqrt(float64(b.t1) * float64(b.t2)))
	lower.t2, upper.t1 = mid, mid
	return lower, upper
}

// hull returns the box around boxes, of which there must be one.
func hull(boxes []box) box {
	h := boxes[0]
	for _, b := range boxes[1:] {
		h = box{min(h.q1, b.q1), max(h.q2, b.q2), min(h.t1, b.t1), max(h.t2, b.t2), min(h.d1, b.d1),
			max(h.d2, b.d2)}
	}
	return h
}

// point returns the policy of b that people would write: the middle quota and the roundest times.
func (b box) point() box {
	q := b.q1 + (b.q2-b.q1)/2
	t, d := roundest(b.t1, b.t2), roundest(b.d1, b.d2)
	return box{q, q, t, t, d, d}
}

// middle returns the policy in the middle of b.
func (b box) middle() box {
	q, t, d := b.q1+(b.q2-b.q1)/2, b.t1+(b.t2-b.t1)/2, b.d1+(b.d2-b.d1)/2
	return box{q, q, t, t, d, d}
}

// usual returns the policy of b that people would write: one of inner, unless b holds a far rounder time. So
// it is 500ms rather than 504ms, although an end of b may be more than 2 % from it.
func (b box) usual() box {
	in, all := b.inner().point(), b.point()
	if roundness(all.t1) > roundness(in.t1)-2 {
		return in
	}
	return all
}

// whole is how many units people write the rate of a bucket with: all units; of a queue, its places.
func (k *kind) whole(b box) time.Duration {
	if k.queue && b.q1 > 1 {
		return time.Duration(b.q1 - 1)
	}
	return time.Duration(b.q1)
}

// usual returns the policy of b that people would write. A bucket has a round time of one unit, or of all
// units if that is rounder. A time that is not well known is the roundest near the middle of what is left.
func (k *kind) usual(b box) box {
	out, all := b.usual(), b.inner()
	if float64(b.t2) > float64(b.t1)*resolution {
		out.t1 = amid(b.t1, b.t2)
		out.t2 = out.t1
	}
	if !k.paced || b.q1 != b.q2 {
		return out
	}
	units := k.whole(b)
	if t := amid(all.t1*units, all.t2*units); roundness(t) < roundness(out.t1) && t/units >= b.t1 {
		out.t1, out.t2 = t/units, t/units
	}
	return out
}

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

// round tells whether b holds a time that people would write: with two digits, or with a five after them.
func (b box) round() bool {
	step := time.Duration(1)
	for step*100 <= b.t1 {
		step *= 10
	}
	if step > 1 {
		step /= 2
	}
	return (b.t1+step-1)/step*step <= b.t2
}

// roundest returns the roundest duration of a closed interval.
func roundest(from, to time.Duration) time.Duration {
	for _, unit := range roundTimes() {
		if t := (from + unit - 1) / unit * unit; t <= to && t > 0 {
			return t
		}
	}
	return from + (to-from)/2
}

// amid returns the roundest duration of a closed interval; of several the one nearest to its middle.
func amid(from, to time.Duration) time.Duration {
	t := roundest(from, to)
	units, middle := roundTimes(), from+(to-from)/2
	if i := roundness(t); i < len(units) {
		if near := (middle + units[i]/2) / units[i] * units[i]; near >= from && near <= to {
			return near
		}
	}
	return t
}

// kind is a family of policies that answers can tell apart from all other kinds.
type kind struct {
	// class are the algorithms of the kind, which nothing can tell apart from outside.
	class []spec.Algorithm
	// text names the kind.
	text string
	// base has all settings but quota and times.
	base spec.Policy
	// parts are the kinds that it joins, from the one that admits most to the one that admits least; nil for
	// none.
	parts []*kind
	// searched tells that the exact search refutes policies that the bounds do not.
	searched bool
	// paced tells that t1 and t2 are the time of one unit. queue tells that answers wait in a queue which
	// admits like base.
	paced, queue bool
	// bans tells that the kind has a ban. seconds tells that it has one clock of whole seconds, ahead of ours
	// by ahead.
	bans, seconds bool
	ahead         time.Duration
}

var (
	bucketClass   = []spec.Algorithm{spec.TokenBucket, spec.GCRA, spec.LeakyBucket}
	inFlightClass = []spec.Algorithm{spec.Concurrency}
)

// kinds returns the usual kinds, the most usual first.
func kinds() []*kind {
	one := func(a spec.Algorithm) []spec.Algorithm { return []spec.Algorithm{a} }
	out := []*kind{
		{class: bucketClass, text: "a token bucket", base: spec.Policy{Algorithm: spec.TokenBucket},
			paced: true},
		{class: one(spec.FixedWindow), text: "a fixed window by the clock",
			base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignUnknown}},
		{class: one(spec.FixedWindow), text: "a fixed window that the first request opens",
			base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst}},
		{class: one(spec.SlidingWindowLog), text: "a sliding window log",
			base: spec.Policy{Algorithm: spec.SlidingWindowLog}},
	}
	for _, count := range []spec.Count{spec.CountAdmitted, spec.CountAll} {
		for _, align := range []spec.Align{spec.AlignUnknown, spec.AlignFirst} {
			out = append(out, counterKind(align, count))
		}
	}
	return append(out,
		&kind{class: bucketClass, text: "a token bucket that charges denied requests too", paced: true,
			searched: true,
			base:     spec.Policy{Algorithm: spec.TokenBucket, Count: spec.CountAll}},
		&kind{class: one(spec.SlidingWindowLog),
			text: "a sliding window log that counts denied requests too",
			base: spec.Policy{Algorithm: spec.SlidingWindowLog, Count: spec.CountAll}},
		&kind{class: one(spec.FixedWindow), text: "a fixed window that every admitted request starts anew",
			base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst,
				Refresh: spec.RefreshAdmitted}},
		&kind{class: one(spec.FixedWindow), text: "a fixed window that every request starts anew",
			searched: true,
			base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst,
				Refresh: spec.RefreshAll}},
	)
}

// counterKind returns the sliding window counters of all roundings, as one kind.
func counterKind(align spec.Align, count spec.Count) *kind {
	out := &kind{class: []spec.Algorithm{spec.SlidingWindowCounter}, text: "a sliding window counter",
		base: spec.Policy{Algorithm: spec.SlidingWindowCounter, Align: align, Count: count}}
	if align == spec.AlignFirst {
		out.text += " that the first request opens"
		out.searched = true
	}
	if count == spec.CountAll {
		if out.searched {
			out.text += " and"
		}
		out.text += " that counts denied requests too"
	}
	for _, r := range []spec.Rounding{spec.RoundNone, spec.RoundNearest, spec.RoundUp} {
		part := *out
		part.parts = nil
		if part.base.Rounding = r; r != spec.RoundNone {
			part.text += ", rounding " + string(r)
		}
		out.parts = append(out.parts, &part)
	}
	return out
}

// batchKind is the kind of buckets that regain fill units at a time.
func batchKind(fill int64) *kind {
	return &kind{class: []spec.Algorithm{spec.TokenBucket, spec.LeakyBucket}, paced: true,
		text: "a token bucket that a timer fills, " + quantity.Plural(int(fill), "unit") + " at a time",
		base: spec.Policy{Algorithm: spec.TokenBucket, Refill: spec.RefillInterval, Fill: fill}}
}

// mostSearched is how many exact searches may be asked for at once. With an unknown phase each takes long.
func (k *kind) mostSearched() int {
	if k.base.Weighs() && k.base.Align == spec.AlignUnknown {
		return 40
	}
	return manyAsked
}

// places returns k with its clock ahead by several shares of a second; k itself where it has no such clock.
func (k *kind) places() []*kind {
	const parts = 16
	if !k.seconds {
		return []*kind{k}
	}
	var out []*kind
	for i := range time.Duration(parts) {
		placed := *k
		placed.ahead = time.Second * i / parts
		out = append(out, &placed)
	}
	return out
}

// like tells whether two kinds are counters that differ in their rounding alone.
func (k *kind) like(other *kind) bool {
	a, b := k.base, other.base
	return a.Weighs() && b.Weighs() && a.Align == b.Align && a.Count == b.Count
}

// counts tells whether denied requests count.
func (k *kind) counts() bool {
	return k.base.Count == spec.CountAll || k.base.Refresh == spec.RefreshAll
}

// each returns the parts of k, or k itself.
func (k *kind) each() []*kind {
	if len(k.parts) > 0 {
		return k.parts
	}
	return []*kind{k}
}

// pace returns the rates of units that take t1 to t2 each, as a range of whole numbers per time. It is only
// as fine as the box is narrow, so that no product of the judge overflows.
func pace(t1, t2 time.Duration) (r spec.Rate, to int64) {
	ratio := float64(t2) / float64(t1)
	units := int64(1)
	for units < 1<<11 && float64(units)*(ratio-1) < 32 {
		units *= 2
	}
	return spec.Rate{N: units, Per: time.Duration(units) * t2}, int64(math.Ceil(float64(units) * ratio))
}

// policy returns the policies of b as one policy with ranges.
func (k *kind) policy(b box) spec.Policy {
	p := k.base
	if k.bans {
		p.Ban, p.BanTo = b.d1, rangeTo(b.d1, b.d2)
	}
	switch {
	case k.paced && b.t1 == b.t2:
		p.Rate = spec.Rate{N: 1, Per: b.t1}
	case k.paced:
		p.Rate, p.RateTo = pace(b.t1, b.t2)
	default:
		p.Rate = spec.Rate{N: b.q1, Per: b.t1}
		p.RateTo, p.PerTo = rangeTo(b.q1, b.q2), rangeTo(b.t1, b.t2)
		p.Burst = b.q1
		return p
	}
	p.Burst, p.BurstTo = b.q1, rangeTo(b.q1, b.q2)
	return p
}

func rangeTo[N int64 | time.Duration](from, to N) N {
	if from == to {
		return 0
	}
	return to
}
