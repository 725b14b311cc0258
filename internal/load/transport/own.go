package transport

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// headerOf returns the extra fields of a phase's requests: the fields of all, with the phase's own in place
// of them.
func headerOf(own *timeline.Request, all http.Header) http.Header {
	if len(own.Header) == 0 && !own.Fresh {
		return all
	}
	h := all.Clone()
	if h == nil {
		h = http.Header{}
	}
	for name, v := range own.Header {
		h[name] = []string{v}
	}
	if own.Fresh {
		h["Connection"] = []string{"close"}
	}
	return h
}

// pathOf returns the path and query of a phase's request number turn, as they are written.
func pathOf(own *timeline.Request, turn int, path, query string) (string, string) {
	if own.Path != "" {
		path, query, _ = strings.Cut(own.Path, "?")
	}
	if n := len(own.Spellings); n > 0 {
		return respell(own.Spellings[turn%n], path, query)
	}
	return path, query
}

// respell writes a path in another way (see timeline.Spelling). Upper and Encoded do not change a path
// without letters.
func respell(s timeline.Spelling, path, query string) (string, string) {
	if path == "" {
		path = "/"
	}
	switch s {
	case timeline.Doubled:
		path = "/" + path
	case timeline.Dotted:
		path = "/." + path
	case timeline.Trailing:
		path += "/"
	case timeline.Upper:
		path = upper(path)
	case timeline.Encoded:
		path = encode(path)
	case timeline.Queried:
		if query != "" {
			query += "&"
		}
		query += "rlcheck=1"
	}
	return path, query
}

// upper returns path with its letters in upper case, except in percent-encodings.
func upper(path string) string {
	return encoded(path, func(b []byte, c byte) []byte {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		return append(b, c)
	})
}

// encode returns path with its letters percent-encoded.
func encode(path string) string {
	return encoded(path, func(b []byte, c byte) []byte {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			return fmt.Appendf(b, "%%%02X", c)
		}
		return append(b, c)
	})
}

// encoded returns path with each byte outside of a percent-encoding replaced.
func encoded(path string, put func(b []byte, c byte) []byte) string {
	var b []byte
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			b = append(b, path[i:i+3]...)
			i += 2
			continue
		}
		b = put(b, path[i])
	}
	return string(b)
}

// checkMethod tells whether a method can be sent; "" is the usual one.
func checkMethod(method string) error {
	switch {
	case method != "" && !IsToken(method):
		return fmt.Errorf("method %q: a method is a token such as GET", method)
	case method == http.MethodConnect:
		return errors.New("method CONNECT: it turns the connection into a tunnel (use another)")
	}
	return nil
}

// CheckOwn tells whether what a phase sets for its own requests can be sent.
func CheckOwn(own *timeline.Request) error {
	if err := checkMethod(own.Method); err != nil {
		return err
	}
	raw := func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }
	if own.Path != "" && (own.Path[0] != '/' || strings.ContainsFunc(own.Path, raw)) {
		return fmt.Errorf("path %q: a path begins with a slash, and everything but printable ASCII is "+
			"escaped", own.Path)
	}
	for name, v := range own.Header {
		if err := CheckHeader(http.Header{name: {v}}); err != nil {
			return err
		}
	}
	switch own.Addresses {
	case "", timeline.AnyAddress, timeline.OneNetwork, timeline.TwoSpellings:
	default:
		return fmt.Errorf("addresses %q: the values are any, one-network and two-spellings", own.Addresses)
	}
	known := func(r timeline.AttributeRow) bool { return r.Attribute == own.Vary }
	if own.Vary != "" && !slices.ContainsFunc(timeline.Attributes(), known) {
		return fmt.Errorf("vary %q: there is no such attribute", own.Vary)
	}
	for _, s := range own.Spellings {
		if !slices.Contains(timeline.Spellings(), s) {
			return fmt.Errorf("spelling %q: the spellings are %q", s, timeline.Spellings())
		}
	}
	for _, key := range own.Keys {
		if err := CheckValue(key); err != nil {
			return fmt.Errorf("key of a partition: %w", err)
		}
	}
	return nil
}
