package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// readLine reads a line of NDJSON into o in one pass. false: it was no observation, and was handled by other
// or had a problem. Members are read from the text as Writer writes them: whole numbers of at most 18 digits,
// strings without escapes. Any other value is first cut out of the line and then read by encoding/json.
func (r *Reader) readLine(line []byte, o *Observation) bool {
	*o = Observation{}
	r.seen, r.had, r.strays.set = 0, 0, 0
	c, before, ignored := &r.cursor, r.problems.count, len(r.ignored)
	c.text, c.at = line, 0
	sound := c.take('{')
	more := sound && !c.take('}')
	for k := 0; more && sound; k++ {
		var m memberSet
		var name []byte
		if m, name, sound = r.nextKey(k); !sound {
			break
		}
		if m == 0 && r.other[string(name)] != nil {
			r.problems.cut(before)
			r.ignored = r.ignored[:ignored]
			if all, ok := r.members(line); ok {
				r.other[string(name)](all)
			}
			return false
		}
		sound = r.takeMember(m, name, o)
		more = c.take(',')
		sound = sound && (more || c.take('}'))
	}
	if c.space(); !more && sound && c.at == len(line) {
		return r.problems.count == before
	}
	r.problems.cut(before)
	r.addForm(line)
	return false
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
	if name, ok = r.key(); !ok {
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

// key reads a name and the colon after it.
func (r *Reader) key() (name []byte, ok bool) {
	name, ok = r.cursor.string()
	if !ok {
		raw, sound := r.cursor.value()
		var text string
		ok = sound && json.Unmarshal(raw, &text) == nil && raw[0] == '"'
		name = []byte(text)
	}
	return name, ok && r.cursor.take(':')
}

// takeMember reads the value of a member into o. false: it is no JSON.
func (r *Reader) takeMember(m memberSet, name []byte, o *Observation) bool {
	c := &r.cursor
	c.space()
	start := c.at
	if r.had&m == 0 && r.plainMember(m, o) {
		r.had |= m
		r.seen |= m
		return true
	}
	c.at = start
	raw, ok := c.value()
	switch {
	case !ok:
	case m == 0:
		r.ignore(name)
	case r.had&m != 0:
		r.add(excerpt(name)+" twice", "a member comes once in a line", "")
	case string(raw) == "null":
		r.had |= m
	default:
		r.had |= m
		r.seen |= m
		r.anyMember(m, member{string(name), raw}, o)
	}
	return ok
}

// plainMember reads a value as Writer writes it. false: it is another value, and the place is undefined.
func (r *Reader) plainMember(m memberSet, o *Observation) bool {
	c := &r.cursor
	switch {
	case m&memberIntegers != 0:
		v, ok := c.integer()
		if ok = ok && (c.at == len(c.text) || endsValue(c.text[c.at])); ok {
			setInteger(o, m, v)
		}
		return ok
	case m == memberFields:
		return r.plainFields(o)
	case m == memberOrigin || m == 0:
		return false
	}
	text, ok := c.string()
	return ok && r.setText(o, m, text)
}

// anyMember reads any value but null.
func (r *Reader) anyMember(which memberSet, m member, o *Observation) {
	switch {
	case which&memberIntegers != 0:
		v, why, mend := parseInteger(string(m.raw))
		if why != "" {
			r.add(m.String(), why, mend)
			return
		}
		setInteger(o, which, v)
	case which == memberFields:
		r.anyFields(m, o)
	case which == memberOrigin:
		r.memberInto(m, &o.Origin, "true or false is needed")
	default:
		text, ok := m.text()
		if !ok {
			r.add(m.String(), "a string is needed", "")
		} else if !r.setText(o, which, []byte(text)) {
			r.addOutcome(text)
		}
	}
}

// plainFields reads an object of strings. false: it is another value, or empty.
func (r *Reader) plainFields(o *Observation) bool {
	c, start := &r.cursor, r.reserve()
	fields := r.spare[start:]
	for more := c.take('{'); more; more = c.take(',') {
		name, ok := r.quoted()
		if !ok || !c.take(':') {
			return false
		}
		value, ok := r.quoted()
		if !ok {
			return false
		}
		fields = append(fields, Field{Name: name, Value: value})
	}
	if len(fields) == 0 || !c.take('}') {
		return false
	}
	o.Fields = normalFields(fields)
	// They lie in the spare block, so what follows them is free.
	if start+len(fields) <= cap(r.spare) {
		r.spare = r.spare[:start+len(fields)]
	}
	o.Fields = o.Fields[:len(o.Fields):len(o.Fields)]
	return true
}

// quoted reads a string, which often repeats. Of one with escapes, the text of the file is looked up.
func (r *Reader) quoted() (string, bool) {
	if text, ok := r.cursor.string(); ok {
		return r.names.get(text), true
	}
	raw, ok := r.cursor.value()
	if !ok || raw[0] != '"' {
		return "", false
	}
	return r.names.unquote(raw), true
}

// reserve makes room for the fields of one observation and returns their place in r.spare.
func (r *Reader) reserve() int {
	const block, room = 256, 16
	if cap(r.spare)-len(r.spare) < room {
		r.spare = make(Fields, 0, block)
	}
	return len(r.spare)
}

func (r *Reader) anyFields(m member, o *Observation) {
	if m.raw[0] != '{' {
		r.add("fields "+excerpt(m.raw), "an object of header fields is needed", "")
		return
	}
	var fields Fields
	for _, f := range objectMembers(m.raw) {
		if f.null() {
			continue
		}
		value, ok := f.text()
		if !ok {
			r.add("field "+f.String(), "the value of a header field is a string", "")
			continue
		}
		fields = append(fields, Field{Name: f.name, Value: value})
	}
	o.Fields = normalFields(fields)
}

// normalFields brings fields into the form that Fields promises: names canonical and ascending, repeated
// names joined. It works in place and returns nil if there are none.
func normalFields(fields Fields) Fields {
	if len(fields) == 0 {
		return nil
	}
	ordered := true
	for i := range fields {
		fields[i].Name = textproto.CanonicalMIMEHeaderKey(fields[i].Name)
		ordered = ordered && (i == 0 || fields[i-1].Name < fields[i].Name)
	}
	if ordered {
		return fields
	}
	slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	last := 0
	for _, f := range fields[1:] {
		if f.Name == fields[last].Name {
			fields[last].Value += ", " + f.Value
			continue
		}
		last++
		fields[last] = f
	}
	return fields[:last+1]
}

func (r *Reader) addOutcome(s string) {
	mend, word := "", strings.ToLower(strings.TrimSpace(s))
	for _, ours := range []string{"allowed", "denied", "unknown"} {
		switch text.Edits(word, ours) {
		case 0:
			mend = "write " + excerpt(ours)
		case 1, 2:
			mend = "did you mean " + excerpt(ours) + "?"
		}
	}
	r.add("outcome "+excerpt(s), "an outcome must be allowed, denied or unknown", mend)
}

// addForm adds the problem that a line is no JSON object.
func (r *Reader) addForm(line []byte) {
	line = bytes.TrimSpace(line)
	var nothing json.RawMessage
	err := json.Unmarshal(line, &nothing)
	if err != nil && r.lines.cut && line[0] == '{' {
		r.add("the last line, "+excerpt(line), "it has no end: the file is cut",
			"remove the line or record again")
		return
	}
	why := "a line is one JSON object"
	if err != nil {
		why += "; " + err.Error()
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		why += fmt.Sprintf(" at byte %d", syntax.Offset)
	}
	r.problems.add(ParseError{Line: r.lines.last(), What: excerpt(line), Why: why, Err: ErrNotJSON})
}
