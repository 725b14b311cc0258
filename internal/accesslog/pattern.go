package accesslog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// pattern is a log format as a sequence of values with text between them. A value ends at the first
// occurrence of the text after it.
type pattern struct {
	pieces []piece
	// closed: no value can have the text that ends it, so there is only one way to read a line. name=value
	// pairs may then follow the last piece.
	closed bool
}

// piece is a value and the text before it. A negative slot means that the value is not needed.
type piece struct {
	before string
	slot   slot
}

// unwanted is the slot of a value that is not needed.
const unwanted slot = -1

// variable finds the first variable of a format. It returns its name, and the text before and after it.
type variable func(format string) (before, name, after string, found bool, err error)

// compile makes a pattern of a format. wanted returns the slot of each variable.
func compile(format string, next variable, wanted func(name string) slot) (*pattern, error) {
	p := &pattern{}
	rest := strings.TrimRight(format, "\r\n")
	for {
		before, name, after, found, err := next(rest)
		if err != nil {
			return nil, err
		}
		if !found {
			p.pieces = append(p.pieces, piece{before, unwanted})
			return p, nil
		}
		if before == "" && len(p.pieces) > 0 {
			return nil, &OptionError{"Layout", strconv.Quote(name),
				"nothing separates it from the variable before it",
				""}
		}
		s := wanted(name)
		if slices.ContainsFunc(p.pieces, func(other piece) bool { return other.slot == s }) {
			s = unwanted // of two values for one slot the first counts
		}
		p.pieces = append(p.pieces, piece{before, s})
		rest = after
	}
}

// split puts the values of a line into v. The last piece is the text at the end.
func (p *pattern) split(line []byte, v values, pairs map[string]slot) bool {
	last, whole := len(p.pieces)-1, line
	if !bytes.HasPrefix(line, []byte(p.pieces[0].before)) {
		return false
	}
	line = line[len(p.pieces[0].before):]
	for i := range last {
		end := p.pieces[i+1].before
		n := bytes.Index(line, []byte(end))
		switch {
		case n < 0:
			return false
		case end == "": // the last value is not delimited
			n = len(line)
		}
		if s := p.pieces[i].slot; s >= 0 && v[s] == nil {
			v[s] = line[:n:n]
		}
		line = line[n+len(end):]
	}
	if p.closed {
		return splitPairs(line, v, pairs)
	}
	return len(line) == 0 && p.same(whole, v)
}

// same tells whether reading a line from its end finds the same values. Otherwise a client that sends the
// text between two values could choose what is read.
func (p *pattern) same(line []byte, v values) bool {
	last := len(p.pieces) - 1
	line = bytes.TrimSuffix(line, []byte(p.pieces[last].before))
	for i := last - 1; i >= 0; i-- {
		at := bytes.LastIndex(line, []byte(p.pieces[i].before))
		if i == 0 {
			at = 0
		}
		if at < 0 {
			return false
		}
		value := line[at+len(p.pieces[i].before):]
		if s := p.pieces[i].slot; s >= 0 && !bytes.Equal(value, v[s]) {
			return false
		}
		line = line[:at]
	}
	return true
}

// splitPairs reads ` name=value name="value"` after the last piece.
func splitPairs(line []byte, v values, slots map[string]slot) bool {
	for len(line) > 0 {
		if line[0] != ' ' {
			return false
		}
		name, rest, ok := bytes.Cut(line[1:], []byte("="))
		if !ok || bytes.ContainsAny(name, " \"") || len(name) == 0 {
			return false
		}
		var value []byte
		if len(rest) > 0 && rest[0] == '"' {
			if value, line, ok = bytes.Cut(rest[1:], []byte(`"`)); !ok {
				return false
			}
		} else {
			n := bytes.IndexByte(rest, ' ')
			if n < 0 {
				n = len(rest)
			}
			value, line = rest[:n:n], rest[n:]
		}
		if s, ok := slots[string(name)]; ok && v[s] == nil {
			v[s] = value
		}
	}
	return true
}

// patterns are the forms that the lines of one log may have. Most lines have the form of the line before.
type patterns struct {
	all  []*pattern
	last int
	// has are the slots of all values of all forms.
	has map[slot]bool
}

// add adds a form.
func (p *patterns) add(format string, next variable, t *table) error {
	if p.has == nil {
		p.has = map[slot]bool{}
	}
	one, err := compile(format, next, func(name string) slot {
		s, ok := t.slots[name]
		if !ok {
			s = unwanted
		}
		p.has[s] = true
		return s
	})
	p.all = append(p.all, one)
	return err
}

// lacks returns an error for the fields that no form has.
func (p *patterns) lacks(what string, fields []field) error {
	for _, f := range fields {
		if p.has[f.slot] || p.has[slotRequest] && (f.slot == slotMethod || f.slot == slotTarget) {
			continue
		}
		mend := "log it, and give the format as --log-format"
		if f.slot == slotAddress {
			mend = "write --partition-by X-Forwarded-For, or another field that the log has"
		}
		return &OptionError{"Layout", "field " + strconv.Quote(f.name), "the " + what + " does not have it",
			mend}
	}
	return nil
}

func (p *patterns) split(line []byte, v values, pairs map[string]slot) bool {
	if p.all[p.last].split(line, v, pairs) {
		return true
	}
	for i, one := range p.all {
		clear(v)
		if i != p.last && one.split(line, v, pairs) {
			p.last = i
			return true
		}
	}
	return false
}

// quote quotes text for a message, at most its first 60 bytes or so.
func quote[T ~string | ~[]byte](text T) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(strings.ToValidUTF8(string(text[:most]), "")) + "..."
}
