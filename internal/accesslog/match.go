package accesslog

import (
	"bytes"
	"strings"

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
