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

// member is a member of a JSON object.
type member struct {
	name string
	raw  json.RawMessage
}

func (m member) null() bool { return string(m.raw) == "null" }

// String returns the name and the value as they stand in the file, with the value shortened.
func (m member) String() string {
	for _, c := range m.raw {
		if len(m.raw) > 40 || !plainByte[c] && c != '"' && c != '\\' {
			return m.name + " " + excerpt(m.raw)
		}
	}
	return m.name + " " + string(m.raw)
}

// text returns the value as a string. ok=false: it is none.
func (m member) text() (s string, ok bool) {
	ok = m.raw[0] == '"' && json.Unmarshal(m.raw, &s) == nil
	return s, ok
}

// members reads a line as one JSON object, with its members in the order of the line. It returns false and
// adds a problem if the line is anything else.
func (r *Reader) members(line []byte) ([]member, bool) {
	line = bytes.TrimSpace(line)
	if !json.Valid(line) {
		var nothing json.RawMessage
		r.addSyntax(line, json.Unmarshal(line, &nothing))
		return nil, false
	}
	if line[0] != '{' {
		r.addForm(excerpt(line), "a line is one JSON object")
		return nil, false
	}
	return objectMembers(line), true
}

// objectMembers returns the members of a valid JSON object. Their values are slices of it.
func objectMembers(object []byte) []member {
	var all []member
	for i := 1; ; {
		i = skipSpace(object, i)
		if object[i] == '}' {
			return all
		}
		end := skipValue(object, i)
		var name string
		json.Unmarshal(object[i:end], &name) // a valid string
		i = skipSpace(object, end)           // the colon
		i = skipSpace(object, i+1)
		end = skipValue(object, i)
		all = append(all, member{name: name, raw: object[i:end:end]})
		if i = skipSpace(object, end); object[i] == ',' {
			i++
		}
	}
}

func skipSpace(text []byte, i int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' {
		i++
	}
	return i
}

// skipValue returns the end of the value at i of a valid object.
func skipValue(object []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch object[i] {
		case '"':
			i = skipString(object, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // after a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
}

// skipString returns the place of the last quote of the string at i.
func skipString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

func (r *Reader) addSyntax(line []byte, err error) {
	if r.lines.cut && line[0] == '{' {
		r.add("the last line, "+excerpt(line), "it has no end: the file is cut",
			"remove the line or record again")
		return
	}
	at := ""
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = fmt.Sprintf(" at byte %d", syntax.Offset)
	}
	r.addForm(excerpt(line), fmt.Sprintf("a line is one JSON object; %v%s", err, at))
}

// addForm adds the problem that the current line is no JSON object.
func (r *Reader) addForm(what, why string) {
	r.problems.add(ParseError{Line: r.lines.last(), What: what, Why: why, Err: ErrNotJSON})
}

// slowLine reads any line: the header, unusual spellings, and lines with problems.
func (r *Reader) slowLine(line []byte, o *Observation) bool {
	all, ok := r.members(line)
	if !ok {
		return false
	}
	if slices.ContainsFunc(all, func(m member) bool { return m.name == "rlcheck" }) {
		r.takeHeader(all)
		return false
	}
	return r.slowMembers(all, o)
}

// slowMembers fills o from members.
func (r *Reader) slowMembers(all []member, o *Observation) bool {
	*o = Observation{}
	r.seen, r.strays.set = 0, 0
	before := r.problems.count
	twice := memberSet(0)
	for _, m := range all {
		which := r.memberOf([]byte(m.name))
		if which == 0 {
			r.ignore([]byte(m.name))
			continue
		}
		if twice&which != 0 {
			r.add(excerpt(m.name)+" twice", "a member comes once in a line", "")
			continue
		}
		twice |= which
		if !m.null() {
			r.slowMember(which, m, o)
		}
	}
	return r.problems.count == before
}

func (r *Reader) slowMember(which memberSet, m member, o *Observation) {
	r.seen |= which
	switch {
	case which&memberIntegers != 0:
		v, why, mend := parseInteger(string(m.raw))
		if why != "" {
			r.add(m.String(), why, mend)
			return
		}
		setInteger(o, which, v)
	case which == memberFields:
		r.slowFields(m, o)
	case which == memberOrigin:
		r.memberInto(m, &o.Origin, "true or false is needed")
	default:
		text, ok := m.text()
		if !ok {
			r.add(m.String(), "a string is needed", "")
			return
		}
		if !r.setText(o, which, []byte(text)) {
			r.addOutcome(text)
		}
	}
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

func (r *Reader) slowFields(m member, o *Observation) {
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
