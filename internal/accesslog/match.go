package accesslog

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Match is a condition on one field of a request.
type Match struct {
	// Field is the name of a field, as in Options.PartitionBy.
	Field string
	// Glob is compared with the whole value. * matches any text, also none and text with slashes. ? matches
	// one byte.
	Glob string
	// Not reverses the condition. A request without the field then meets it.
	Not bool
}

// ParseMatch reads FIELD=GLOB or FIELD!=GLOB.
func ParseMatch(condition string) (Match, error) {
	name, glob, ok := strings.Cut(condition, "=")
	m := Match{Field: name, Glob: glob}
	m.Field, m.Not = strings.CutSuffix(m.Field, "!")
	if !ok || m.Field == "" {
		return Match{}, text.NewProblem("condition "+quote(condition),
			"a field and a pattern are needed", "write path=/api/* or method!=OPTIONS")
	}
	return m, nil
}

// meets tells whether a value meets the condition.
func (m Match) meets(value []byte) bool {
	if value == nil {
		return m.Not
	}
	return text.Glob(m.Glob, value) != m.Not
}

// condition is a Match, and the field that it is about. plain is its pattern for paths in plain form. had: a
// line had the field.
type condition struct {
	Match
	of    field
	plain string
	had   bool
}

// meets tells whether the request of a line meets all conditions, and whether that is sure. A path or a host
// may have another spelling, such as //api/a for /api/a. Then it depends on the limiter which one it reads.
func (r *reader) meets() (meets, sure bool) {
	written, plain := true, true
	for _, some := range [][]condition{r.match, r.denied, r.allowed} {
		for i := range some {
			some[i].had = some[i].had || r.v.get(some[i].of) != nil
		}
	}
	for _, m := range r.match {
		value := r.v.get(m.of)
		written = written && m.meets(value)
		switch {
		case value == nil:
		case m.of.path:
			m.Glob, value = m.plain, plainPath(value)
		case m.of.slot == slotHost && !text.Glob(m.Glob, value): // a pattern with a port means it
			// Servers compare a host without its port and without the dot of the root.
			value = bytes.ToLower(bytes.TrimSuffix(withoutPort(value), []byte{'.'}))
		}
		plain = plain && m.meets(value)
	}
	return written || plain, written == plain
}

// plainPath returns a path as servers that normalize it see it. Escapes are decoded, slashes merged, and dot
// segments removed (RFC 3986, sections 6.2.2.2 and 6.2.2.3). It returns p itself if nothing changes.
func plainPath(p []byte) []byte {
	if !bytes.ContainsAny(p, "%\\") && !bytes.Contains(p, []byte("//")) && !bytes.Contains(p, []byte("/.")) {
		return p
	}
	p = bytes.ReplaceAll(unescape(p, "%"), []byte{'\\'}, []byte{'/'})
	var kept [][]byte
	segments := bytes.Split(p, []byte{'/'})
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case string(s) == "..":
			kept = kept[:max(len(kept)-1, 0)]
		case len(s) > 0 && string(s) != ".":
			kept = append(kept, s)
			continue
		}
		if last {
			kept = append(kept, nil) // it ends in a slash
		}
	}
	return append([]byte{'/'}, bytes.Join(kept, []byte{'/'})...)
}

// doubts says of a partition whether a request surely meets all conditions, and how many others perhaps do.
type doubts struct {
	sure    bool
	perhaps int
}

// doubt counts a request of a partition.
func (r *reader) doubt(partition uint32, sure bool) {
	for int(partition) >= len(r.doubts) {
		r.doubts = append(r.doubts, doubts{})
	}
	if d := &r.doubts[partition]; sure {
		d.sure = true
	} else {
		d.perhaps++
	}
}

// lone returns the partitions that have no request that surely meets all conditions, and how many requests
// they have. There is nothing to judge in these.
func (r *reader) lone() (which map[string]bool, n int) {
	which = map[string]bool{}
	for i, d := range r.doubts {
		if d.sure {
			continue
		}
		if n += d.perhaps; r.whole {
			which[""] = true
		} else {
			which[r.out.names[i]] = true
		}
	}
	return which, n
}

// escaped is text that partitionName writes: \x and a byte that is no ASCII, or a backslash.
var escaped = regexp.MustCompile(`\\x(?:[89a-fA-F][0-9a-fA-F]|5c)`)

// partitionName returns a value as the name of a partition, in UTF-8. Bytes that are no UTF-8 are written as
// \xXX. So is the backslash of a name that has such bytes or looks as if it had. So no two values get one
// name.
func partitionName(b []byte) string {
	if utf8.Valid(b) && !bytes.ContainsRune(b, utf8.RuneError) && !escaped.Match(b) {
		return string(b)
	}
	var out []byte
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError || r == '\\' {
			size = 1
			out = fmt.Appendf(out, `\x%02x`, b[0])
		} else {
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return string(out)
}
