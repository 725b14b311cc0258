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
// or had a problem.
func (r *Reader) readLine(line []byte, o *Observation) bool {
	*o = Observation{}
	r.seen, r.had, r.strays.set = 0, 0, 0
	before, ignored := r.problems.count, len(r.ignored)
	r.cursor = cursor{text: line}
	c := &r.cursor
	for k := 0; c.more(k); k++ {
		m, name := r.nextKey(k)
		if m == 0 && r.other[string(name)] != nil {
			r.problems.cut(before)
			r.ignored = r.ignored[:ignored]
			if json.Valid(line) {
				r.other[string(name)](objectMembers(line))
			} else {
				r.addForm(line)
			}
			return false
		}
		r.takeMember(m, name, o)
	}
	if c.space(); !c.broken && c.at == len(line) {
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
func (r *Reader) nextKey(k int) (m memberSet, name []byte) {
	e, c := &r.keys, &r.cursor
	if k < len(*e) {
		expected := &(*e)[k]
		if end := c.at + len(expected.text); end <= len(c.text) && string(c.text[c.at:end]) == expected.text {
			name = c.text[c.at+1 : end-2]
			c.at = end
			return expected.member, name
		}
	}
	start := c.at
	name = c.key()
	m = r.memberOf(name)
	// The name has no spaces around it.
	if text := c.text[start:c.at]; !c.broken && len(text) == len(name)+3 && k < mostKeys && k <= len(*e) {
		if k == len(*e) {
			*e = append(*e, struct {
				text   string
				member memberSet
			}{})
		}
		(*e)[k].text, (*e)[k].member = string(text), m
	}
	return m, name
}

// takeMember reads the value of a member into o.
func (r *Reader) takeMember(m memberSet, name []byte, o *Observation) {
	if m == memberFields && r.had&m == 0 && r.cursor.next() == '{' {
		r.had |= m
		r.seen |= m
		r.takeFields(o)
		return
	}
	raw := r.cursor.value()
	switch {
	case r.cursor.broken:
	case m == 0:
		r.ignore(name)
	case r.had&m != 0:
		r.add(excerpt(name)+" twice", "a member comes once in a line", "")
	default:
		if r.had |= m; r.cursor.form != other || string(raw) != "null" {
			r.seen |= m
			r.set(m, name, raw, o)
		}
	}
}

// set sets a member to the last value, which is neither null nor an object of fields.
func (r *Reader) set(m memberSet, name, raw []byte, o *Observation) {
	switch {
	case m&memberIntegers != 0:
		v := r.cursor.number
		if r.cursor.form != whole {
			var why, mend string
			if v, why, mend = parseInteger(string(raw)); why != "" {
				r.add(member{string(name), raw}.String(), why, mend)
				return
			}
		}
		setInteger(o, m, v)
	case m == memberFields:
		r.add("fields "+excerpt(raw), "an object of header fields is needed", "")
	case m == memberOrigin:
		r.memberInto(member{string(name), raw}, &o.Origin, "true or false is needed")
	case raw[0] != '"':
		r.add(member{string(name), raw}.String(), "a string is needed", "")
	default:
		r.setText(o, m, r.cursor.unquoted(raw))
	}
}

// takeFields reads an object of header fields.
func (r *Reader) takeFields(o *Observation) {
	c, start := &r.cursor, r.reserve()
	fields := r.spare[start:]
	for k := 0; c.more(k); k++ {
		name := c.key()
		raw := c.value()
		switch {
		case c.broken, string(raw) == "null":
		case raw[0] != '"':
			r.add("field "+member{string(name), raw}.String(), "the value of a header field is a string", "")
		default:
			fields = append(fields, Field{Name: r.names.get(name), Value: r.names.unquote(c, raw)})
		}
	}
	o.Fields = normalFields(fields)
	// They lie in the spare block, so what follows them is free.
	if start+len(fields) <= cap(r.spare) {
		r.spare = r.spare[:start+len(fields)]
	}
	o.Fields = o.Fields[:len(o.Fields):len(o.Fields)]
}

// reserve makes room for the fields of one observation and returns their place in r.spare.
func (r *Reader) reserve() int {
	const block, room = 256, 16
	if cap(r.spare)-len(r.spare) < room {
		r.spare = make(Fields, 0, block)
	}
	return len(r.spare)
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
	if err != nil && r.lines.Cut && line[0] == '{' {
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
	r.problems.add(ParseError{Line: r.lines.Last(), What: excerpt(line), Why: why, Err: ErrNotJSON})
}
