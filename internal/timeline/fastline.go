package timeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

// decodeJSON reads a line of NDJSON by the fast path, or else with encoding/json.
func (r *Reader) decodeJSON(line []byte, o *Observation) bool {
	return r.fastLine(line, o) || r.slowLine(line, o)
}

// fastLine reads a line that looks like those of Writer: whole numbers of at most 18 digits, no member twice,
// none null. It returns false for every other line, sound or not, and then leaves o undefined.
func (r *Reader) fastLine(line []byte, o *Observation) bool {
	*o = Observation{}
	r.seen, r.strays.set = 0, 0
	c := &r.cursor
	c.text, c.at = line, 0
	if !c.take('{') {
		return false
	}
	for k := 0; ; k++ {
		m, name, ok := r.nextKey(k)
		if !ok || !r.fastMember(m, name, o) {
			return false
		}
		if c.take(',') {
			continue
		}
		ok = c.take('}')
		c.space()
		return ok && c.at == len(line)
	}
}

// keys are the names of members, each as in the last line with so many members. Most lines have the same
// names in the same order. A name has its quotes and its colon.
type keys []struct {
	text   string
	member memberSet
}

// mostKeys is how many members of a line are expected to be those of the line before.
const mostKeys = 32

// nextKey reads the name of member number k of a line, and its colon.
func (r *Reader) nextKey(k int) (m memberSet, name []byte, ok bool) {
	e, c := &r.keys, &r.cursor
	if k < len(*e) {
		expected := &(*e)[k]
		if end := c.at + len(expected.text); end <= len(c.text) && string(c.text[c.at:end]) == expected.text {
			name = c.text[c.at+1 : end-2]
			c.at = end
			return expected.member, name, true
		}
	}
	start := c.at
	if name, ok = c.key(); !ok {
		return 0, nil, false
	}
	m = r.memberOf(name)
	// The name has no spaces around it.
	if text := c.text[start:c.at]; len(text) == len(name)+3 && k < mostKeys && k <= len(*e) {
		if k == len(*e) {
			*e = append(*e, struct {
				text   string
				member memberSet
			}{})
		}
		(*e)[k].text, (*e)[k].member = string(text), m
	}
	return m, name, true
}

func (r *Reader) fastMember(m memberSet, name []byte, o *Observation) bool {
	c := &r.cursor
	switch {
	case r.seen&m != 0:
		return false
	case m&memberIntegers != 0:
		v, ok := c.integer()
		if !ok {
			return false
		}
		setInteger(o, m, v)
	case m == memberFields:
		if !r.fastFields(o) {
			return false
		}
	case m == memberOrigin:
		if o.Origin = c.word("true"); !o.Origin && !c.word("false") {
			return false
		}
	case m != 0:
		text, ok := c.string()
		if !ok || !r.setText(o, m, text) {
			return false
		}
	case special(name):
		return false
	default:
		r.ignore(name)
		return c.skip()
	}
	r.seen |= m
	return true
}

// special tells whether a member marks a line that is no observation.
func special[T string | []byte](name T) bool {
	return string(name) == "rlcheck" || string(name) == "shape"
}

func (r *Reader) fastFields(o *Observation) bool {
	c := &r.cursor
	if !c.take('{') {
		return false
	}
	start := r.reserve()
	fields := r.spare[start:]
	for {
		text, ok := c.string()
		if !ok || !c.take(':') {
			return false
		}
		name := r.names.get(text)
		if text, ok = c.string(); !ok {
			return false
		}
		fields = append(fields, Field{Name: name, Value: r.names.get(text)})
		if c.take(',') {
			continue
		}
		if !c.take('}') {
			return false
		}
		break
	}
	o.Fields = normalFields(fields)
	r.spare = r.spare[:start]
	// They lie in the spare block, so what follows them is free.
	if start+len(fields) <= cap(r.spare) {
		r.spare = r.spare[:start+len(fields)]
	}
	o.Fields = o.Fields[:len(o.Fields):len(o.Fields)]
	return true
}

// reserve makes room for the fields of one observation and returns their place in r.spare.
func (r *Reader) reserve() int {
	const block, room = 256, 16
	if cap(r.spare)-len(r.spare) < room {
		r.spare = make(Fields, 0, block)
	}
	return len(r.spare)
}

// cursor reads JSON without tabs. Its methods return false if the text is anything else. The place is then
// undefined.
type cursor struct {
	text    []byte
	at      int
	scratch []byte
}

func (c *cursor) space() {
	for c.at < len(c.text) && c.text[c.at] == ' ' {
		c.at++
	}
}

