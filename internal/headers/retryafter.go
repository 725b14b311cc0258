// Package headers parses the header fields of rate limiters: Retry-After, RateLimit, RateLimit-Policy, the
// fields of earlier drafts and those of convention. It parses strictly, names the rule that a value breaks,
// and reads no clock.
package headers

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
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
	m := Meaning{Wait: ra.Wait(now)}
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

// Wait is a wait that a denial states.
type Wait struct {
	// Field is the name of its field, or of the member of a body. Value is the value as it was sent.
	Field, Value string
	// For is its length, never negative. It is the largest duration if that cannot hold the wait.
	For time.Duration
	// IsDate: it is a date, which counts from the Date of the answer in whole seconds.
	IsDate bool
	// Unit is the step of the notation.
	Unit time.Duration
	// Loose: its number has no unit, and may count milliseconds.
	Loose bool
	// Slack is by how much later a reset may mean, which may be cut. 0: it is no reset.
	Slack time.Duration
}

// Waits returns the waits that a denial states: that of Retry-After, one in milliseconds, and that of a
// google.rpc.RetryInfo in its body, which has a unit. A number without a unit in the body counts if nothing
// else states a wait. It may be empty. get is that of Quotas. date is the Date of the answer: without one, a
// date states no wait.
func Waits(get func(name string) (string, bool), body string, date time.Time) (out []Wait) {
	if w, ok := StatedWait(get, date); ok {
		out = append(out, w)
	}
	if field, value, w, ok := MillisecondWait(get); ok {
		out = append(out, Wait{Field: field, Value: value, For: w, Unit: millisecondStep(w)})
	}
	members, stated := Members(body), len(out)
	for _, name := range BodyWaits {
		m, has := members[name]
		s, ok := m.Number()
		if !has || !m.Spelled() && stated > 0 || !ok || s < 0 || s >= 1e9 {
			continue
		}
		w := Wait{Field: m.Name, Value: m.Value, For: time.Duration(s * float64(time.Second)),
			Unit: time.Second, Loose: !m.InSeconds()}
		if m.unit() == time.Millisecond {
			w.Unit = millisecondStep(w.For)
		}
		out = append(out, w)
	}
	return out
}

// millisecondStep returns the step of a wait in milliseconds. Whole seconds may be rounded up.
func millisecondStep(w time.Duration) time.Duration {
	if w%time.Second == 0 {
		return time.Second
	}
	return time.Millisecond
}

// StatedWait returns the wait of a valid Retry-After, if there is one.
func StatedWait(get func(name string) (string, bool), date time.Time) (Wait, bool) {
	v, ok := get("Retry-After")
	if !ok {
		return Wait{}, false
	}
	ra, err := ParseRetryAfter(v)
	if err != nil || ra.IsDate && date.IsZero() {
		return Wait{}, false
	}
	return Wait{Field: "Retry-After", Value: v, For: ra.Wait(date), IsDate: ra.IsDate,
		Unit: time.Second}, true
}

// String prints Retry-After: 1, or for a date the wait that it means.
func (w Wait) String() string {
	if w.IsDate {
		return fmt.Sprintf("%s: %s, %d.000 s after its Date", w.Field, text.Quote(w.Value), w.For/time.Second)
	}
	return w.Field + ": " + w.Value
}

// Layouts of the three forms of an HTTP-date (RFC 9110 section 5.6.7). The zone is the letters GMT, or
// absent.
const (
	imfFixdate = http.TimeFormat
	rfc850     = "Monday, 02-Jan-06 15:04:05 GMT"
	asctime    = time.ANSIC
)

// ParseDate parses an HTTP-date in one of its three forms (RFC 9110 section 5.6.7: IMF-fixdate, RFC 850,
// asctime). It is strict: two-digit day and hour, the right weekday, the zone GMT. The result is in UTC.
// Two-digit years from 69 on belong to the 20th century. Errors are a *Problem with rule ST-DATE.
func ParseDate(value string) (time.Time, error) {
	t, _, why, mend := httpDate(trim(value))
	if why != "" {
		return time.Time{}, &Problem{Rule: DateSyntax, Field: "Date", Value: value, Why: why, Mend: mend}
	}
	return t, nil
}

