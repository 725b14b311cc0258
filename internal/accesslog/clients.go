package accesslog

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// clients are the partitions of a log, each with a number.
type clients struct {
	// by is the field that tells them apart. whole: there is only one partition.
	by    field
	whole bool
	// names are those of the partitions, by number. numbers are those of values, and spelled those of names
	// that may have several spellings.
	names            []string
	numbers, spelled map[string]uint32
	// doubts are those of each partition.
	doubts []doubts
}

// doubts says of a partition how many requests surely meet all conditions, and how many perhaps do.
type doubts struct{ sure, perhaps int }

// number returns the number of the partition with a value.
func (c *clients) number(value []byte) uint32 {
	if k, known := c.numbers[string(value)]; known {
		return k
	}
	name := value
	if c.by.slot == slotAddress || c.by.bits != [2]int{} {
		name = client(value, c.by.bits)
	}
	k, known := c.spelled[string(name)]
	if !known {
		k = uint32(len(c.names))
		c.names, c.doubts = append(c.names, partitionName(name)), append(c.doubts, doubts{})
		if bytes.IndexByte(name, ':') >= 0 || !bytes.Equal(name, value) { // it may have other spellings
			c.spelled[string(name)] = k
		}
	}
	c.numbers[string(value)] = k
	return k
}

// take counts a request with a value, and returns the name of its partition. sure: it meets all conditions.
func (c *clients) take(value []byte, sure bool) string {
	k := uint32(0)
	if !c.whole {
		k = c.number(value)
	}
	if d := &c.doubts[k]; sure {
		d.sure++
	} else {
		d.perhaps++
	}
	return c.names[k]
}

// lone returns the partitions that have no request that surely meets all conditions, and how many requests
// they have. There is nothing to judge in these. doubtful is how many such requests the others have.
func (c *clients) lone() (which map[string]bool, n, doubtful int) {
	which = map[string]bool{}
	for k, d := range c.doubts {
		if d.sure > 0 {
			doubtful += d.perhaps
		} else if d.perhaps > 0 {
			which[c.names[k]] = true
			n += d.perhaps
		}
	}
	return which, n, doubtful
}

// client tells whether it is known whose request the line is, and what is wrong with that name. It counts a
// line without a name.
func (r *reader) client() (known bool, f flaw) {
	if r.whole {
		return true, flaw{}
	}
	name := r.v.get(r.by)
	most := max(r.t.most[r.by.slot], r.t.most[r.by.other])
	switch {
	case name == nil:
		r.out.Keyless++
		return false, flaw{}
	case string(name) == "REDACTED":
		return true, flaw{what: r.by.name + " " + quote(name),
			why: "the server leaves it out of its log, so all clients would count as one",
			mend: "let it log the value (log_credentials of Caddy, headers.names of Traefik), or tell " +
				"clients apart by another field", final: true}
	case most > 0 && len(name) >= most:
		return true, flaw{what: r.by.name + " " + quote(name),
			why:  fmt.Sprintf("the format keeps only its first %d bytes, which other values may share", most),
			mend: fmt.Sprintf("log it without :%d", most)}
	}
	return true, flaw{}
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
