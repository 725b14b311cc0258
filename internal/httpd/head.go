package httpd

import (
	"net/http"
	"net/textproto"
	"strings"
)

// head is the header block of a request (RFC 9112). Each request of a connection fills it anew, and it keeps
// its memory.
type head struct {
	method, uri, host string
	// minor is n of HTTP/1.n.
	minor  int
	header http.Header
	// length is the number of bytes of the body, or `chunked`.
	length int64
	// close tells that the connection ends with the answer. keep tells that a client of HTTP/1.0 asked to
	// keep it open.
	close, keep bool
	// expect tells that the client waits for 100 (Continue) before it sends the body.
	expect bool
	// values holds the memory of the values of header.
	values []string
	// odd are the lines that are not written as usual: a name that is not canonical, or more than one space.
	odd []string
}

// chunked is the length of a body whose end is marked in the body itself.
const chunked = -1

// refusal is the answer to an invalid request. The connection ends with it. The zero value is no refusal.
type refusal struct {
	status int
	why    string
}

func badRequest(why string) refusal { return refusal{http.StatusBadRequest, why} }

// parse reads a block that ends with an empty line. Lines may end without a carriage return. The strings of h
// are parts of block.
func (h *head) parse(block string) refusal {
	clear(h.header)
	if h.header == nil {
		h.header = http.Header{}
	}
	*h = head{header: h.header, values: h.values[:0], odd: h.odd[:0]}
	line, rest := cutLine(block)
	if r := h.requestLine(line); r.status != 0 {
		return r
	}
	for line, rest = cutLine(rest); line != ""; line, rest = cutLine(rest) {
		if r := h.field(line); r.status != 0 {
			return r
		}
	}
	return h.complete()
}

// cutLine returns the first line of text without its end, and the rest.
func cutLine(text string) (line, rest string) {
	i := strings.IndexByte(text, '\n')
	if i < 0 {
		return "", ""
	}
	return strings.TrimSuffix(text[:i], "\r"), text[i+1:]
}

// requestLine reads METHOD TARGET HTTP/1.n.
func (h *head) requestLine(line string) refusal {
	method, rest, _ := strings.Cut(line, " ")
	uri, version, found := strings.Cut(rest, " ")
	if !found || !IsToken(method) || !isTarget(uri) {
		return badRequest("the first line is not METHOD TARGET HTTP/1.1")
	}
	switch version {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		if len(version) == 8 && strings.HasPrefix(version, "HTTP/") && isDigit(version[5]) &&
			version[6] == '.' && isDigit(version[7]) {
			return refusal{http.StatusHTTPVersionNotSupported, "the versions are HTTP/1.0 and HTTP/1.1"}
		}
		return badRequest("the first line is not METHOD TARGET HTTP/1.1")
	}
	h.method, h.uri = method, uri
	return refusal{}
}

// field reads NAME: VALUE.
func (h *head) field(line string) refusal {
	name, value, found := strings.Cut(line, ":")
	if !found || !IsToken(name) {
		return badRequest("a header field is NAME: VALUE, and none is folded over two lines")
	}
	spaces := len(value)
	value = strings.Trim(value, " \t")
	spaces -= len(value)
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return badRequest("a header field has no control characters")
		}
	}
	if known := canonical(name); known != name || spaces > 1 {
		name, h.odd = known, append(h.odd, line)
	}
	if old := h.header[name]; old != nil {
		h.header[name] = append(old, value)
		return refusal{}
	}
	h.values = append(h.values, value)
	n := len(h.values)
	h.header[name] = h.values[n-1 : n : n]
	return refusal{}
}

// complete reads what the fields say about the message.
func (h *head) complete() refusal {
	switch hosts := h.header["Host"]; {
	case len(hosts) > 1 || len(hosts) == 0 && h.minor == 1:
		return badRequest("a request of HTTP/1.1 has one Host")
	case len(hosts) == 1:
		h.host = hosts[0]
		delete(h.header, "Host")
	}
	for _, v := range h.header["Connection"] {
		for option := range strings.SplitSeq(v, ",") {
			switch option = strings.Trim(option, " \t"); {
			case strings.EqualFold(option, "close"):
				h.close = true
			case strings.EqualFold(option, "keep-alive"):
				h.keep = true
			}
		}
	}
	if h.minor == 0 && !h.keep {
		h.close = true
	}
	for _, v := range h.header["Expect"] {
		if !strings.EqualFold(v, "100-continue") {
			return refusal{http.StatusExpectationFailed, "the only expectation is 100-continue"}
		}
		h.expect = h.minor == 1
	}
	return h.body()
}

// body finds the length of the body. It refuses what another reader could understand differently (RFC 9112
// section 6.3).
func (h *head) body() refusal {
	lengths, codings := h.header["Content-Length"], h.header["Transfer-Encoding"]
	switch {
	case len(codings) > 0 && (len(lengths) > 0 || h.minor == 0):
		return badRequest("a chunked body has no Content-Length, and HTTP/1.0 knows none")
	case len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return refusal{http.StatusNotImplemented, "the only transfer coding is chunked"}
	case len(codings) == 1:
		h.length = chunked
		return refusal{}
	}
	for i, v := range lengths {
		n, ok := parseLength(v)
		if !ok || i > 0 && n != h.length {
			return badRequest("Content-Length is one number of bytes")
		}
		h.length = n
	}
	return refusal{}
}

// parseLength returns the number that v writes in decimal digits, 18 at most.
func parseLength(v string) (int64, bool) {
	if v == "" || len(v) > 18 {
		return 0, false
	}
	n := int64(0)
	for i := range len(v) {
		if !isDigit(v[i]) {
			return 0, false
		}
		n = 10*n + int64(v[i]-'0')
	}
	return n, true
}

// canonical returns the canonical form of a field name, which is a token. It returns name itself if that is
// canonical.
func canonical(name string) string {
	upper := true
	for i := range len(name) {
		c := name[i]
		if upper && 'a' <= c && c <= 'z' || !upper && 'A' <= c && c <= 'Z' {
			return textproto.CanonicalMIMEHeaderKey(name)
		}
		upper = c == '-'
	}
	return name
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// tokenBytes are the bytes of a token (RFC 9110 section 5.6.2).
var tokenBytes = func() (set [256]bool) {
	for c := range 256 {
		b := byte(c)
		set[c] = isDigit(b) || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || c < 0x80 &&
			strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
	}
	return set
}()

// IsToken tells whether s is a token (RFC 9110 section 5.6.2). Methods and field names are tokens.
func IsToken(s string) bool {
	for i := range len(s) {
		if !tokenBytes[s[i]] {
			return false
		}
	}
	return s != ""
}

// isTarget tells whether s is not empty and has only visible ASCII characters.
func isTarget(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != ""
}