// CheckDate returns the rule that a Date value breaks, as a *Problem; nil if it breaks none. ST-DATE means
// that it is not a date. RA-IMF means an obsolete form, which must be read but may not be sent.
func CheckDate(value string) error {
	t, obsolete, why, mend := httpDate(trim(value))
	switch {
	case why != "":
		return &Problem{Rule: DateSyntax, Field: "Date", Value: value, Why: why, Mend: mend}
	case obsolete:
		return obsoleteDate("Date", value, t)
	default:
		return nil
	}
}

// obsoleteDate returns the problem of a date in a form that no sender may use.
func obsoleteDate(field, value string, t time.Time) *Problem {
	return &Problem{Rule: RAIMF, Field: field, Value: value,
		Why:  "this form of a date is obsolete, and no sender may use it",
		Mend: "write " + text.Quote(t.Format(imfFixdate))}
}

// httpDate parses s and tells whether its form is obsolete. why is "" for a valid date, else the rule that is
// broken. mend is what to write instead; it may be "".
func httpDate(s string) (t time.Time, obsolete bool, why, mend string) {
	if !strings.HasSuffix(s, "GMT") && !isAsctime(s) {
		if t, ok := otherDate(s); ok {
			return t, false, "a date is an IMF-fixdate in GMT, in no other notation",
				"write " + text.Quote(t.Format(imfFixdate))
		}
		return time.Time{}, false, "a date looks like \"" + exampleDate + "\"", ""
	}
	leap := time.Duration(0)
	plain := s
	if strings.Contains(s, " 23:59:60 ") {
		plain, leap = strings.Replace(s, " 23:59:60 ", " 23:59:59 ", 1), time.Second
	}
	for _, layout := range []string{imfFixdate, rfc850, asctime} {
		t, err := time.Parse(layout, plain)
		if outOfRange(err) {
			return time.Time{}, false, "there is no such day or time", ""
		}
		if err != nil {
			continue
		}
		t = t.UTC()
		switch want := t.Format(layout); {
		case want == plain:
			return t.Add(leap), layout != imfFixdate, "", ""
		case weekday(want) != weekday(plain) && isWeekday(weekday(plain)):
			return time.Time{}, false, "that day is a " + t.Weekday().String(),
				"write " + text.Quote(t.Format(imfFixdate))
		default:
			return time.Time{}, false,
				"day, hour, minute and second have two digits and names begin with one capital",
				"write " + text.Quote(t.Format(imfFixdate))
		}
	}
	return time.Time{}, false, "a date looks like \"" + exampleDate + "\"", ""
}

const exampleDate = "Fri, 20 Nov 2026 09:55:29 GMT"

// outOfRange tells whether err is about a text of the right form that names no day or time of the calendar.
func outOfRange(err error) bool {
	var p *time.ParseError
	return errors.As(err, &p) && strings.Contains(p.Message, "out of range")
}

// isAsctime tells whether s ends like the asctime form: with a year and without a zone ("... 09:55:29 2026").
func isAsctime(s string) bool {
	i := strings.LastIndexByte(s, ' ')
	return i > 0 && len(s)-i == 5 && allDigits(s[i+1:]) && strings.Count(s, ":") == 2 &&
		!strings.Contains(s, ",")
}

// weekday returns the first word of a parsed date, without its comma.
func weekday(s string) string { return s[:max(0, strings.IndexAny(s, ", "))] }

// isWeekday tells whether s is the English name of a day, whole or cut to three letters, in the usual
// spelling.
func isWeekday(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if s == d.String() || s == d.String()[:3] {
			return true
		}
	}
	return false
}

// otherDate reads notations that products send instead of an HTTP-date: RFC 1123 with a numeric zone or UTC,
// and ISO 8601 (RFC 3339).
func otherDate(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC1123Z, time.RFC3339, "Mon, 02 Jan 2006 15:04:05 UTC",
		"2006-01-02 15:04:05 UTC"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// trim removes the optional white space around a field value, which does not belong to it (RFC 9110 section
// 5.5).
func trim(s string) string { return strings.Trim(s, " \t") }

// allDigits tells whether s consists of at least one digit and nothing else.
func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
