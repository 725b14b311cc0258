package timeline

import (
	"bytes"
	"encoding/json"
)

// cursor reads JSON (RFC 8259). It is broken once the text is anything else, and its place is then undefined.
type cursor struct {
	text   []byte
	at     int
	broken bool
	// form is that of the last value. number is its value if it is whole.
	form   form
	number int64
}

// form says how a value is read: whole is a number of at most 18 digits, plain a string without escapes, of
// ASCII. Any other value is left to encoding/json.
type form uint8

const (
	other form = iota
	whole
	plain
)

func (c *cursor) space() {
	for c.at < len(c.text) && isSpace(c.text[c.at]) {
		c.at++
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// endsValue tells whether a byte may follow a number or a word.
func endsValue(b byte) bool { return b == ',' || b == '}' || b == ']' || isSpace(b) }

func (c *cursor) take(b byte) bool {
	c.space()
	if c.at < len(c.text) && c.text[c.at] == b {
		c.at++
		return true
	}
	return false
}

// integer reads a whole number of at most 18 digits, so that it cannot overflow, up to the next member.
func (c *cursor) integer() (int64, bool) {
	start := c.at
	v := int64(0)
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

// next returns the first byte of the next value, or 0 at the end.
func (c *cursor) next() byte {
	if c.space(); c.at == len(c.text) {
		return 0
	}
	return c.text[c.at]
}

// value reads any value and returns its text.
func (c *cursor) value() []byte {
	quoted := c.next() == '"'
	start := c.at
	c.form = other
	switch {
	case c.broken:
		return nil
	case quoted:
		for c.at++; c.at < len(c.text) && plainByte[c.text[c.at]]; {
			c.at++
		}
		if c.at < len(c.text) && c.text[c.at] == '"' {
			c.at++
			c.form = plain
			return c.text[start:c.at:c.at]
		}
		c.at = stringEnd(c.text, c.at-1)
		raw := c.text[start:c.at:c.at]
		c.broken = !json.Valid(raw)
		return raw
	}
	if v, ok := c.integer(); ok && (c.at == len(c.text) || endsValue(c.text[c.at])) {
		c.form, c.number = whole, v
		return c.text[start:c.at:c.at]
	}
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(c.text[start:]))
	c.broken = d.Decode(&raw) != nil
	c.at = start + int(d.InputOffset())
	return raw
}

// more tells whether an object has a member number k, which is then the next. It passes over what stands
// before the member, or over the end of the object.
func (c *cursor) more(k int) bool {
	switch {
	case c.broken:
	case k == 0:
		c.broken = !c.take('{')
		return !c.broken && !c.take('}')
	case c.take(','):
		return true
	default:
		c.broken = !c.take('}')
	}
	return false
}

// key reads the name of a member and the colon after it.
func (c *cursor) key() (name []byte) {
	if c.next() != '"' {
		c.broken = true
	}
	if name = c.value(); !c.broken {
		name = c.unquoted(name)
		c.broken = !c.take(':')
	}
	return name
}

// unquoted returns what the last value means, which is the string raw.
func (c *cursor) unquoted(raw []byte) []byte {
	if c.form == plain {
		return raw[1 : len(raw)-1]
	}
	var text string
	_ = json.Unmarshal(raw, &text) // a sound string
	return []byte(text)
}

// stringEnd returns the place after the string that goes on behind i, or the end of the text.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

type member struct {
	name string
	raw  json.RawMessage
}

// String returns the name and the value as they stand in the file, with the value shortened.
func (m member) String() string {
	for _, c := range m.raw {
		if len(m.raw) > 40 || !plainByte[c] && c != '"' && c != '\\' {
			return m.name + " " + excerpt(m.raw)
		}
	}
	return m.name + " " + string(m.raw)
}

// objectMembers returns the members of a valid JSON object.
func objectMembers(object []byte) (all []member) {
	c := cursor{text: object}
	for k := 0; c.more(k); k++ {
		all = append(all, member{string(c.key()), c.value()})
	}
	return all
}

// interner keeps one copy of each text that repeats: names of partitions and phases, header fields.
type interner struct {
	// recent has some of the last texts, each at a place that its bytes give. It saves a look-up in all.
	recent [64]string
	all    map[string]string
	// escaped has the texts of JSON strings with escapes, by these strings.
	escaped map[string]string
	size    int
}

const (
	// maxInterned is the longest text that is looked up.
	maxInterned = 512
	// maxInternedSize is how many bytes are kept before all texts are forgotten.
	maxInternedSize = 16 << 20
)

func (t *interner) get(text []byte) string {
	n := len(text)
	if n == 0 || n > maxInterned {
		return string(text)
	}
	recent := &t.recent[(uint(n)+7*uint(text[0])+uint(text[n-1]))%uint(len(t.recent))]
	if string(text) != *recent {
		s, known := t.all[string(text)]
		if !known {
			s = string(text)
			t.keep(&t.all, s, s)
		}
		*recent = s
	}
	return *recent
}

// unquote returns what the last value of c means, which is the string raw. It looks up one with escapes by
// its text.
func (t *interner) unquote(c *cursor, raw []byte) string {
	if c.form == plain {
		return t.get(raw[1 : len(raw)-1])
	}
	s, known := t.escaped[string(raw)]
	if !known {
		s = string(c.unquoted(raw))
		if len(raw) <= maxInterned {
			t.keep(&t.escaped, string(raw), s)
		}
	}
	return s
}

// keep adds a text to one of the maps.
func (t *interner) keep(to *map[string]string, key, s string) {
	if t.size > maxInternedSize {
		t.all, t.escaped, t.size = nil, nil, 0
	}
	if *to == nil {
		*to = make(map[string]string)
	}
	(*to)[key] = s
	t.size += len(key) + 64 // about the cost of an entry
}

// seqSet is a set of numbers from 0, one bit each, in words of 64 bits. It is cheap for numbers that come
// nearly in order.
type seqSet struct {
	words map[int]uint64
	// word is the last word that was used, kept out of the map. key is its place.
	word uint64
	key  int
}

// insert adds n and returns whether it is new.
func (s *seqSet) insert(n int) bool {
	if key := n >> 6; key != s.key {
		if s.words == nil {
			s.words = make(map[int]uint64)
		}
		s.words[s.key] = s.word
		s.word = s.words[key]
		s.key = key
	}
	bit := uint64(1) << (n & 63)
	if s.word&bit != 0 {
		return false
	}
	s.word |= bit
	return true
}

// MostSlots is the number of Slots. A key keeps its number until so many others came after it.
const MostSlots = 1 << 12

// Slots gives numbers below MostSlots to keys that come again and again. A new key takes the place of the
// oldest. The zero value is empty.
type Slots[K comparable] struct {
	at   map[K]int
	keys [MostSlots]K
	next int
}

// Find returns the number of k. known=false: k got a new number.
func (s *Slots[K]) Find(k K) (n int, known bool) {
	if n, known = s.at[k]; known {
		return n, true
	}
	if s.at == nil {
		s.at = make(map[K]int, MostSlots)
	}
	n = s.next % MostSlots
	if s.next >= MostSlots {
		delete(s.at, s.keys[n])
	}
	s.at[k], s.keys[n] = n, k
	s.next++
	return n, false
}
