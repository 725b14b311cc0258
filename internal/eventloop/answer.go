package eventloop

import (
	"bytes"
	"net/http"
	"strings"
	"unsafe"
)

// Answer is an answer of HTTP/1.1 that came whole and alone, and whose header has nothing unusual. It is used
// again and again. Its body and the values of its fields are parts of what was parsed, and change with that.
type Answer struct {
	// Record tells by its canonical name which field is kept.
	Record func(name string) bool

	Status int
	// Fields are those that are kept, in the order in which they came. A name may be there more than once.
	Fields []Field
	// KeepAlive is the value of that field, empty for none.
	KeepAlive string
	Body      []byte

	known map[string]role
	// length is that of the body by its header, negative for unknown.
	length int
}

// Field is one line of a header, its name in canonical form.
type Field struct{ Name, Value string }

// role is what a field is for.
type role struct {
	name string
	kept bool
	kind kind
}

type kind uint8

const (
	_ kind = iota // the field says nothing of the message
	// unusual fields frame the message in another way, or net/http makes something else of them.
	unusual
	contentLength
	connection
	keepAlive
)

// mostKnown is how many names are remembered: a target may make up new ones for ever.
const mostKnown = 1 << 10

// Parse reads b. It reports false for whatever is not such an answer to GET and the like: more or less than
// one answer, a body without its length, an interim answer, 204, 304 and 400, any other version, a line that
// is not as it should be. Then a parser is asked that can wait. What Parse reads is what net/http reads.
func (a *Answer) Parse(b []byte) bool {
	const version, shortest = "HTTP/1.1 ", len("HTTP/1.1 200 \r\n")
	if len(b) < shortest || string(b[:len(version)]) != version || b[12] != ' ' {
		return false
	}
	status, ok := number(b[9:12])
	if !ok || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified ||
		status == http.StatusBadRequest { // which may be said by a port for TLS
		return false
	}
	a.Status, a.Fields, a.KeepAlive, a.length = status, a.Fields[:0], "", -1
	_, b, ok = cutLine(b)
	for ok {
		var line []byte
		if line, b, ok = cutLine(b); ok && len(line) == 0 {
			a.Body = b
			return a.length == len(b)
		}
		ok = ok && a.take(line)
	}
	return false
}

// cutLine returns the first line of b without its end, and what follows. It reports false for a line that has
// no end, or bytes that are no part of a text.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return nil, nil, false
	}
	line = b[:end-1]
	for _, c := range line {
		if c < ' ' && c != '\t' || c > '~' {
			return nil, nil, false
		}
	}
	return line, b[end+1:], true
}

// take takes in one field. It reports false for an unusual one.
func (a *Answer) take(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 {
		return false
	}
	r, known := a.known[string(line[:colon])]
	if !known {
		r = a.learn(string(line[:colon]))
	}
	value := trim(line[colon+1:])
	switch r.kind {
	case unusual:
		return false
	case contentLength:
		n, ok := number(value)
		if !ok || a.length >= 0 {
			return false
		}
		a.length = n
	case connection:
		if !strings.EqualFold(string(value), "keep-alive") {
			return false
		}
	case keepAlive:
		if a.KeepAlive != "" {
			return false
		}
		a.KeepAlive = string(value)
	}
	if r.kept {
		a.Fields = append(a.Fields, Field{r.name, unsafe.String(unsafe.SliceData(value), len(value))})
	}
	return true
}

// trim returns b without the blanks around it.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// learn finds out what a field is for.
func (a *Answer) learn(name string) role {
	r := role{name: http.CanonicalHeaderKey(name)}
	switch r.name {
	case "Transfer-Encoding", "Trailer", "Upgrade", "Pragma":
		r.kind = unusual
	case "Content-Length":
		r.kind = contentLength
	case "Connection":
		r.kind = connection
	case "Keep-Alive":
		r.kind = keepAlive
	}
	if !token(name) {
		r.kind = unusual
	}
	r.kept = a.Record(r.name)
	if a.known == nil {
		a.known = map[string]role{}
	}
	if len(a.known) < mostKnown {
		a.known[name] = r
	}
	return r
}

// token tells whether a name is made of letters, digits and dashes.
func token(name string) bool {
	for _, c := range []byte(name) {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// number reads up to six digits.
func number(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0 && len(b) <= 6
}
