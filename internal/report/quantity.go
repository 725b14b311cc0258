package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// seconds prints an instant or a span of a recording as in 0.930 s; below 10 ms with microseconds.
func seconds(d time.Duration) string {
	if d != 0 && d.Abs() < 10*time.Millisecond {
		return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) + " s"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s"
}

// instant prints an instant of a recording as seconds does, one far from it as in -17d16h52m15.3s.
func instant(d time.Duration) string {
	const day = 24 * time.Hour
	switch a := d.Abs(); {
	case a < 2*time.Minute:
		return seconds(d)
	case a < day:
		return d.Round(time.Millisecond).String()
	default:
		days := int64(d / day)
		return strconv.FormatInt(days, 10) + "d" + (d - time.Duration(days)*day).Abs().Round(time.Millisecond).String()
	}
}

// brief prints a duration with three digits and the unit that suits it: 181 µs, 1.20 ms, 41.2 s, 12m05s.
func brief(d time.Duration) string {
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

// millis prints a duration in milliseconds with three digits and no unit, for a column whose head names it.
func millis(d time.Duration) string { return digits(float64(d) / 1e6) }

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

// thousands prints n with a comma every three digits.
func thousands(n int) string {
	s := strconv.Itoa(n)
	digits := strings.TrimPrefix(s, "-")
	out := ""
	for len(digits) > 3 {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return strings.TrimSuffix(s, strings.TrimPrefix(s, "-")) + digits + out
}

// plural prints n with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// finiteEnds is v with its infinite ends open.
func finiteEnds(v verdict.Interval) verdict.Interval {
	v.LoSet = v.LoSet && finite(v.Lo) == v.Lo
	v.HiSet = v.HiSet && finite(v.Hi) == v.Hi
	return v
}

// perSecond prints a rate with up to two decimals, rounded outwards so that the printed interval holds the measured one.
func perSecond(x float64, up bool) string {
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

// wholeText prints a number of units, which is whole but for a judge that measures by halves.
func wholeText(x float64, up bool) string { return outward(x, up, 2) }

// outward rounds x to places decimals, upwards or downwards but for the last bits of a float, without trailing zeros.
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

// countsText prints the numbers that must add up, as two equations; one that does not hold shows it.
func countsText(c timeline.Counts) string {
	planned := fmt.Sprintf("%s planned %s %s sent + %s unsent", thousands(c.Planned), equals(c.Planned == c.Sent+c.Unsent),
		thousands(c.Sent), thousands(c.Unsent))
	sent := fmt.Sprintf("%s sent %s %s allowed + %s denied + %s unknown", thousands(c.Sent),
		equals(c.Sent == c.Allowed+c.Denied+c.Unknown), thousands(c.Allowed), thousands(c.Denied), thousands(c.Unknown))
	return planned + "; " + sent
}

func equals(holds bool) string {
	if holds {
		return "="
	}
	return "!="
}

// sum adds up the counts of all scenarios.
func (r *Run) sum() (c timeline.Counts) {
	for i := range r.Scenarios {
		s := r.Scenarios[i].Counts
		c.Planned += s.Planned
		c.Sent += s.Sent
		c.Unsent += s.Unsent
		c.Allowed += s.Allowed
		c.Denied += s.Denied
		c.Unknown += s.Unknown
	}
	return c
}

// limitText prints the declared limit of s as a SPEC; empty where none is declared.
func limitText(s *Scenario) string {
	if len(s.Limit) == 0 {
		return ""
	}
	return plain(s.Limit.String())
}
