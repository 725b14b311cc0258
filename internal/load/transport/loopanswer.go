package transport

import (
	"bytes"
	"net/http"
	"strings"
	"unsafe"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LoopAnswer is an answer of HTTP/1.1 that is whole and alone in a buffer, and whose header has nothing
// unusual. It is reused for many answers. Body and the values of Fields point into the parsed buffer and
// change with it.
type LoopAnswer struct {
	// Record tells, by its canonical name, which field is kept.
	Record func(name string) bool

	Status int
	// Fields are the kept fields in the order in which they arrived, with names in canonical form. A name may
	// be there more than once.
	Fields timeline.Fields
	// KeepAlive is the value of that field; "" for none.
	KeepAlive string
	Body      []byte

	known map[string]role
	// length is the length of the body by Content-Length; negative while unknown.
	length int
}

// role is what a field means to Parse.
type role struct {
	name string
	kept bool
	kind kind
}

type kind uint8

const (
	_ kind = iota // the field does not describe the message
	// unusual fields frame the message in another way, or net/http changes something because of them.
	unusual
	contentLength
	connection
	keepAlive
)

// mostKnown is how many names are remembered: a target may invent new ones without end.
const mostKnown = 1 << 10

// Parse reads b, an answer to GET or a similar method, and reports whether it can. It reports false for more
// or less than one answer, and for a body without Content-Length. It also refuses interim answers, 204, 304,
// 400, other versions, and malformed lines. A parser that can wait must read those. Parse reads nothing
// differently from net/http.
func (a *LoopAnswer) Parse(b []byte) bool {
	const version, shortest = "HTTP/1.1 ", len("HTTP/1.1 200 \r\n")
	if len(b) < shortest || string(b[:len(version)]) != version || b[12] != ' ' {
		return false
	}
	status, ok := number(b[9:12])
	if !ok || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified ||
		status == http.StatusBadRequest { // a port for TLS answers 400 to plain HTTP
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

// cutLine returns the first line of b without its end, and the rest. It reports false for a line without
// CRLF, or with bytes other than printable ASCII and tabs.
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
func (a *LoopAnswer) take(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 {
		return false
	}
	r, known := a.known[string(line[:colon])]
	if !known {
		r = a.learn(string(line[:colon]))
	}
	value := bytes.TrimSpace(line[colon+1:]) // spaces and tabs: cutLine refuses others
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
		text := unsafe.String(unsafe.SliceData(value), len(value))
		a.Fields = append(a.Fields, timeline.Field{Name: r.name, Value: text})
	}
	return true
}

// learn finds the role of a field and remembers it.
func (a *LoopAnswer) learn(name string) role {
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
	if !IsToken(name) {
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

// number reads one to six digits.
func number(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0 && len(b) <= 6
}
