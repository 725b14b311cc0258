// Package headers parses the header fields of rate limiters: Retry-After, RateLimit, RateLimit-Policy, the
// fields of earlier drafts and those of convention. It parses strictly, names the rule that a value breaks,
// and reads no clock.
package headers

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
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
		return "a wait has no sign", "write " + text.Quote(digits)
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

// Meaning is what a Retry-After value means to a client that receives it now.
type Meaning struct {
	RetryAfter RetryAfter
	// Wait is how long the client ought to wait, at least 0. At is when it may come back, in UTC. The largest
	// time.Duration stands for all longer waits.
	Wait time.Duration
	At   time.Time
	// Notes are sentences about what is readable but looks wrong; may be empty.
	Notes []string
}

// String writes the wait and the time in one line, and each note in its own line.
func (m Meaning) String() string {
	var b strings.Builder
	b.WriteString("wait " + spell(m.Wait))
	if m.Wait < math.MaxInt64 {
		b.WriteString(", until " + m.At.Format(imfFixdate))
	}
	for _, n := range m.Notes {
		b.WriteString("\nnote: ")
		b.WriteString(n)
	}
	return b.String()
}

// Explain says what a Retry-After value means at now, which stands for the Date of the answer. Errors are
// those of ParseRetryAfter.
func Explain(value string, now time.Time) (Meaning, error) {
	ra, err := ParseRetryAfter(value)
	if err != nil {
		return Meaning{}, err
	}
	m := Meaning{RetryAfter: ra, Wait: ra.Wait(now)}
	m.At = now.Add(m.Wait).UTC()
	if ra.IsDate {
		m.At = ra.Date
	}
	if p, ok := errors.AsType[*Problem](ra.Check()); ok {
		m.Notes = append(m.Notes, p.Why+" ("+p.Mend+")")
	}
	if ra.Past(now) {
		m.Notes = append(m.Notes, "the date is past by "+spell(now.Sub(ra.Date))+
			": a client may come back at once")
	}
	if note := suspicious(ra); note != "" {
		m.Notes = append(m.Notes, note)
	}
	return m, nil
}

// suspicious says what a number of seconds may have been meant for; "" if it is plausible.
func suspicious(ra RetryAfter) string {
	n := ra.Seconds
	switch {
	case ra.IsDate:
		return ""
	case n == 0:
		return "0 s says that the client may come back at once"
	case n >= epochFrom:
		x, why := numericReset(strconv.FormatInt(n, 10))
		if why != "" {
			return ""
		}
		return fmt.Sprintf("as %s this would be %s, but Retry-After counts seconds from now", x.form,
			x.at.Format(imfFixdate))
	case n > int64(24*time.Hour/time.Second) || n >= 10_000 && n%1000 == 0:
		return fmt.Sprintf("if milliseconds were meant, the wait is %s: write \"%d\"",
			spell(time.Duration(n)*time.Millisecond), (n+999)/1000)
	default:
		return ""
	}
}

// spell writes a duration of at least 0 with its two largest units: 2 d 3 h, 1 min 0 s, 0.5 s. The largest
// time.Duration is "more than 292 years".
func spell(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case d == math.MaxInt64:
		return "more than 292 years"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%d d %d h", s/86400, s/3600%24)
	}
}
