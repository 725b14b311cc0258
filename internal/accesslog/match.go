package accesslog

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Match is a condition on one field of a request.
type Match struct {
	// Field is the name of a field, as in Options.PartitionBy.
	Field string
	// Glob is compared with the whole value: * is any text, also none and with slashes, ? is one byte.
	Glob string
	// Not turns the condition round. A request without the field meets it then.
	Not bool
}

// ParseMatch reads FIELD=GLOB or FIELD!=GLOB.
func ParseMatch(text string) (Match, error) {
	name, glob, ok := strings.Cut(text, "=")
	m := Match{Field: name, Glob: glob}
	m.Field, m.Not = strings.CutSuffix(m.Field, "!")
	if !ok || m.Field == "" {
		return Match{}, &OptionError{"Match", "condition " + quote(text), "a field and a pattern belong here", "write path=/api/* or method!=OPTIONS"}
	}
	return m, nil
}

// meets tells whether a value meets the condition.
func (m Match) meets(value []byte) bool {
	if value == nil {
		return m.Not
	}
	return glob(m.Glob, value) != m.Not
}

// glob matches text against a pattern, in time of the product of their lengths at most: only the last * is tried again.
func glob(pattern string, text []byte) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// partitionName returns a value as the name of a partition: UTF-8. Bytes that are none are written as \xXX, so that two
// values never get one name.
func partitionName(b []byte) string {
	if utf8.Valid(b) && !bytes.ContainsRune(b, utf8.RuneError) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError {
			size = 1
			const digit = "0123456789abcdef"
			out.WriteString(`\x`)
			out.WriteByte(digit[b[0]>>4])
			out.WriteByte(digit[b[0]&15])
		} else {
			out.Write(b[:size])
		}
		b = b[size:]
	}
	return out.String()
}
