package identify

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Kind is a family of policies that answers can tell apart from all other kinds.
type Kind struct {
	// Class are the algorithms of the kind, which nothing can tell apart from outside.
	Class []spec.Algorithm
	// text names the kind.
	Text string
	// Base has all settings but quota and times.
	Base spec.Policy
	// Parts are the kinds that it joins, from the one that admits most to the one that admits least; nil for
	// none.
	Parts []*Kind
	// Searched tells that the exact search refutes policies that the bounds do not.
	Searched bool
	// Paced tells that T1 and T2 are the time of one unit.
	Paced bool
}

// Each returns the parts of k, or k itself.
func (k *Kind) Each() []*Kind {
	if len(k.Parts) > 0 {
		return k.Parts
	}
	return []*Kind{k}
}

// Like tells whether two kinds are counters that differ in their rounding alone.
func (k *Kind) Like(other *Kind) bool {
	a, b := k.Base, other.Base
	return a.Weighs() && b.Weighs() && a.Align == b.Align && a.Count == b.Count
}

// Spends is how many requests, every apart, use up the quota of b and what a bucket regains meanwhile. Of one
// that regains units as fast, which no requests use up, it is the quota.
func (k *Kind) Spends(b Box, every time.Duration) int {
	n := float64(b.Q2)
	if k.Paced && every < b.T1 {
		n /= 1 - float64(every)/float64(b.T1)
	}
	return int(n)
}

// Counts tells whether denied requests count.
func (k *Kind) Counts() bool {
	return k.Base.Count == spec.CountAll || k.Base.Refresh == spec.RefreshAll
}

// mostSearched is how many exact searches may be asked for at once. With an unknown phase each takes long.
func (k *Kind) mostSearched() int {
	if k.Base.Weighs() && k.Base.Align == spec.AlignUnknown {
		return 12
	}
	return ManyAsked
}

// NameOfOne names the limiter that a kind is with a quota of one request.
func (k *Kind) NameOfOne() string {
	b := k.Base
	counter, up := b.Weighs(), b.Rounding == spec.RoundUp
	all := (b.Count == spec.CountAll && !b.Fixed()) || b.Refresh == spec.RefreshAll
	switch {
	case len(k.Parts) > 0 || counter && b.Rounding == spec.RoundNearest:
		return k.Text
	case b.Align == spec.AlignUnknown && !up && !all: // one in a window, from the beginning of the window
		return "one a window"
	case b.Align == spec.AlignUnknown || counter && (all || !up):
		return k.Text
	case all:
		return "one a time since the last request"
	default: // a counter that rounds up waits for the second window after that of the last admission
		return "one a time"
	}
}

// Windows is how many windows a kind with a quota of one request waits before it admits again.
func (k *Kind) Windows() time.Duration {
	if k.Base.Weighs() && k.Base.Rounding == spec.RoundUp {
		return 2
	}
	return 1
}

var (
	// BucketClass are the algorithms that decide as a token bucket does.
	BucketClass = []spec.Algorithm{spec.TokenBucket, spec.GCRA, spec.LeakyBucket}
	// InFlightClass are those that limit requests in flight.
	InFlightClass = []spec.Algorithm{spec.Concurrency}
)

// usualKinds are the names of the usual kinds with their SPECs without numbers, the most usual first. The
// first simple ones are asked before the others. Of those that are searched, the exact search refutes
// policies that the bounds do not.
var usualKinds = []struct {
	text, form string
	searched   bool
}{
	{"a token bucket", "token-bucket,burst=1", false},
	{"a fixed window by the clock", "fixed-window,align=unknown", false},
	{"a fixed window that the first request opens", "fixed-window,align=first", false},
	{"a sliding window log", "sliding-window-log", false},
	{"a sliding window counter", "sliding-window-counter,align=unknown", false},
	{"a sliding window counter that the first request opens", "sliding-window-counter,align=first", true},
	{"a sliding window counter that counts denied requests too",
		"sliding-window-counter,align=unknown,count=all", false},
	{"a sliding window counter that the first request opens and that counts denied requests too",
		"sliding-window-counter,align=first,count=all", true},
	{"a token bucket that charges denied requests too", "token-bucket,burst=1,count=all", true},
	{"a sliding window log that counts denied requests too", "sliding-window-log,count=all", false},
	{"a fixed window that every admitted request starts anew",
		"fixed-window,align=first,refresh=admitted", false},
	{"a fixed window that every request starts anew", "fixed-window,align=first,refresh=all", true},
}

const simple = 4

// Kinds returns the usual kinds, the most usual first. Counters of all roundings are one kind.
func Kinds() (out []*Kind) {
	for _, row := range usualKinds {
		p, err := spec.Parse(row.form + ",rate=1/1s")
		if err != nil {
			panic(err)
		}
		k := &Kind{Class: []spec.Algorithm{p[0].Algorithm}, Text: row.text, Base: p[0],
			Paced: p[0].Bucketed(), Searched: row.searched}
		if k.Base.Rate, k.Base.Burst = (spec.Rate{}), 0; k.Paced {
			k.Class = BucketClass
		}
		for _, r := range []spec.Rounding{spec.RoundNone, spec.RoundNearest, spec.RoundUp} {
			part := *k
			part.Parts = nil
			if part.Base.Rounding = r; r != spec.RoundNone {
				part.Text += ", rounding " + string(r)
			}
			if k.Base.Weighs() {
				k.Parts = append(k.Parts, &part)
			}
		}
		out = append(out, k)
	}
	return out
}

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
	n := time.Duration(b.Q1)
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
	units := time.Duration(b.Q1)
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
