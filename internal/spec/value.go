package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Most is the ceiling, 2^62, of every product of two parameters of a Policy, such as a burst times a window
// in nanoseconds.
const Most = int64(1) << 62

const day = 24 * time.Hour

// ParseRate reads N/PER. N is a whole number of units, at least 1. PER is s, sec, second, m, min, minute, h,
// hour, d, day, ms or a duration such as 1m30s. N may end in r as in nginx's 10r/s. The error is a *Problem.
func ParseRate(s string) (Rate, error) {
	r, p := parseRate(s)
	if p != nil {
		return Rate{}, p
	}
	return r, nil
}

// ParseDuration reads a duration in Go's syntax. Whole days may stand in front (1d, 1d12h). A bare number and
// a sign are refused. The error is a *Problem.
func ParseDuration(s string) (time.Duration, error) {
	d, why := duration(s)
	if why == "" {
		return d, nil
	}
	p := &Problem{What: fmt.Sprintf("duration %q", s), Why: why}
	if c := durationMend(s); c != "" {
		p.Mend = fmt.Sprintf("write %q", c)
	}
	return 0, p
}

// String returns the rate in canonical form: 10/s, 100/1m, 5/1m30s, 1000/1d.
func (r Rate) String() string {
	switch r.Per {
	case time.Second:
		return strconv.FormatInt(r.N, 10) + "/s"
	case Month:
		return strconv.FormatInt(r.N, 10) + "/month"
	}
	return strconv.FormatInt(r.N, 10) + "/" + durationText(r.Per)
}

// parseRate is ParseRate with a *Problem.
func parseRate(s string) (Rate, *Problem) {
	p := &Problem{What: fmt.Sprintf("rate %q", s)}
	r, why := ratePair(s)
	if why == "" {
		return r, nil
	}
	p.Why = why
	if c := rateMend(s); c != "" {
		p.Mend = fmt.Sprintf("write %q", c)
	}
	return Rate{}, p
}

// ratePair returns the rate that s writes, or why s is none.
func ratePair(s string) (Rate, string) {
	if strings.Contains(s, "..") {
		return Rate{}, "a rate is one pair N/PER here; only a limit may have a range of them"
	}
	number, per, found := strings.Cut(s, "/")
	if !found {
		if _, why := whole(s); why == "" {
			return Rate{}, "a bare number needs a unit, a rate is N/PER"
		}
		return Rate{}, "a rate is N/PER, such as 10/s or 100/1m"
	}
	n, why := whole(strings.TrimSuffix(number, "r"))
	switch _, upside := unit(number); {
	case upside || why != "" && durationLike(number):
		return Rate{}, "the units come first, and the time after the stroke"
	case why != "" && isDigits(strings.TrimSuffix(number, "r")):
		return Rate{}, "the number of units is too large: " + why
	case why != "":
		return Rate{}, "the number of units is not a whole number: " + why
	}
	if n < 1 {
		return Rate{}, "a rate admits at least 1 unit"
	}
	d, known := unit(per)
	if !known {
		if d, why = duration(per); why != "" {
			return Rate{}, fmt.Sprintf("%q is not a window: %s", per, why)
		}
	}
	if d == 0 {
		return Rate{}, "a window is longer than nothing"
	}
	return Rate{N: n, Per: d}, ""
}

// durationLike tells whether s is a duration with a unit.
func durationLike(s string) bool {
	_, why := duration(s)
	return why == ""
}

// unit returns the window that a bare unit names.
func unit(s string) (time.Duration, bool) {
	switch s {
	case "ms":
		return time.Millisecond, true
	case "s", "sec", "second":
		return time.Second, true
	case "m", "min", "minute":
		return time.Minute, true
	case "h", "hour":
		return time.Hour, true
	case "d", "day":
		return day, true
	}
	return 0, false
}

// durationForms says what a duration looks like.
const durationForms = "a duration is such as 500ms, 10s, 1m30s or 7d"

