package scenario

import (
	"errors"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// multiple is a decimal multiple as it is written: num/den, with den a power of ten, at least 1.
type multiple struct{ num, den int64 }

// parseMultiple reads up to six digits before and after the point.
func parseMultiple(s string) (multiple, bool) {
	before, after, hasPoint := strings.Cut(s, ".")
	if !allDigits(before) || len(before) > 6 || hasPoint && !allDigits(after) || len(after) > 6 {
		return multiple{}, false
	}
	m := multiple{den: 1}
	for _, r := range before + after {
		m.num = 10*m.num + int64(r-'0')
	}
	for range after {
		m.den *= 10
	}
	for m.den > 1 && m.num%10 == 0 {
		m.num, m.den = m.num/10, m.den/10
	}
	return m, true
}

// allDigits tells whether s is one or more digits.
func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// times returns ceil(m * n), or MaxInt64 if that does not fit. n is not negative.
func (m multiple) times(n int64) int64 { return MulDiv(m.num, n, m.den, true) }

// amount is a number of requests: plus, or x times what a full start admits, and plus more.
type amount struct {
	x    multiple
	plus int64
}

// span is a duration: fixed, or x times the recovery of the limit. It lies between two bounds; 0: no bound.
type span struct {
	x        multiple
	fixed    time.Duration
	min, max time.Duration
}

// speed is a rate: fixed, or x times the rate of the limit.
type speed struct {
	x     multiple
	fixed spec.Rate
}

// The patterns for editors. The decoder is stricter, for example about durations that overflow.
const (
	daysPattern     = `([0-9]+d)?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))*`
	windowPattern   = `(ms|s|sec|second|m|min|minute|h|hour|d|day|` + daysPattern + `)`
	durationPattern = `^` + daysPattern + `$`
	ratePattern     = `^[0-9]+r?/` + windowPattern + `$`
	// spanPattern and countsPattern match one value or a range A..B of a limit, limitRatePattern its rate.
	spanPattern      = `^` + daysPattern + `(\.\.` + daysPattern + `)?$`
	countsPattern    = `^[0-9]+(_[0-9]+)*\.\.[0-9]+(_[0-9]+)*$`
	limitRatePattern = `^[0-9]+r?(\.\.[0-9]+r?)?/` + windowPattern + `(\.\.` + windowPattern + `)?$`
	multiplePattern  = `^[0-9]{1,6}(\.[0-9]{1,6})?x$`
	amountPattern    = `^[0-9]{1,6}(\.[0-9]{1,6})?x([+-][0-9]{1,9})?$`
)

// pattern returns the schema of a text. MinLength refuses the empty text, which a pattern of optional parts
// would match.
func pattern(p string) *jsonschema.Schema {
	one := 1
	return &jsonschema.Schema{Type: "string", Pattern: p, MinLength: &one}
}

// rule returns the rule and the mend of an error of package spec, which may be nil.
func rule(err error) (why, mend string) {
	if p, ok := errors.AsType[*spec.Problem](err); ok {
		return p.Why, p.Mend
	}
	if err != nil {
		why = err.Error()
	}
	return why, ""
}

// parseDuration reads an absolute duration between two bounds.
func parseDuration(s string, least, most time.Duration) (time.Duration, string, string) {
	d, err := spec.ParseDuration(s)
	if err != nil {
		why, mend := rule(err)
		return 0, why, mend
	}
	if d < least || d > most {
		return 0, "it is between " + text.Short(least) + " and " + text.Short(most), ""
	}
	return d, "", ""
}

// duration is the kind of an absolute duration between two bounds.
func duration(least, most time.Duration) kind[*time.Duration] {
	return textKind("a duration is such as 500ms, 10s or 1m30s", pattern(durationPattern),
		func(s string) (time.Duration, string, string) { return parseDuration(s, least, most) })
}

// longest is the longest duration that a scenario may name.
const longest = 7 * 24 * time.Hour

// spanKind is the kind of a duration or a multiple: "1.1x", or {x: 3, min: 1s, max: 60s}.
func spanKind() kind[*span] {
	parts := object("a relative duration", []field[*span]{
		key("x", decimal("the multiple of the time that the limit needs to recover"),
			func(s *span) *multiple { return &s.x }).must(),
		key("min", duration(0, longest), func(s *span) *time.Duration { return &s.min }),
		key("max", duration(0, longest), func(s *span) *time.Duration { return &s.max }),
	}, func(d *decoder, n *Node, s *span) {
		if s.max > 0 && s.min > s.max {
			d.add(n, "min "+text.Short(s.min), "it may not be over the max of "+text.Short(s.max), "")
		}
	})
	text := textKind(`a duration is such as 500ms, 10s or "1.1x"`,
		anyOf(pattern(durationPattern), pattern(multiplePattern)), parseSpan)
	return kind[*span]{schema: anyOf(text.schema, parts.schema), read: func(d *decoder, n *Node,
		s *span) {
		if n.Form == Mapping {
			parts.read(d, n, s)
			return
		}
		text.read(d, n, s)
	}}
}

func parseSpan(s string) (span, string, string) {
	if digits, ok := strings.CutSuffix(s, "x"); ok {
		if x, ok := parseMultiple(digits); ok {
			return span{x: x}, "", ""
		}
		return span{}, "a multiple is such as 2x or 1.1x", ""
	}
	d, why, mend := parseDuration(s, time.Nanosecond, longest)
	return span{fixed: d}, why, mend
}

// speedKind is the kind of a rate or a multiple of the limit's rate.
func speedKind() kind[*speed] {
	return textKind(`a rate is such as 100/s, 5/1m or "10x"`,
		anyOf(pattern(ratePattern), pattern(multiplePattern)), func(s string) (speed, string, string) {
			if digits, ok := strings.CutSuffix(s, "x"); ok {
				if x, ok := parseMultiple(digits); ok && x.num > 0 {
					return speed{x: x}, "", ""
				}
				return speed{}, "a multiple is over 0 and such as 2x or 1.5x", ""
			}
			r, why, mend := parseRate(s)
			return speed{fixed: r}, why, mend
		})
}

func parseRate(s string) (spec.Rate, string, string) {
	r, err := spec.ParseRate(s)
	why, mend := rule(err)
	return r, why, mend
}

// amountKind is the kind of a number of requests: a whole number, or "2x", "2x+2".
func amountOf(what string, most int64) kind[*amount] {
	why := "a number of " + what + ` is such as 40, "2x" or "2x+5"`
	count := whole("a number of "+what, 1, most)
	text := textKind(why, pattern(amountPattern), parseAmount)
	return kind[*amount]{schema: anyOf(count.schema, pattern(amountPattern)),
		read: func(d *decoder, n *Node, a *amount) {
			if n.Form == Scalar && strings.Contains(n.Text, "x") {
				text.read(d, n, a)
				return
			}
			var i int
			before := len(d.problems)
			if count.read(d, n, &i); len(d.problems) > before {
				d.problems[len(d.problems)-1].Why = why
			}
			a.plus = int64(i)
		}}
}

func parseAmount(s string) (amount, string, string) {
	const why = "a multiple of what a full start admits is such as 2x, 1.5x or 2x+5"
	digits, rest, _ := strings.Cut(s, "x")
	x, ok := parseMultiple(digits)
	if !ok {
		return amount{}, why, ""
	}
	a := amount{x: x}
	if rest != "" {
		sign := int64(1)
		if rest[0] == '-' {
			sign = -1
		}
		n, ok := wholeNumber(rest[1:])
		if !strings.ContainsAny(rest[:1], "+-") || !ok || n < 0 || len(rest) > 10 {
			return amount{}, why, ""
		}
		a.plus = sign * n
	}
	return a, "", ""
}

// decimal is the kind of a number with or without a point.
func decimal(what string) kind[*multiple] {
	zero := 0.0
	why := what + " is a number such as 3 or 1.5"
	return kind[*multiple]{schema: orVariable(&jsonschema.Schema{Type: "number", ExclusiveMinimum: &zero}),
		read: func(d *decoder, n *Node, m *multiple) {
			if !d.wants(n, Scalar, why) {
				return
			}
			x, ok := parseMultiple(n.Text)
			if !ok || x.num == 0 || !n.Plain && !n.Varied() {
				d.add(n, n.Describe(), why, "")
				return
			}
			*m = x
		}}
}

// MulDiv returns a*b/c, rounded down or up, or MaxInt64 where that does not fit. a and b are not negative, c
// is positive.
func MulDiv(a, b, c int64, up bool) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(c-1), 0)
		hi += carry
	}
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
