package headers

import (
	"net/textproto"
	"slices"
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
	// Key is the partition key (pk) as bytes; "" if none is stated.
	Key string
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
		r.threeFields(&families[i])
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
	for _, c := range families {
		for _, part := range []string{"Limit", "Remaining", "Reset"} {
			out[c.field(part)] = textproto.CanonicalMIMEHeaderKey(c.field(part))
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
