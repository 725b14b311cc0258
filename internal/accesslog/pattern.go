package accesslog

import (
	"bytes"
	"cmp"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// pattern is a log format as a sequence of values with text between them. A value ends at the first
// occurrence of the text after it.
type pattern []piece

// piece is a value and the text before it. A negative slot means that the value is not needed.
type piece struct {
	before string
	slot   slot
	// all: the value is the rest of the line.
	all bool
}

// patterns reads lines of text, which have one of several forms. Most have the form of the line before.
type patterns struct {
	row  *server
	t    *table
	own  string // the user's format, or empty
	all  []pattern
	last int
	// has are the slots of all values of all forms.
	has map[slot]bool
	// captures has the slot of each captured field of HAProxy that is needed. title is the first line of a
	// file whose first line names the values.
	captures []slot
	title    string
	fields   []field
	// begin and end are the texts around a time in the known formats of a server, and timed is how many times
	// a line has there.
	begin, end []byte
	timed      int
}

// newPatterns returns the forms of a server's lines, or the user's own. fields are those that are needed. The
// error names one that no line can have.
func newPatterns(row *server, t *table, own string, fields []field) (*patterns, error) {
	p := &patterns{row: row, t: t, own: own, has: map[slot]bool{},
		fields: append(fields, field{name: "status", slot: slotStatus, other: unwanted})}
	formats := p.row.text
	if p.own != "" {
		formats = []string{strings.TrimSuffix(strings.TrimRight(p.own, "\r\n"), `\n`)}
	}
	for _, f := range fields {
		if n, ok := capture(f.name); ok && p.row.format == HAProxy {
			for len(p.captures) < n {
				p.captures = append(p.captures, unwanted)
			}
			p.captures[n-1], p.has[f.slot] = f.slot, true
		}
	}
	for _, format := range formats {
		if err := p.add(format, cmp.Or(p.row.notation, dollar)); err != nil {
			return nil, err
		}
	}
	if p.own == "" && p.row.closed || p.row.titled {
		return p, nil // pairs may have everything, and the first line says what there is
	}
	timed := false
	for s := slotStart; s <= slotTime; s++ {
		timed = timed || p.has[s]
	}
	if !timed {
		return nil, text.NewProblem("the format", "it has no time of a request", p.t.timeMend(p.row))
	}
	return p, p.lacks()
}

// add adds a form.
func (p *patterns) add(format string, in *notation) error {
	var one pattern
	for rest := format; ; {
		before, name, after, most, found, err := in.next(rest)
		if err != nil {
			return err
		}
		if !found {
			p.all = append(p.all, append(one, piece{before: before, slot: unwanted}))
			p.around(p.all[len(p.all)-1])
			return nil
		}
		if before == "" && len(one) > 0 {
			return text.NewProblem(strconv.Quote(name),
				"nothing separates it from the variable before it", "")
		}
		s, ok := p.t.slots[name]
		if !ok || slices.ContainsFunc(one, func(other piece) bool { return other.slot == s }) {
			s = unwanted // of two values for one slot the first counts
		} else if most > 0 {
			p.t.most[s] = most
		}
		p.has[s] = true
		one = append(one, piece{before, s, name == "rest"})
		rest = after
	}
}

// around notes what stands around the times of a known form.
func (p *patterns) around(form pattern) {
	if p.own != "" {
		return
	}
	p.timed = 0
	for i, piece := range form {
		if piece.timed() && piece.before != "" {
			p.begin, p.end = []byte(piece.before), []byte(form[i+1].before)
			p.timed++
		}
	}
}

// lacks returns an error for the fields that no form has.
func (p *patterns) lacks() error {
	for _, f := range p.fields {
		if p.has[f.slot] || f.other >= 0 && p.has[f.other] ||
			p.has[slotRequest] && (f.slot == slotMethod || f.slot == slotTarget) ||
			p.has[slotRest] && (f.slot == slotMethod || f.slot == slotTarget || f.slot == slotRequest) {
			continue
		}
		why, mend := "the format does not have it", "log it, and give the format as --log-format"
		if _, shared := sharedNames[f.name]; !shared && p.row.notation == nil {
			why = fmt.Sprintf("a log of %s does not have it", p.row.format)
		}
		switch {
		case p.row.format == HAProxy:
			mend = "capture request header " + textproto.CanonicalMIMEHeaderKey(f.name) +
				" len 64, and write capture1 for the first of the captures"
		case p.row.notation == nil:
			mend = ""
		case f.slot == slotAddress:
			mend = "write --log-partition X-Forwarded-For, or another field that the log has"
		}
		return text.NewProblem("field "+quote(f.name), why, mend)
	}
	return nil
}

func (p *patterns) split(line []byte, v values) flaw {
	if p.row.titled && (p.title == "" || p.title == string(line)) {
		if p.title == "" {
			p.title = string(line)
			if err := cmp.Or(p.add("${"+strings.ReplaceAll(p.title, ",", "},${")+"}", dollar),
				p.lacks()); err != nil {
				return flaw{what: "line " + quote(line), final: true,
					why: "the first line of a file names its values: " + err.Error()}
			}
		}
		return flaw{foreign: true}
	}
	if read := p.reads(line, v); p.times(line) > p.timed {
		return flaw{what: "line " + quote(line), soft: true,
			why: "it holds two lines: the end of the first one was lost"}
	} else if !read {
		f := flaw{what: "line " + quote(line),
			why: "it does not have the form of the log_format, or can be read in two ways"}
		if p.own == "" && p.row.notation != nil {
			f.mend = "give the log_format of this log as --log-format"
		}
		return f
	}
	for s := range v {
		if slot(s) != slotRequest && none(v[s]) {
			v[s] = nil
		} else if p.row.escape != "" && slot(s) != slotRest {
			v[s] = unescape(v[s], p.row.escape)
		}
	}
	if p.row.after != nil {
		return p.row.after(v, p.captures)
	}
	return flaw{}
}

// reads puts the values of a line into v, by the form of the line before or by another.
func (p *patterns) reads(line []byte, v values) bool {
	if p.last < len(p.all) && p.one(p.all[p.last], line, v) {
		return true
	}
	for i := range p.all {
		clear(v)
		if i != p.last && p.one(p.all[i], line, v) {
			p.last = i
			return true
		}
	}
	return false
}

// one puts the values of a line into v. The last piece is the text at the end.
func (p *patterns) one(pieces pattern, line []byte, v values) bool {
	if p.row.words {
		return p.words(pieces, line, v)
	}
	last, whole, ok := len(pieces)-1, line, true
	if line, ok = bytes.CutPrefix(line, []byte(pieces[0].before)); !ok {
		return false
	}
	pairs := p.own == "" && p.row.closed // name=value may follow
	var first []byte
	for i := range last {
		var value []byte
		end := pieces[i+1].before
		switch {
		case end == "" && pairs && !pieces[i].all:
			n := len(line)
			if at := bytes.IndexByte(line, ' '); at >= 0 {
				n = at
			}
			value, line = line[:n], line[n:]
		case end == "": // the last value is not delimited
			value, line = line, nil
		default:
			value, line, ok = p.cut(line, end)
		}
		if !ok {
			return false
		}
		if i == 0 {
			first = value
		}
		if v.put(pieces[i].slot, value); p.own == "" && pieces[i].timed() &&
			!same(pieces[:i+2], whole[:len(whole)-len(line)], first, v) {
			return false
		}
	}
	if pairs {
		return splitPairs(line, v, p.t.slots)
	}
	return len(line) == 0 && (p.own == "" || same(pieces, whole, first, v))
}

// timed tells whether the value is when a request began, or ended.
func (p piece) timed() bool { return p.slot >= slotStart && p.slot <= slotTime }

// times counts the times in a line that stand as its format has them. A line with too many holds two.
func (p *patterns) times(line []byte) (n int) {
	for len(p.end) > 0 {
		_, rest, found := bytes.Cut(line, p.begin)
		if !found {
			break
		}
		if at := bytes.Index(rest[:min(len(rest), 40)], p.end); at >= len("20/Nov/2026:10:00:00") &&
			(rest[2] == '/' && rest[6] == '/' && rest[14] == ':' || rest[4] == '-' && rest[13] == ':') {
			n++
		}
		line = rest
	}
	return n
}

// put keeps a value that is needed, unless the line had it before.
func (v values) put(s slot, value []byte) {
	if s >= 0 && v[s] == nil {
		v[s] = value[:len(value):len(value)]
	}
}

// words puts the values of a line into v that stand between separators. The last ones may be absent, and
// newer versions add some. A line that has the values of two is none.
func (p *patterns) words(pieces pattern, line []byte, v values) bool {
	known := len(pieces) - 1
	least, most := cmp.Or(p.row.least, known), max(known, p.row.most)
	for i := range most {
		value, rest, ok := word(line, pieces[1].before)
		if !ok {
			return false
		}
		if i < known {
			v.put(pieces[i].slot, value)
		}
		if rest == nil {
			return i+1 >= least
		}
		line = rest
	}
	return false
}

// word cuts the first value of a line, which ends at sep and may be in quotes. The last quote stands before
// sep or the end. rest is nil after the last one.
func word(line []byte, sep string) (value, rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		value, rest, _ = bytes.Cut(line, []byte(sep))
		return value, rest, true
	}
	if i := bytes.Index(line[1:], []byte(`"`+sep)); i >= 0 {
		return line[1 : i+1], line[i+2+len(sep):], true
	}
	return line[1:max(len(line)-1, 1)], nil, len(line) > 1 && line[len(line)-1] == '"'
}

