package accesslog

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/text"
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

// withoutPort returns the address of address:port or [address]:port. Text without a port stays as it is.
func withoutPort(b []byte) []byte {
	if bytes.Count(b, []byte(":")) == 1 || len(b) > 0 && b[0] == '[' {
		return cutPort(b)
	}
	return b
}

// cutPort returns the address of a text with a port: 10.0.0.1:80, ::1:80 or [::1]:80.
func cutPort(b []byte) []byte {
	if addr, port, ok := cutLast(b, ':'); ok && digits(port) {
		b = addr
	}
	if len(b) > 1 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	return b
}

// noAddress tells whether a value cannot be an address or the name of a host: it has a space, a quote or a
// control character, or only digits and dots, or a colon, and is no address. A wrapper of the line may have
// got into it, a hole in the file, or the beginning of another line.
func noAddress(b []byte) bool {
	name := false
	for _, c := range b {
		if c <= ' ' || c == '"' || c == 0x7f {
			return true
		}
		name = name || c != '.' && (c < '0' || c > '9')
	}
	if len(b) == 0 || name && bytes.IndexByte(b, ':') < 0 || bytes.HasPrefix(b, []byte("unix:")) {
		return false
	}
	_, err := netip.ParseAddr(string(b))
	return err != nil
}

// prefixed is the name of a field with /64, or /24/64, behind it.
var prefixed = regexp.MustCompile(`^(.+?)(?:/0*([1-9]|[12]\d|3[0-2]))?/0*([1-9]\d?|1[01]\d|12[0-8])$`)

// prefixBits cuts /64, or /24/64, off the name of a field. One number up to 32 is of IPv4 addresses, and a
// larger one of IPv6.
func prefixBits(name string) (string, [2]int) {
	m := prefixed.FindStringSubmatch(name)
	if m == nil {
		return name, [2]int{}
	}
	first, _ := strconv.Atoi(m[2])
	last, _ := strconv.Atoi(m[3])
	if first == 0 && last <= 32 {
		first, last = last, 0
	}
	return m[1], [2]int{first, last}
}

// client returns the name of the client that an address stands for: IPv6 in the form of RFC 5952, so that all
// spellings are one client, or the network of bits. Text that is no address stays as it is.
func client(b []byte, bits [2]int) []byte {
	if bits == [2]int{} && bytes.IndexByte(b, ':') < 0 {
		return b
	}
	addr, err := netip.ParseAddr(string(b))
	if err != nil {
		return b
	}
	n := bits[1]
	if addr.Is4() {
		n = bits[0]
	}
	if n == 0 {
		return addr.AppendTo(nil)
	}
	network, err := addr.WithZone("").Prefix(n)
	if err != nil {
		return b
	}
	return network.AppendTo(nil)
}

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
