package headers

import (
	"math"
	"math/big"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// Dialect is a way of stating a quota in header fields.
type Dialect string

// The dialects. The drafts are revisions of draft-ietf-httpapi-ratelimit-headers.
const (
	// XRateLimit: X-RateLimit-Limit, -Remaining, -Reset, or other such names of families; no standard.
	XRateLimit Dialect = "x-ratelimit"
	// Draft00: RateLimit-Limit, -Remaining, -Reset of the drafts 00 to 06.
	Draft00 Dialect = "ratelimit-00-06"
	// Draft07: RateLimit: limit=100, remaining=50, reset=5.
	Draft07 Dialect = "ratelimit-07"
	// Draft08: RateLimit: "name";r=50;t=5 and RateLimit-Policy: "name";q=100;w=60 of the drafts from 08 on.
	Draft08 Dialect = "ratelimit-08"
	// PolicyByNumber: RateLimit-Policy: 100;w=60 of the drafts 04 to 07. Only NumericPolicies returns it.
	// Beside another dialect of these drafts, Quotas takes only the window from it. XPolicy: the same in
	// X-RateLimit-Policy, which no draft has.
	PolicyByNumber Dialect = "ratelimit-policy"
	XPolicy        Dialect = "x-ratelimit-policy"
)

// Form is how a reset is written.
type Form string

// The forms of a reset. The zero value means that there is none.
const (
	Delta     Form = "delta-seconds"
	EpochS    Form = "epoch-seconds"
	EpochMS   Form = "epoch-milliseconds"
	EpochUS   Form = "epoch-microseconds"
	EpochNS   Form = "epoch-nanoseconds"
	HTTPDate  Form = "http-date"
	OtherDate Form = "other-date"
	// Spelled is a time from now with units, as Go writes it: 6m0s, 3.9s, 12ms.
	Spelled Form = "duration"
)

// Relative tells whether a reset of the form counts from its answer, and not from a clock.
func (f Form) Relative() bool { return f == Delta || f == Spelled }

// Quota is what an answer says about one quota. At least one of HasLimit, HasRemaining, HasReset and
// Unlimited is set, or Form says how a reset was written that has no Date to count from.
type Quota struct {
	Dialect Dialect
	// Name is the name of the policy; "" if the dialect has none.
	Name string
	// Limit and Remaining are in quota units, at least 0.
	Limit, Remaining       int64
	HasLimit, HasRemaining bool
	// Unlimited: the answer says with -1 that this quota limits nothing here.
	Unlimited bool
	// Units are what is counted: "" for requests, or "tokens", or the qu of a policy.
	Units string
	// Reset is the time from the date given to Quotas to the announced reset. It is negative if that is past.
	Reset    time.Duration
	HasReset bool
	// ResetAt is the announced instant of an absolute form, in UTC. It is the zero time for Delta.
	ResetAt time.Time
	// Form is how the reset is written. Unit is the step of that notation.
	Form Form
	Unit time.Duration
	// Window is the length of the policy's window; 0 if none is stated.
	Window time.Duration
}

// Quotas returns what an answer says about its quotas, and what is wrong with the fields. The quotas are in
// the order of the dialects above, then of the items in a list. get returns the value of a field by its
// canonical name (http.CanonicalHeaderKey), with repeated lines joined by ", ". date is the Date of the
// answer, from which absolute resets count. If it is the zero time, they have ResetAt but no Reset. A value
// that cannot be read gives a problem and no quota. Both results may be empty.
func Quotas(get func(name string) (string, bool), date time.Time) ([]Quota, []Problem) {
	r := reader{get: get, date: date}
	for i := range families {
		r.threeFields(&families[i], familyFields[i])
	}
	r.structured()
	return r.quotas, r.problems
}

// NumericPolicies returns the policies by number in RateLimit-Policy and X-RateLimit-Policy, in their order.
// It is empty if the fields have names or cannot be read. get is that of Quotas.
func NumericPolicies(get func(name string) (string, bool)) []Quota {
	r := reader{get: get}
	var out []Quota
	for _, field := range [...]struct {
		name    string
		dialect Dialect
	}{{"RateLimit-Policy", PolicyByNumber}, {"X-RateLimit-Policy", XPolicy}} {
		v, ok := r.value(field.name)
		if !ok {
			continue
		}
		for _, q := range r.policies(v) {
			if q.Dialect == Draft07 && q.HasLimit {
				q.Dialect = field.dialect
				out = append(out, q)
			}
		}
	}
	return out
}

// reader collects what the fields of one answer say.
type reader struct {
	get      func(name string) (string, bool)
	date     time.Time
	quotas   []Quota
	problems []Problem
}

// value returns the trimmed value of a field, and whether the answer has it.
func (r *reader) value(name string) (string, bool) {
	key, ok := keys[name]
	if !ok {
		key = textproto.CanonicalMIMEHeaderKey(name)
	}
	v, ok := r.get(key)
	return trim(v), ok
}

// keys has the canonical names of most fields that every answer is asked for.
var keys = func() map[string]string {
	out := map[string]string{}
	for _, names := range familyFields {
		for _, name := range names {
			out[name] = textproto.CanonicalMIMEHeaderKey(name)
		}
	}
	return out
}()

// bad adds a problem, unless the same field has broken the same rule already.
func (r *reader) bad(rule Rule, field, value, why, mend string) {
	same := func(p Problem) bool { return p.Rule == rule && p.Field == field }
	if slices.ContainsFunc(r.problems, same) {
		return
	}
	r.problems = append(r.problems, Problem{Rule: rule, Field: field, Value: value, Why: why, Mend: mend})
}

// add keeps q if it says anything.
func (r *reader) add(q Quota) {
	if q.HasLimit || q.HasRemaining || q.HasReset || q.Unlimited || q.Form != "" {
		r.quotas = append(r.quotas, q)
	}
}

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