// cut cuts a line at the text that ends its first value. A value in quotes ends at the first quote if the
// server escapes those inside. A quote behind a backslash is none if the server escapes quotes so.
func (p *patterns) cut(line []byte, end string) (value, rest []byte, ok bool) {
	if p.own != "" && !p.row.backslash || !p.row.closed || end[0] != '"' {
		return bytes.Cut(line, []byte(end))
	}
	for at := 0; ; at++ {
		i := bytes.IndexByte(line[at:], '"')
		if i < 0 {
			return nil, nil, false
		}
		at += i
		if n := at - len(bytes.TrimRight(line[:at], `\`)); p.row.backslash && n%2 == 1 {
			continue
		}
		rest, ok := bytes.CutPrefix(line[at:], []byte(end))
		if ok || p.own == "" {
			return line[:at], rest, ok
		}
	}
}

// same tells whether reading a line from its end finds the same values. Otherwise a client that sends the
// text between two values could choose what is read, and so could a line that lost its end before the next.
// first is the first value, which may not be needed.
func same(pieces pattern, line, first []byte, v values) bool {
	last := len(pieces) - 1
	line = bytes.TrimSuffix(line, []byte(pieces[last].before))
	for i := last - 1; i >= 0; i-- {
		at := bytes.LastIndex(line, []byte(pieces[i].before))
		if i == 0 {
			at = 0
		}
		if at < 0 {
			return false
		}
		value := line[at+len(pieces[i].before):]
		if s := pieces[i].slot; s >= 0 && !bytes.Equal(value, v[s]) || i == 0 && !bytes.Equal(value, first) {
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
		if s, ok := slots[string(name)]; ok {
			v.put(s, value)
		}
	}
	return true
}

// quote quotes text for a message, at most its first 60 bytes or so.
func quote[T ~string | ~[]byte](text T) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	return strconv.Quote(strings.ToValidUTF8(string(text[:most]), "")) + "..."
}

// unescape decodes bytes that are written as mark and two hexadecimal digits and, if mark begins with a
// backslash, a quote or a backslash after a backslash. It returns b itself if there are none.
func unescape(b []byte, mark string) []byte {
	if bytes.IndexByte(b, mark[0]) < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		j := i + len(mark)
		if j+2 <= len(b) && string(b[i:j]) == mark {
			if c, err := strconv.ParseUint(string(b[j:j+2]), 16, 8); err == nil {
				out = append(out, byte(c))
				i = j + 1
				continue
			}
		}
		if b[i] == '\\' && mark[0] == '\\' && i+1 < len(b) && (b[i+1] == '"' || b[i+1] == '\\') {
			i++
		}
		out = append(out, b[i])
	}
	return out
}

// notation is how a server writes the values in its log format.
type notation struct {
	// sign begins a value, and nothing else. value is a whole one. Its groups are its name (the first that is
	// not empty), and to how many bytes the log cuts it (most).
	sign  string
	value *regexp.Regexp
	// name brings a name into one form. wrong is why a sign cannot be read.
	name  func(string) string
	wrong string
}

var (
	// dollar: $name or ${name}, as in a log_format of nginx.
	dollar = &notation{"$", regexp.MustCompile(`\$(?:(\w+)|\{([^}]*)\})`),
		func(name string) string { return name }, "a variable name must follow"}
	// percent: %NAME%, %NAME(arguments)% or %NAME(arguments):9%, as in a format string of Envoy.
	percent = &notation{"%", regexp.MustCompile(`%([^%()]+(?:\((?:[^()]|\([^()]*\))*\))?)(?::(?P<most>\d+))?%`),
		envoyOperator, "a second % ends the name of an operator"}
	// apache: %h, %>s, %{Name}i or %400,501{Name}i, as in a LogFormat. The parts of a time that stand side by
	// side are one value.
	apache = &notation{"%", regexp.MustCompile(`%(\{(?:end:)?sec\}t\.%\{(?:end:)?[mu]sec_frac\}t)|` +
		`%([!<>,\d]*(?:\{[^}]*\})?(?:\^t.|.))`), apacheName, "a letter must follow"}
)

// next finds the first value of a format. It returns its name and to how many bytes the log cuts it (0: it
// does not), and the text before and after it.
func (n *notation) next(format string) (before, name, after string, most int, found bool, err error) {
	at := n.value.FindStringSubmatchIndex(format)
	group := func(i int) string {
		if i <= 0 || 2*i >= len(at) || at[2*i] < 0 {
			return ""
		}
		return format[at[2*i]:at[2*i+1]]
	}
	if before = format; at != nil {
		before = format[:at[0]]
	}
	if _, rest, bad := strings.Cut(before, n.sign); bad {
		return "", "", "", 0, false,
			text.NewProblem(quote(strings.TrimSpace(n.sign+rest)), n.wrong, "")
	}
	if at == nil {
		return before, "", "", 0, false, nil
	}
	most, _ = strconv.Atoi(group(n.value.SubexpIndex("most"))) // 0: it is not cut
	name, after = n.name(cmp.Or(group(1), group(2))), format[at[1]:]
	if n == apache && name == "t" { // it stands in brackets
		before, after = before+"[", "]"+after
	}
	return before, name, after, most, true, nil
}

// envoyOperator drops arguments that do not matter: START_TIME(%s.%3f), REQ(X-ENVOY-ORIGINAL-PATH?:PATH).
func envoyOperator(name string) string {
	operator, inner, _ := strings.Cut(name, "(")
	if operator != "REQ" && operator != "RESP" {
		return operator
	}
	inner, _, _ = strings.Cut(inner, ")")
	if _, other, ok := strings.Cut(inner, "?"); ok && other == ":PATH" {
		inner = other
	}
	return operator + "(" + strings.ToUpper(inner) + ")"
}

// apacheName drops what does not matter: %>s is s.
func apacheName(name string) string {
	name = strings.TrimLeft(name, "%!<>,0123456789")
	if n := strings.IndexByte(name, '}'); n > 0 {
		name = strings.ToLower(name[:n]) + name[n:]
	}
	return strings.ReplaceAll(name, "msec_frac", "usec_frac")
}
