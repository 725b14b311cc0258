package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

// PresetValue is the value of a word: a number, a time, or a rate of both. Text is the value as written.
type PresetValue struct {
	N    int64
	D    time.Duration
	Text string
}

// PresetReader reads a value, or says why it cannot and how to mend that ("" rather than a guess).
type PresetReader func(text string) (v PresetValue, why, mend string)

// readers have the readers that products.txt names.
var readers = map[string]PresetReader{
	"count": count(1), "count or 0": count(0), "anything": anything,
	"milliseconds": millis, "seconds": bareTime(time.Second, "seconds"),
	"minutes": bareTime(time.Minute, "minutes"), "span": span, "span or milliseconds": millisOrSpan,
	"rate": rate, "rates": rates, "rate or number": perSecond, "drf rate": drfRate, "ulule rate": ululeRate,
}

// count returns the reader of a whole number of at least `least`. The number may be written as a product, and
// with underscores: 15*60*1000, 60_000.
func count(least int64) PresetReader {
	return func(text string) (PresetValue, string, string) {
		n := int64(1)
		for factor := range strings.SplitSeq(text, "*") {
			f, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimSpace(factor), "_", ""), 10, 62)
			if err != nil || f > 0 && n > math.MaxInt64/2/int64(f) {
				return PresetValue{}, "the value is a whole number", ""
			}
			n *= int64(f)
		}
		if n < least {
			return PresetValue{}, fmt.Sprintf("the value is at least %d", least), ""
		}
		return PresetValue{N: n, Text: text}, "", ""
	}
}

// bareTime returns the reader of a time that the product writes as a number of units.
func bareTime(unit time.Duration, name string) PresetReader {
	return func(text string) (PresetValue, string, string) {
		v, why, _ := count(1)(text)
		if d, err := time.ParseDuration(text); why != "" && err == nil && d > 0 && d%unit == 0 {
			return PresetValue{}, "the value is a whole number of " + name,
				fmt.Sprintf("write %q", strconv.FormatInt(int64(d/unit), 10))
		}
		if why != "" || v.N > int64(math.MaxInt64/unit) {
			return PresetValue{}, "the value is a whole number of " + name, ""
		}
		v.D = time.Duration(v.N) * unit
		return v, "", ""
	}
}

var millis = bareTime(time.Millisecond, "milliseconds")

// span reads a time with its unit: 10s, 1m30s, 1d, 1 minute.
func span(text string) (PresetValue, string, string) {
	const why = "the value is a time with its unit, such as 500ms, 10s, 1m or 1d"
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	if unit, known := units[strings.TrimSpace(text[len(number):])]; known && number != "" {
		v, wrong, _ := bareTime(unit, "")(number)
		if wrong == "" {
			v.Text = text
			return v, "", ""
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		mend := ""
		if _, wrong, _ := count(1)(text); wrong == "" {
			mend = fmt.Sprintf("write %q", text+"s")
		}
		return PresetValue{}, why, mend
	}
	return PresetValue{D: d, Text: text}, "", ""
}

// millisOrSpan reads a number of milliseconds, or a time with its unit.
func millisOrSpan(text string) (PresetValue, string, string) {
	if v, why, _ := millis(text); why == "" {
		return v, "", ""
	}
	return span(text)
}

// units are the words for units of time.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "sec": time.Second, "second": time.Second,
	"seconds": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"minutes": time.Minute, "h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// rate reads N/UNIT and N/TIME: 10r/s, 100/1m, 100/min, 5 per minute, 10 per 2 hours.
func rate(text string) (PresetValue, string, string) {
	const why = "the value is a number and a time, such as 10/s or 100/1m"
	number, per, found := strings.Cut(text, "/")
	if !found {
		number, per, found = strings.Cut(text, " per ")
	}
	number, per = strings.TrimSuffix(strings.TrimSpace(number), "r"), strings.TrimSpace(per)
	n, wrong, _ := count(1)(number)
	if !found || wrong != "" {
		mend := ""
		if n, bare, _ := count(1)(text); bare == "" {
			mend = fmt.Sprintf("write \"%d/s\"", n.N)
		}
		return PresetValue{}, why, mend
	}
	if unit, known := units[per]; known {
		return PresetValue{N: n.N, D: unit, Text: text}, "", ""
	}
	d, wrong, _ := span(per)
	if wrong != "" {
		return PresetValue{}, why, ""
	}
	return PresetValue{N: n.N, D: d.D, Text: text}, "", ""
}

// choice returns the reader of one of several words. A unit of time is also that time.
func choice(words ...string) PresetReader {
	return func(value string) (PresetValue, string, string) {
		if slices.Contains(words, value) {
			return PresetValue{Text: value, D: units[strings.ToLower(value)]}, "", ""
		}
		return PresetValue{}, "it is " + text.OneOf(words), text.Suggest(value, words)
	}
}

// anything reads a value that does not change the SPEC.
func anything(text string) (PresetValue, string, string) { return PresetValue{Text: text}, "", "" }

// rates reads one rate or several: 5 per minute;100/hour.
func rates(text string) (v PresetValue, why, mend string) {
	for one := range strings.SplitSeq(text, ";") {
		if _, why, mend = rate(strings.TrimSpace(one)); why != "" {
			return PresetValue{}, why, mend
		}
	}
	return PresetValue{Text: text}, "", ""
}

// drfRate reads a rate of Django REST framework: only the first letter of the unit counts.
func drfRate(text string) (PresetValue, string, string) {
	number, unit, found := strings.Cut(text, "/")
	if found && unit != "" {
		text = number + "/" + unit[:1]
	}
	v, why, _ := rate(text)
	if why != "" || units[v.Text[strings.Index(v.Text, "/")+1:]] == 0 {
		return PresetValue{}, "the value is a number and a unit, such as 10/s or 100/min", ""
	}
	return v, "", ""
}

// perSecond reads a number per second, or a rate.
func perSecond(text string) (PresetValue, string, string) {
	if v, why, _ := count(1)(text); why == "" {
		v.D = time.Second
		return v, "", ""
	}
	return rate(text)
}

// ululeRate reads a rate of ulule/limiter: 10-S, 100-M, 1000-H, 2000-D.
func ululeRate(text string) (PresetValue, string, string) {
	v, why, mend := rate(strings.ToLower(strings.Replace(text, "-", "/", 1)))
	if why != "" {
		why = "the value is a number and a unit, such as 10-S or 100-M"
	}
	return v, why, mend
}
