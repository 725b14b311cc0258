package headers

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

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
