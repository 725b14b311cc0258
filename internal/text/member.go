package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Glob tells whether s matches a pattern, in which * stands for any text and ? for a byte. It takes at most
// time of the product of their lengths, as only the last * is tried again.
func Glob(pattern string, s []byte) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[t]):
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

// Members returns the values of a JSON text at a path, such as errors.0.extensions.code, in their order. Each
// step is the name of a member, the index of an element, or * for all of them. Strings are returned as they
// are, numbers as they are written, and objects and lists as JSON. It is empty if there is no such value, or
// the text is no JSON.
func Members(body []byte, path string) []string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var whole any
	if d.Decode(&whole) != nil {
		return nil
	}
	found := []any{whole}
	for step := range strings.SplitSeq(path, ".") {
		var next []any
		for _, x := range found {
			next = append(next, stepInto(x, step)...)
		}
		found = next
	}
	var out []string
	for _, x := range found {
		switch x.(type) {
		case map[string]any, []any:
			if b, err := json.Marshal(x); err == nil {
				out = append(out, string(b))
			}
		default:
			out = append(out, fmt.Sprint(x))
		}
	}
	return out
}

// stepInto returns what one step of a path leads to.
func stepInto(x any, step string) []any {
	switch x := x.(type) {
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(x) {
			return x[i : i+1]
		}
		if step == "*" {
			return x
		}
	case map[string]any:
		if v, ok := x[step]; ok {
			return []any{v}
		}
	}
	return nil
}
