package timeline

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// MaxLine is the longest line of a timeline or schedule file in bytes, without its line end. Longer lines are
// neither written nor read.
const MaxLine = 1 << 20

// What a small compressed file may unpack to, and is not read to its end: a line of more than endlessLine
// bytes, or more than mostBlank blank lines in a row.
const (
	endlessLine = 64 << 20
	mostBlank   = 1 << 20
)

var (
	errEndless = errors.New("a line is longer than 64 MiB: this is no recording, and the rest is not read")
	errBlank   = errors.New("a million lines in a row are blank: this is no recording, and the rest is not " +
		"read")
)

// ErrLongLine is the error of a line of more than MaxLine bytes.
var ErrLongLine = errors.New("line too long")

// ReadFlaw explains any other error of Next: what is wrong with the file, why, and an edit that helps, which
// may be empty.
func ReadFlaw(err error) (what, why, mend string) {
	if packed.Flaw != nil {
		if what, why, mend = packed.Flaw(err); what != "" {
			return what, why, mend
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "end of the file", "the compressed data stops in the middle: the file is cut", "copy it again"
	case errors.Is(err, gzip.ErrHeader):
		return "end of the compressed data", "what follows it is not gzip", "copy it again"
	case errors.Is(err, gzip.ErrChecksum):
		return "the compressed data", "its checksum is wrong: the file is damaged", "copy it again"
	}
	if f := (formError{}); errors.As(err, &f) {
		return "the file", f.Error(), f.mend
	}
	return "reading", err.Error(), ""
}

// Lines reads a file line by line: plain, gzip or zstd (by its first bytes), with or without a byte order
// mark, with line ends LF or CRLF. Its memory is a buffer of 64 KiB and the longest line.
type Lines struct {
	raw  io.Reader
	r    *bufio.Reader
	long []byte
	// number is that of the last line.
	number int
	// blank is how many lines before the next one are blank.
	blank int
	// Cut: the last line had no line end.
	Cut bool
}

// NewLines returns the lines of r. It reads nothing before the first call of Next.
func NewLines(r io.Reader) *Lines { return &Lines{raw: r} }

// Next returns the next line without its line end, valid until the next call. The error is io.EOF at the end,
// ErrLongLine for a line that was skipped as too long, or that of the reader.
func (l *Lines) Next() ([]byte, error) {
	if l.r == nil {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	line, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = l.rest(line)
	}
	if len(line) == 0 { // only with an error
		return nil, err
	}
	l.number++
	if err != nil && err != io.EOF {
		return nil, err
	}
	l.Cut = err == io.EOF
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.blank++; len(bytes.TrimSpace(line)) > 0 {
		l.blank = 0
	}
	switch {
	case l.blank > mostBlank:
		return nil, errBlank
	case len(line) > MaxLine:
		return nil, ErrLongLine
	}
	return line, nil
}

// rest returns a line that does not fit the buffer and begins with start. Of a line that is too long, it
// keeps only enough to see that.
func (l *Lines) rest(start []byte) ([]byte, error) {
	l.long = append(l.long[:0], start...)
	for n := len(start); ; {
		part, err := l.r.ReadSlice('\n')
		if l.long[len(l.long)-1] == 0 && len(bytes.Trim(part, "\x00")) == 0 && err == bufio.ErrBufferFull {
			continue // of a hole that a rotation leaves, the first part is kept
		}
		if n += len(part); n > endlessLine {
			return l.long, errEndless
		}
		if len(l.long) <= MaxLine+2 {
			l.long = append(l.long, part...)
		}
		if err != bufio.ErrBufferFull {
			return l.long, err
		}
	}
}

// formError is the error of a file in an unknown form.
type formError struct{ form, mend string }

func (e formError) Error() string {
	return "it is " + e.form + "; plain text in UTF-8, gzip and zstd are read"
}

// forms are the first bytes of files in other forms.
var forms = []struct {
	magic string
	formError
}{
	{"\xfd7zXZ", formError{"compressed with xz", "xz -dc FILE | rlcheck check -"}},
	{"BZh", formError{"compressed with bzip2", "bzip2 -dc FILE | rlcheck check -"}},
	{"PK\x03\x04", formError{"a zip archive", "unzip -p FILE | rlcheck check -"}},
	{"\xff\xfe", formError{"in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | rlcheck check -"}},
	{"\xfe\xff", formError{"in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | rlcheck check -"}},
	// These were unpacked once before.
	{zstdMagic, formError{"compressed twice", "zstd -dc FILE | rlcheck check -"}},
	{"\x1f\x8b", formError{"compressed with gzip twice", "zcat FILE | rlcheck check -"}},
}

// zstdMagic is the beginning of a file that is compressed with zstd.
const zstdMagic = "\x28\xb5\x2f\xfd"

// unpacked returns the content of a compressed file, or nil if it is not compressed.
func unpacked(r *bufio.Reader) (io.Reader, error) {
	if magic, _ := r.Peek(2); string(magic) == "\x1f\x8b" {
		return gzip.NewReader(r)
	}
	if magic, _ := r.Peek(len(zstdMagic)); string(magic) == zstdMagic {
		if packed.Reader == nil {
			return nil, formError{"compressed with zstd", "zstd -dc FILE | rlcheck check -"}
		}
		return packed.Reader(r)
	}
	return nil, nil
}

// bareUTF16 tells whether text begins with a character of ASCII in UTF-16, without a byte order mark, and
// returns its encoding.
func bareUTF16(text []byte) (encoding string, is bool) {
	switch {
	case len(text) < 2 || (text[0] == 0) == (text[1] == 0),
		len(text) == 4 && (text[0] == 0) != (text[2] == 0): // one zero byte is a hole in a file
		return "", false
	case text[0] == 0:
		return "UTF-16BE", true
	}
	return "UTF-16LE", true
}

func (l *Lines) open() error {
	const size = 64 << 10
	l.r = bufio.NewReaderSize(l.raw, size)
	z, err := unpacked(l.r)
	if err != nil {
		l.number = 1
		return err
	}
	if z != nil {
		l.r = bufio.NewReaderSize(z, size)
	}
	for _, f := range forms {
		if magic, _ := l.r.Peek(len(f.magic)); string(magic) == f.magic {
			l.number = 1
			return f.formError
		}
	}
	begin, _ := l.r.Peek(4)
	if encoding, is := bareUTF16(begin); is {
		l.number = 1
		return formError{"in UTF-16", "iconv -f " + encoding + " -t UTF-8 FILE | rlcheck check -"}
	}
	if mark, _ := l.r.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		l.r.Discard(3) // Peek has buffered them, so it cannot fail
	}
	return nil
}

