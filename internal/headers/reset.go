package headers

import (
	"math"
	"math/big"
	"strings"
	"time"
)

// A number below epochFrom is seconds from now: as a wait that is 3 years, as a Unix time 1973. Above it, the
// magnitude shows the unit of a Unix time. Milliseconds begin at 1e11 (year 5138 in seconds, 1973 in
// milliseconds), and so on.
const (
	epochFrom   = 100_000_000
	epochMSFrom = 100_000_000_000
	epochUSFrom = 100_000_000_000_000
	epochNSFrom = 100_000_000_000_000_000
)

// reset is a reset as it was written.
type reset struct {
	form Form
	unit time.Duration
	// delta is the time from the answer, for Delta and Spelled. at is the instant, for the other forms.
	delta time.Duration
	at    time.Time
	// fraction tells that the number has a decimal point.
	fraction bool
}

// ReadReset reads a reset that stands outside of a field, such as in a body, in the way of Quotas. It sets
// Form, Unit, Reset and ResetAt. ok is false if the value cannot be read.
func ReadReset(value string, date time.Time) (q Quota, ok bool) {
	x, why := parseReset(trim(value))
	if why != "" {
		return Quota{}, false
	}
	r := reader{date: date}
	r.setReset(&q, x)
	return q, true
}

// parseReset reads a reset in any form that products send. why is "" if it could be read.
func parseReset(s string) (r reset, why string) {
	switch {
	case s == "":
		return r, "the value is empty"
	case strings.HasPrefix(s, "-") && isNumber(s[1:]):
		return r, "a reset may not be negative"
	case isNumber(s):
		return numericReset(s)
	}
	if t, _, bad, _ := httpDate(s); bad == "" {
		return reset{form: HTTPDate, unit: time.Second, at: t}, ""
	}
	if t, ok := otherDate(s); ok {
		unit := time.Second
		if t.Nanosecond() != 0 {
			unit = time.Millisecond
		}
		return reset{form: OtherDate, unit: unit, at: t}, ""
	}
	if d, err := time.ParseDuration(s); err == nil {
		if d < 0 {
			return r, "a reset may not be negative"
		}
		return reset{form: Spelled, unit: smallestUnit(s), delta: d}, ""
	}
	return r, "a reset is a number of seconds or a date"
}

// smallestUnit returns the step of a duration that is spelled out: 3.9s counts milliseconds.
func smallestUnit(s string) time.Duration {
	switch {
	case strings.ContainsAny(s, "nuµμ"):
		return time.Microsecond
	case strings.Contains(s, "ms"), strings.Contains(s, "."):
		return time.Millisecond
	default:
		return time.Second
	}
}

// numericReset reads digits, or digits with a fraction, and takes the unit from the magnitude.
func numericReset(s string) (r reset, why string) {
	x, ok := new(big.Rat).SetString(s)
	if !ok || x.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0 {
		return r, "the number overflows"
	}
	r.fraction = !x.IsInt() || strings.Contains(s, ".")
	whole := new(big.Int).Quo(x.Num(), x.Denom()).Int64()
	switch {
	case whole < epochFrom:
		r.form, r.unit = Delta, time.Second
		r.delta = time.Duration(scaled(x, time.Second))
	case whole < epochMSFrom:
		r.form, r.unit = EpochS, time.Second
		r.at = time.Unix(whole, scaled(fractionOf(x, whole), time.Second)).UTC()
	case whole < epochUSFrom:
		r.form, r.unit, r.at = EpochMS, time.Millisecond, time.UnixMilli(whole).UTC()
	case whole < epochNSFrom:
		r.form, r.unit, r.at = EpochUS, time.Microsecond, time.UnixMicro(whole).UTC()
	default:
		r.form, r.unit, r.at = EpochNS, time.Nanosecond, time.Unix(0, whole).UTC()
	}
	if r.fraction {
		r.unit = min(r.unit, time.Millisecond)
	}
	return r, ""
}

// scaled returns x units in nanoseconds, rounded towards zero.
func scaled(x *big.Rat, unit time.Duration) int64 {
	y := new(big.Rat).Mul(x, new(big.Rat).SetInt64(int64(unit)))
	return new(big.Int).Quo(y.Num(), y.Denom()).Int64()
}

// fractionOf returns what x is above whole.
func fractionOf(x *big.Rat, whole int64) *big.Rat {
	return new(big.Rat).Sub(x, new(big.Rat).SetInt64(whole))
}

// isNumber tells whether s is digits, or digits, a point and digits, and at most 64 bytes long.
func isNumber(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return len(s) <= 64 && allDigits(whole) && (!point || allDigits(fraction))
}

// setReset stores a reset in q, counted from the date of the answer.
func (r *reader) setReset(q *Quota, x reset) {
	q.Form, q.Unit = x.form, x.unit
	if x.form.Relative() {
		q.Reset, q.HasReset = x.delta, true
		return
	}
	q.ResetAt = x.at
	if !r.date.IsZero() {
		q.Reset, q.HasReset = x.at.Sub(r.date), true
	}
}