// take skips spaces and the byte b.
func (c *cursor) take(b byte) bool {
	c.space()
	if c.at < len(c.text) && c.text[c.at] == b {
		c.at++
		return true
	}
	return false
}

// word reads a bare word.
func (c *cursor) word(w string) bool {
	c.space()
	if !bytes.HasPrefix(c.text[c.at:], []byte(w)) {
		return false
	}
	c.at += len(w)
	return true
}

// key reads a name and the colon after it.
func (c *cursor) key() ([]byte, bool) {
	if !c.take('"') {
		return nil, false
	}
	start := c.at
	for c.at < len(c.text) && plainByte[c.text[c.at]] {
		c.at++
	}
	name := c.text[start:c.at]
	ok := c.at < len(c.text) && c.text[c.at] == '"'
	c.at++
	return name, ok && c.take(':')
}

// integer reads a whole number of at most 18 digits, so that it cannot overflow.
func (c *cursor) integer() (int64, bool) {
	c.space()
	start := c.at
	v := int64(0)
	for c.at+8 <= len(c.text) && c.at-start < 16 {
		eight := binary.LittleEndian.Uint64(c.text[c.at:])
		if !digits(eight) {
			break
		}
		v = v*100_000_000 + eightDigits(eight)
		c.at += 8
	}
	for c.at < len(c.text) {
		d := c.text[c.at] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		c.at++
	}
	n := c.at - start
	return v, n == 1 || n > 1 && n <= 18 && c.text[start] != '0'
}

// digits tells whether eight bytes are all decimal digits: the upper half of each is 3, also after 6 is
// added.
func digits(eight uint64) bool {
	const upper, three = 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	return eight&upper == three && (eight+0x0606060606060606)&upper == three
}

// eightDigits returns the number that eight digits mean, with the first digit in the lowest byte. It joins
// neighbours to pairs, these to fours, and these to eight.
func eightDigits(eight uint64) int64 {
	eight -= 0x3030303030303030
	eight = eight*10 + eight>>8
	eight = (eight&0x000000ff000000ff*(100+1_000_000<<32) + eight>>16&0x000000ff000000ff*(1+10_000<<32)) >> 32
	return int64(eight)
}

// string reads a string. The result is valid until the next call.
func (c *cursor) string() ([]byte, bool) {
	if !c.take('"') {
		return nil, false
	}
	start := c.at
	for c.at < len(c.text) && plainByte[c.text[c.at]] {
		c.at++
	}
	if c.at < len(c.text) && c.text[c.at] == '"' {
		c.at++
		return c.text[start : c.at-1], true
	}
	c.scratch = append(c.scratch[:0], c.text[start:c.at]...)
	return c.escaped()
}

// escaped reads the rest of a string whose beginning is in c.scratch.
func (c *cursor) escaped() ([]byte, bool) {
	ascii := true
	for c.at < len(c.text) {
		b := c.text[c.at]
		switch {
		case plainByte[b], b >= 0x7f:
			ascii = ascii && b < utf8.RuneSelf
			c.scratch = append(c.scratch, b)
			c.at++
		case b == '"':
			c.at++
			return c.scratch, ascii || utf8.Valid(c.scratch)
		case b == '\\':
			if !c.escape() {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return nil, false
}

// escape reads an escape sequence, except for surrogates.
func (c *cursor) escape() bool {
	if c.at+1 >= len(c.text) {
		return false
	}
	b := c.text[c.at+1]
	c.at += 2
	switch b {
	case '"', '\\', '/':
	case 'n':
		b = '\n'
	case 'r':
		b = '\r'
	case 't':
		b = '\t'
	case 'b':
		b = '\b'
	case 'f':
		b = '\f'
	case 'u':
		return c.escapeHex()
	default:
		return false
	}
	c.scratch = append(c.scratch, b)
	return true
}

func (c *cursor) escapeHex() bool {
	if c.at+4 > len(c.text) {
		return false
	}
	v := rune(0)
	for _, b := range c.text[c.at : c.at+4] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return false
		}
		v = v<<4 | rune(b)
	}
	c.at += 4
	if v >= 0xd800 && v < 0xe000 {
		return false
	}
	c.scratch = utf8.AppendRune(c.scratch, v)
	return true
}

// skip skips a value that is no list and no object.
func (c *cursor) skip() bool {
	c.space()
	if c.at < len(c.text) && c.text[c.at] == '"' {
		_, ok := c.string()
		return ok
	}
	n := bytes.IndexAny(c.text[c.at:], ",} [{")
	if n < 0 || !json.Valid(c.text[c.at:c.at+n]) {
		return false
	}
	c.at += n
	return true
}
