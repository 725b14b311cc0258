package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Seconds prints an instant or a span of a recording as in 0.930 s; below 10 ms with microseconds.
func Seconds(d time.Duration) string {
	if d != 0 && d.Abs() < 10*time.Millisecond {
		return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) + " s"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s"
}

// Instant prints an instant of a recording as seconds does, one far from it as in -17d16h52m15.3s.
func Instant(d time.Duration) string {
	const day = 24 * time.Hour
	switch a := d.Abs(); {
	case a < 2*time.Minute:
		return Seconds(d)
	case a < day:
		return d.Round(time.Millisecond).String()
	default:
		days := int64(d / day)
		return strconv.FormatInt(days, 10) + "d" +
			(d - time.Duration(days)*day).Abs().Round(time.Millisecond).String()
	}
}

// Brief prints a duration with three digits and the unit that suits it: 181 µs, 1.20 ms, 41.2 s, 12m05s.
func Brief(d time.Duration) string {
	switch a := d.Abs(); {
	case a < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case a < time.Millisecond:
		return digits(float64(d)/1e3) + " µs"
	case a < time.Second:
		return digits(float64(d)/1e6) + " ms"
	case a < 2*time.Minute:
		return digits(d.Seconds()) + " s"
	default:
		return d.Round(time.Second).String()
	}
}

// Short prints a duration without zero parts: 10m, not 10m0s.
func Short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Rough prints a duration for a reader: to an hour from two days on, to a minute from an hour on, to
// 10 ms from a second on, to 10 µs from 10 ms on, and exactly below.
func Rough(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		d = d.Round(time.Hour)
		days, hours := d/day, d%day/time.Hour
		if hours == 0 {
			return fmt.Sprintf("%dd", days)
		}
		return fmt.Sprintf("%dd%dh", days, hours)
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	}
	return Short(d)
}

// Millis prints a duration in milliseconds with three digits and no unit, for a column whose head names it.
func Millis(d time.Duration) string { return digits(float64(d) / 1e6) }

// digits prints x with at least three significant digits and never an exponent: 0.181, 1.20, 12.3, 1234.
func digits(x float64) string {
	places := 0
	switch a := math.Abs(x); {
	case a == 0 || a >= 99.95:
	case a >= 9.995:
		places = 1
	case a >= 0.9995:
		places = 2
	default:
		places = 3
	}
	return strconv.FormatFloat(x, 'f', places, 64)
}

// Thousands prints n with a comma every three digits.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	digits := strings.TrimPrefix(s, "-")
	out := ""
	for len(digits) > 3 {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return strings.TrimSuffix(s, strings.TrimPrefix(s, "-")) + digits + out
}

// Plural prints n with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Words returns the words of a type of their own as texts.
func Words[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return out
}

// OneOf prints words as alternatives: a, b or c.
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// PerSecond prints a rate with up to two decimals, rounded outwards so that the printed interval holds the
// measured one.
func PerSecond(x float64, up bool) string {
	places := 2
	switch {
	case x >= 10000:
		places = 0
	case x >= 50:
		places = 1
	case x < 1:
		places = 4
	}
	return outward(x, up, places)
}

// Whole prints a number of units, which is whole but for a judge that measures by halves.
func Whole(x float64, up bool) string { return outward(x, up, 2) }

// outward rounds x to places decimals, upwards or downwards but for the last bits of a float, without
// trailing zeros.
func outward(x float64, up bool, places int) string {
	scale := math.Pow10(places)
	y := math.Floor(x*scale + 1e-6)
	if up {
		y = math.Ceil(x*scale - 1e-6)
	}
	if y == 0 {
		y = 0 // not -0, which is as large and looks like less
	}
	s := strconv.FormatFloat(y/scale, 'f', places, 64)
	if places > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
