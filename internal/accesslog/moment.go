package accesslog

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// moment is a time, or a duration, that was read, in nanoseconds. step is one step of its last digit. The
// true value lies in [ns, ns+step].
type moment struct{ ns, step int64 }

const (
	second      = int64(time.Second)
	millisecond = int64(time.Millisecond)
	microsecond = int64(time.Microsecond)
	// farthest is the largest time that is read, in the year 2200.
	farthest = int64(7_258_118_400) * second
)

// earliest is the first time whose seconds have ten digits, in the year 2001. An earlier time has lost digits
// at its beginning: it stands in the first line of a log that was cut by its size.
const earliest = 1_000_000_000 * second

// decimal reads a number of units of the given length: 1700000000.123 for a unit of a second. It is not
// negative.
func decimal(b []byte, unit int64) (moment, bool) {
	whole, fraction, _ := bytes.Cut(b, []byte("."))
	if !digits(whole) || fraction != nil && !digits(fraction) {
		return moment{}, false
	}
	var n int64
	for _, c := range whole {
		if n >= farthest/unit/10 {
			return moment{}, false
		}
		n = n*10 + int64(c-'0')
	}
	m := moment{n * unit, unit}
	for _, c := range fraction {
		if m.step == 1 {
			break // finer than a nanosecond
		}
		m.step = max(m.step/10, 1)
		m.ns += int64(c-'0') * m.step
	}
	return m, true
}

// duration reads a duration: a number of units, as a decimal or with an exponent, or text with its own units
// (8ms, 1.5s, 6m0s). It is not negative.
func duration(b []byte, unit int64) (moment, bool) {
	if m, ok := decimal(b, unit); ok {
		return m, true
	}
	if f, err := strconv.ParseFloat(string(b), 64); err == nil {
		ns := math.Ceil(f * float64(unit))
		return moment{int64(ns), 1}, f >= 0 && ns < float64(farthest)
	}
	number := bytes.TrimRight(b, "nuµms")
	for text, unit := range map[string]int64{"ns": 1, "us": microsecond, "µs": microsecond, "ms": millisecond,
		"s": second} {
		if string(b[len(number):]) == text {
			if m, ok := decimal(number, unit); ok {
				return m, true
			}
		}
	}
	d, err := time.ParseDuration(string(b))
	return moment{int64(d), 1}, err == nil && d >= 0 && int64(d) < farthest
}

// instant reads a time: as in ISO 8601 or the common log format, or seconds, milliseconds, microseconds or
// nanoseconds since the epoch, which it tells by their size. unzoned: it has none, and is in the given zone.
func instant(b []byte, zone *time.Location) (m moment, unzoned, ok bool) {
	const milliseconds, microseconds, nanoseconds = 12, 15, 18 // digits of the present, less one
	if len(b) > 1 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	whole := 0
	for whole < len(b) && b[whole] >= '0' && b[whole] <= '9' {
		whole++
	}
	if whole < len(b) && b[whole] != '.' {
		if m, unzoned, ok = calendar(b, zone); ok {
			return m, unzoned, true
		}
		if f, err := strconv.ParseFloat(string(b), 64); err == nil && f >= 0 && f < 7e9 { // 1.7e9
			return moment{int64(f * 1e9), microsecond}, false, true
		}
		return m, false, false
	}
	unit := second
	switch {
	case whole > nanoseconds:
		unit = 1
	case whole > microseconds:
		unit = microsecond
	case whole > milliseconds:
		unit = millisecond
	}
	m, ok = decimal(b, unit)
	return m, false, ok
}

// forms are the forms of a time, as in ISO 8601 and in the common log format. Those with a zone come first.
// Each may have a fraction of a second.
var forms = []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "02/Jan/2006:15:04:05 -0700",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
	"2006/01/02 15:04:05", "02/Jan/2006:15:04:05"}

// zoned is how many of the forms have a zone.
const zoned = 5

// calendar reads a time in one of the forms. unzoned: it has no zone, and is in the given one.
func calendar(b []byte, zone *time.Location) (m moment, unzoned, ok bool) {
	for i, form := range forms {
		if len(b) < len("2006-01-02T15:04:05") || b[2] == '/' != (form[2] == '/') {
			continue
		}
		t, err := time.ParseInLocation(form, string(b), zone)
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			continue
		}
		first, last := t, t
		if i >= zoned && zone != time.UTC {
			first, last = twice(t)
		}
		return moment{first.UnixNano(), step(b) + int64(last.Sub(first))}, i >= zoned, true
	}
	return m, false, false
}

// step returns one step of the last digit of the seconds in a time.
func step(b []byte) int64 {
	at := bytes.IndexAny(b, ".,")
	if at < 0 {
		return second
	}
	n := second
	for at++; at < len(b) && b[at] >= '0' && b[at] <= '9' && n > 1; at++ {
		n /= 10
	}
	return n
}

// twice returns the first and the last instant with the local time of t. They differ if the clock is set
// back, otherwise both are t.
func twice(t time.Time) (first, last time.Time) {
	const near = 12 * time.Hour // nowhere is the clock set twice within it
	first, last = t, t
	_, here := t.Zone()
	for _, other := range []time.Time{t.Add(-near), t.Add(near)} {
		_, there := other.Zone()
		if same := t.Add(time.Duration(here-there) * time.Second); same.Hour() == t.Hour() &&
			same.Minute() == t.Minute() && same.Day() == t.Day() {
			if same.Before(first) {
				first = same
			}
			if same.After(last) {
				last = same
			}
		}
	}
	return first, last
}

// number reads a few digits.
func number(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
