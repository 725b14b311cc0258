// Package headers parses the header fields of rate limiters: Retry-After, RateLimit, RateLimit-Policy, the
// fields of earlier drafts and those of convention. It parses strictly, names the rule that a value breaks,
// and reads no clock.
package headers

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// RetryAfter is the value of a Retry-After field (RFC 9110 section 10.2.3).
type RetryAfter struct {
	// Seconds is the wait of the seconds form, at least 0.
	Seconds int64
	// Date is the instant of the date form, in UTC, whole seconds.
	Date time.Time
	// IsDate tells whether the value has the date form instead of the seconds form.
	IsDate bool
	// Obsolete tells that the date has the RFC 850 or asctime form. A recipient must read these forms, but
	// nobody may send them.
	Obsolete bool
	// raw is the value as it arrived.
	raw string
}

// ParseRetryAfter parses a Retry-After value: digits, or an HTTP-date in one of its three forms. It ignores
// white space around the value. Errors are a *Problem with rule RA-SYNTAX, or RA-SINGLE if several values
// were joined to one.
func ParseRetryAfter(value string) (RetryAfter, error) {
	s := trim(value)
	bad := func(rule Rule, why, mend string) (RetryAfter, error) {
		return RetryAfter{}, &Problem{Rule: rule, Field: "Retry-After", Value: value, Why: why, Mend: mend}
	}
	if allDigits(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return bad(RASyntax, "the seconds overflow: more than 9223372036854775807", "")
		}
		return RetryAfter{Seconds: n, raw: value}, nil
	}
	if isList(s) {
		return bad(RASingle, "Retry-After is a single value, not a list", "send the field once")
	}
	if why, mend := notSeconds(s); why != "" {
		return bad(RASyntax, why, mend)
	}
	t, obsolete, why, mend := httpDate(s)
	if why != "" {
		if mend == "" && !looksLikeDate(s) {
			why = "a wait is digits only, in seconds, or a date like \"" + exampleDate + "\""
		}
		return bad(RASyntax, why, mend)
	}
	return RetryAfter{Date: t, IsDate: true, Obsolete: obsolete, raw: value}, nil
}

// Wait returns how long to wait from the moment the answer was generated. For the date form it counts from
// date, the Date of the same answer. It is never negative: a date that is past is no wait (see Past). Waits
// over 292 years, which a time.Duration cannot hold, become the largest time.Duration.
func (r RetryAfter) Wait(date time.Time) time.Duration {
	if r.IsDate {
		return max(0, r.Date.Sub(date))
	}
	if r.Seconds > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	return time.Duration(r.Seconds) * time.Second
}

// Past tells whether r is a date before date. Wait is 0 then.
func (r RetryAfter) Past(date time.Time) bool { return r.IsDate && r.Date.Before(date) }

// Check returns the rule that a readable value breaks, as a *Problem: RA-IMF for a date in an obsolete form.
// It returns nil for all other values.
func (r RetryAfter) Check() error {
	if !r.Obsolete {
		return nil
	}
	return obsoleteDate("Retry-After", r.raw, r.Date)
}

// MillisecondWait returns the wait in milliseconds that the clients of OpenAI and of Azure read, with its
// field and value. ok=false: there is none that can be read. get is that of Quotas.
func MillisecondWait(get func(name string) (string, bool)) (field, value string, wait time.Duration,
	ok bool) {
	for _, field := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		value, _ := get(field)
		if !isNumber(trim(value)) {
			continue
		}
		x, read := new(big.Rat).SetString(trim(value))
		if read && x.Cmp(big.NewRat(math.MaxInt32, 1)) < 0 {
			return field, value, time.Duration(scaled(x, time.Millisecond)), true
		}
	}
	return "", "", 0, false
}

// isList tells whether s is several values joined by commas. A single date has at most one comma.
func isList(s string) bool {
	if strings.Contains(s, "GMT,") || strings.Contains(s, ",,") {
		return true
	}
	for part := range strings.SplitSeq(s, ",") {
		if part = trim(part); strings.Contains(s, ",") && (part == "" || allDigits(part)) {
			return true
		}
	}
	return false
}

// notSeconds says what is wrong with a number that is not digits only. It returns "" for anything that is not
// a number.
func notSeconds(s string) (why, mend string) {
	number := strings.TrimLeft(s, "+-")
	unit := strings.TrimLeft(number, "0123456789.")
	digits := strings.TrimSuffix(number, unit)
	switch {
	case s == "":
		return "the value is empty", "leave the field out, or write a wait in seconds"
	case digits == "" || strings.ContainsAny(unit, ":-/") || strings.Contains(unit, " GMT"):
		return "", ""
	case number != s && strings.HasPrefix(s, "-"):
		return "a wait may not be negative", "write \"0\", or leave the field out"
	case number != s:
		return "a wait has no sign", "write " + quote(digits)
	case strings.ContainsAny(unit, "0123456789"):
		return "a wait is digits only, with nothing between them", ""
	case unit != "":
		return "a wait is in seconds, without a unit", ""
	default:
		return "a wait is a whole number of seconds", roundedUp(digits)
	}
}

// roundedUp returns the mend for seconds with a fraction: the next whole number.
func roundedUp(digits string) string {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f > 1e15 {
		return ""
	}
	return "round up: write \"" + strconv.FormatInt(int64(math.Ceil(f)), 10) + "\""
}

// looksLikeDate tells whether s was meant as a date: it has a time of day.
func looksLikeDate(s string) bool { return strings.Count(s, ":") >= 2 }