// Last returns the number of the last line, from 1. A problem of the whole file is reported there.
func (l *Lines) Last() int { return max(1, l.number) }

// Zstd reads files that are compressed with zstd. The command registers it. Other programs need no module for
// it, and read such files no more than those of xz.
type Zstd struct {
	// Reader unpacks r, and needs no Close.
	Reader func(r io.Reader) (io.Reader, error)
	// Flaw explains an error of Reader as ReadFlaw does. what is empty for any other error.
	Flaw func(err error) (what, why, mend string)
}

var packed Zstd

// RegisterZstd says how files of zstd are read. It is called while a program starts.
func RegisterZstd(z Zstd) { packed = z }

// readLine reads a line of NDJSON into o in one pass. false: it was the header, or had a problem.
func (r *Reader) readLine(line []byte, o *Observation) bool {
	*o = Observation{}
	r.seen, r.had, r.strays.set = 0, 0, 0
	before, ignored := r.problems.count, len(r.ignored)
	r.cursor = cursor{text: line}
	c := &r.cursor
	for k := 0; c.more(k); k++ {
		m, name := r.nextKey(k)
		if m == 0 && r.headers && string(name) == "rlcheck" {
			r.problems.cut(before)
			r.ignored = r.ignored[:ignored]
			if json.Valid(line) {
				r.takeHeader(objectMembers(line))
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