// duration returns the duration that s writes, or why s is none.
func duration(s string) (time.Duration, string) {
	if s == "" {
		return 0, "it is empty, a duration is such as 500ms, 10s or 1m30s"
	}
	if s[0] == '-' || s[0] == '+' {
		return 0, "a duration has no sign"
	}
	if isDigits(strings.Replace(s, ".", "", 1)) {
		return 0, "a bare number needs a unit"
	}
	var days time.Duration
	rest := s
	if i := strings.IndexByte(s, 'd'); i >= 0 {
		n, why := whole(s[:i])
		switch {
		case strings.Trim(s[:i], "0123456789.,") != "": // the d of another word
			return 0, durationForms
		case why != "":
			return 0, "days are a whole number: " + why
		}
		if n > int64((1<<63-1)/day) {
			return 0, "it is longer than 106751d"
		}
		days, rest = time.Duration(n)*day, s[i+1:]
		if rest == "" {
			return days, ""
		}
		if rest[0] == '-' || rest[0] == '+' {
			return 0, "a duration has no sign"
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || rest == "0" {
		return 0, durationForms
	}
	if days+d < days {
		return 0, "it is longer than 106751d"
	}
	return days + d, ""
}

// whole returns the number that s writes in decimal digits, at most Most, or why s is none.
func whole(s string) (int64, string) {
	if !isDigits(s) {
		if s == "" {
			return 0, "it is empty"
		}
		return 0, "only the digits 0 to 9 may be used"
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > Most {
		return 0, fmt.Sprintf("it is over %d", Most)
	}
	return n, ""
}

// isDigits tells whether s is one or more decimal digits.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// durationText returns d in canonical form: without zero parts, whole days as days. d is not negative.
func durationText(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d%day == 0 && d > 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return strings.Replace(text.Short(d), "µ", "u", 1)
}

// durationMend returns a duration that the user may have meant by s, or "".
func durationMend(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), ""))
	s = strings.TrimLeft(s, "+-")
	candidates := []string{s, "1" + s, plainUnits(s), "1" + plainUnits(s)}
	if s != "" && isDigits(s[len(s)-1:]) {
		candidates = append(candidates, s+"s")
	}
	for _, c := range candidates {
		if _, why := duration(c); why == "" {
			return c
		}
	}
	return ""
}

// plainUnits replaces a unit written out at the end of s by its letter.
func plainUnits(s string) string {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	word := strings.TrimSuffix(s[len(number):], "s")
	for _, u := range []struct{ letter, word string }{
		{"ms", "millisecond"}, {"ms", "milli"}, {"ms", "msec"}, {"s", "second"}, {"s", "sec"},
		{"m", "minute"}, {"m", "min"},
		{"h", "hour"}, {"h", "hr"}, {"d", "day"}, {"us", "microsecond"}, {"ns", "nanosecond"},
	} {
		if word == u.word {
			return number + u.letter
		}
	}
	return s
}

// rateMend returns a rate that the user may have meant by s, or "".
func rateMend(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(s, " per ", "/")), ""))
	if from, rest, ok := strings.Cut(s, ".."); ok {
		_, per, _ := strings.Cut(rest, "/")
		s = from + "/" + per
	}
	number, per, found := strings.Cut(s, "/")
	if !found {
		per = "s"
	}
	if _, named := unit(number); isDigits(per) && (named || durationLike(number)) { // upside down: s/10
		number, per = per, number
	}
	number = strings.TrimRight(number, "abcdefghijklmnopqrstuvwxyz")
	if r := decimalRate(number, per); r != "" {
		return r
	}
	long := map[string]string{"week": "7d", "month": "30d", "year": "365d"}[strings.TrimSuffix(per, "s")]
	for _, c := range []string{per, durationMend(per), long} {
		if _, why := ratePair(number + "/" + c); why == "" {
			return number + "/" + c
		}
	}
	return ""
}

// decimalRate returns a decimal rate as a pair of whole numbers (1.5/s: 15/10s), or "".
func decimalRate(number, per string) string {
	units, tenths, found := strings.Cut(number, ".")
	if !found || len(tenths) > 6 || !isDigits(units+tenths) || tenths == "" {
		return ""
	}
	d, known := unit(per)
	if !known {
		d, _ = duration(per)
	}
	n, why := whole(units + tenths)
	for range tenths {
		d *= 10
	}
	if why != "" || n < 1 || d <= 0 || d > 100000*day {
		return ""
	}
	return Rate{N: n, Per: d}.String()
}
