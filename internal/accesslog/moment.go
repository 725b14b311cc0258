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
// nanoseconds since the epoch, which it tells by their size. unzoned: it has no zone, and is in the given one.
func instant(b []byte, zone *time.Location) (m moment, unzoned, ok bool) {
	const milliseconds, microseconds, nanoseconds = 12, 15, 18 // digits of the present, less one
	b = bytes.TrimSuffix(bytes.TrimPrefix(b, []byte("[")), []byte("]"))
	whole := 0
	for whole < len(b) && b[whole] >= '0' && b[whole] <= '9' {
		whole++
	}
	if whole < len(b) && b[whole] != '.' {
		for _, zone := range []*time.Location{nil, zone} {
			if m, ok = iso(b, zone); !ok {
				m, ok = commonLog(b, zone)
			}
			if ok {
				return m, zone != nil, true
			}
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

// iso reads a time as in ISO 8601: 2006-01-02T15:04:05.999Z, with or without a fraction, or with an offset
// +01:00 or +0100. A time without a zone (also 2006/01/02 15:04:05) is in the zone local, if that is not nil.
func iso(b []byte, local *time.Location) (moment, bool) {
	if len(b) < 19 || b[4] != b[7] || b[4] != '-' && b[4] != '/' || b[10] != 'T' && b[10] != ' ' ||
		b[13] != ':' || b[16] != ':' {
		return moment{}, false
	}
	year, ok1 := number(b[0:4])
	month, ok2 := number(b[5:7])
	day, ok3 := number(b[8:10])
	if !ok1 || !ok2 || !ok3 {
		return moment{}, false
	}
	m, rest, ok := clock(b[11:])
	if !ok {
		return moment{}, false
	}
	loc := local
	if len(rest) > 0 {
		if loc, ok = offset(rest); !ok {
			return moment{}, false
		}
	}
	return m.on(year, month, day, loc)
}

// commonLog reads a time as in the common log format, 10/Oct/2000:13:55:36 -0700. It may have a fraction of a
// second. It may have no zone if local is not nil.
func commonLog(b []byte, local *time.Location) (moment, bool) {
	if len(b) < 20 || b[2] != '/' || b[6] != '/' || b[11] != ':' {
		return moment{}, false
	}
	day, ok1 := number(b[0:2])
	month := monthOf(b[3:6])
	year, ok2 := number(b[7:11])
	m, rest, ok := clock(b[12:])
	if !ok1 || !ok2 || !ok || month == 0 {
		return moment{}, false
	}
	loc := local
	if len(rest) > 0 {
		if rest[0] != ' ' {
			return moment{}, false
		}
		if loc, ok = offset(rest[1:]); !ok {
			return moment{}, false
		}
	}
	return m.on(year, month, day, loc)
}

// clock reads hh:mm:ss with a fraction. It returns the time of day and the rest of the text.
func clock(b []byte) (m moment, rest []byte, ok bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' {
		return m, nil, false
	}
	hour, ok1 := number(b[0:2])
	minute, ok2 := number(b[3:5])
	sec, ok3 := number(b[6:8])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || sec > 60 {
		return m, nil, false
	}
	m = moment{int64(hour*3600+minute*60+sec) * second, second}
	rest = b[8:]
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		n := 1
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			if m.step > 1 {
				m.step /= 10
				m.ns += int64(rest[n]-'0') * m.step
			}
			n++
		}
		if n == 1 {
			return m, nil, false
		}
		rest = rest[n:]
	}
	return m, rest, true
}

// on returns a time of day on a day.
func (m moment) on(year, month, day int, loc *time.Location) (moment, bool) {
	if loc == nil {
		return m, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Day() != day || int(t.Month()) != month || year < 1970 || year > 2200 {
		return m, false
	}
	if loc != time.UTC {
		sec := int(m.ns / second)
		t = time.Date(year, time.Month(month), day, sec/3600, sec/60%60, sec%60, 0, loc)
		first, last := twice(t)
		m.ns %= second
		return moment{first.Unix()*second + m.ns, m.step + int64(last.Sub(first))}, true
	}
	return moment{t.Unix()*second + m.ns, m.step}, true
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

// offset reads Z, +hh:mm or +hhmm.
func offset(b []byte) (*time.Location, bool) {
	if len(b) == 1 && b[0] == 'Z' || string(b) == "+0000" || string(b) == "+00:00" {
		return time.UTC, true
	}
	if len(b) == 6 && b[3] == ':' {
		b = []byte{b[0], b[1], b[2], b[4], b[5]}
	}
	if len(b) != 5 || b[0] != '+' && b[0] != '-' {
		return nil, false
	}
	hour, ok1 := number(b[1:3])
	minute, ok2 := number(b[3:5])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return nil, false
	}
	east := hour*3600 + minute*60
	if b[0] == '-' {
		east = -east
	}
	return time.FixedZone("", east), true
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

func monthOf(b []byte) int {
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(months); i += 3 {
		if string(b) == months[i:i+3] {
			return i/3 + 1
		}
	}
	return 0
}
