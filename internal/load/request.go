package load

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/load/grpc"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// together is the largest request that is written whole by the pacer; a longer body follows from a goroutine,
// so that a target which does not read cannot stop the schedule.
const together = 16 << 10

// request is one request as bytes, shared by all that send it.
type request struct {
	// head is the header block, followed by the body unless that is large.
	head []byte
	// cut is where a gate cuts: all but the last two bytes of the header block come before it.
	cut int
	// rest is a large body; nil otherwise.
	rest []byte
	// h2 is all of it for HTTP/2; nil otherwise.
	h2 *http2.Request
	// asked tells the parser the method.
	asked *http.Request
	// last says that the request asks for the connection to be closed.
	last bool
}

// wish is what tells one request of a run from another.
type wish struct {
	origin    bool
	partition string
	cost      int64
	// forge are the names of fields that carry an invented address.
	forge []string
	// number is that of the invented address or key, and of a request that asks past caches.
	number int
	// own is what a phase's requests have of their own, nil for nothing; turn is which of its spellings is
	// meant.
	own  *timeline.Request
	turn int
}

// newRequest serialises the request that o describes for one wish, both of them checked before.
func newRequest(o *Options, w wish) *request {
	u := o.URL
	if w.origin {
		u = o.Origin
	}
	method, header := o.Method, o.Header
	path, query, key := u.EscapedPath(), u.RawQuery, o.keyOf(w)
	if w.own != nil {
		method, header = methodOf(w.own, method), headerOf(w.own, header)
		path, query = pathOf(w.own, w.turn, path, query)
	}
	v := varied(o, w)
	method, header = v.method(method), v.header(header, u)
	path, query = v.path(path, o.unseen(query, w.number))
	target, own, named := o.Partition.target(path, query, v.key(key))
	if others := header.Values("Cookie"); named && o.Partition.Kind == kindCookie && len(others) > 0 {
		own[1] = strings.Join(others, "; ") + "; " + own[1]
	}
	m := message{method: method, target: v.again(target, o.Partition, key), version: v.version()}
	var keyed [][2]string
	if named {
		keyed = v.keyFields(own)
	}
	m.addFields(header, hostOf(u), own[0], keyed)
	if o.PastCaches != "" && header.Get("Cache-Control") == "" {
		m.add("Cache-Control", "no-cache")
	}
	if o.CostHeader != "" && w.cost > 1 {
		m.add(o.CostHeader, strconv.FormatInt(w.cost, 10))
	}
	for _, name := range w.forge {
		m.add(name, forgery(name, w))
	}
	body := m.addBody(o, header, key)
	last := strings.EqualFold(header.Get("Connection"), "close")
	if o.HTTP2 {
		return &request{h2: m.streamed(u.Scheme, body), last: last}
	}
	if o.Proxy != nil && u.Scheme == "http" {
		m.viaProxy(o.Proxy, u)
	}
	r := m.plain(body)
	r.last = last || m.version == oldVersion
	return r
}

// keyOf returns the name that the client of a wish has on the wire.
func (o *Options) keyOf(w wish) string {
	key := w.partition
	if w.own != nil {
		key = w.own.Key(key)
	}
	if issued, ok := o.Keys[key]; ok {
		key = issued
	}
	if w.own != nil && w.own.Mint {
		key = o.minted(key, w.number)
	}
	return key
}

// pastCaches is the query parameter that makes the URL of a request one that no cache has seen.
const pastCaches = "rlcheck-past-caches"

// unseen adds the parameter of request n to a query, where requests are to get past caches.
func (o *Options) unseen(query string, n int) string {
	if o.PastCaches == "" {
		return query
	}
	own := pastCaches + "=" + url.QueryEscape(o.PastCaches) + "." + strconv.Itoa(n)
	return strings.TrimPrefix(query+"&"+own, "&")
}

// message is a request before it has the form of a protocol.
type message struct {
	method, target, version string
	fields                  [][2]string
}

func (m *message) add(name, value string) { m.fields = append(m.fields, [2]string{name, value}) }

// addFields adds the fields of every request, and then the lines by which the client names itself, which
// replace the field called own.
func (m *message) addFields(header http.Header, host, own string, keyed [][2]string) {
	m.add("Host", first(header, "Host", host))
	m.add("User-Agent", first(header, "User-Agent", "rlcheck/1"))
	m.add("Accept", first(header, "Accept", "*/*"))
	for _, name := range names(header) {
		if len(keyed) > 0 && name == own {
			continue
		}
		for _, v := range header[name] {
			m.add(name, v)
		}
	}
	m.fields = append(m.fields, keyed...)
}

// addBody returns the body for the client named key, and adds what the header says of it.
func (m *message) addBody(o *Options, header http.Header, key string) []byte {
	body, media := o.Partition.body(o.Body, key)
	if media != "" && header.Get("Content-Type") == "" {
		m.add("Content-Type", media)
	}
	if len(body) > 0 || m.method == http.MethodPost || m.method == http.MethodPut ||
		m.method == http.MethodPatch {
		m.add("Content-Length", strconv.Itoa(len(body)))
	}
	return body
}

// plain writes m as HTTP/1.1.
func (m *message) plain(body []byte) *request {
	b := make([]byte, 0, 256+len(m.target))
	b = append(b, m.method+" "+m.target+" "+m.version+"\r\n"...)
	for _, f := range m.fields {
		b = append(b, f[0]+": "+f[1]+"\r\n"...)
	}
	r := &request{cut: len(b), asked: &http.Request{Method: m.method}}
	r.head = append(b, "\r\n"...)
	if len(r.head)+len(body) <= together {
		r.head = append(r.head, body...)
	} else {
		r.rest = body
	}
	return r
}

// streamed makes m a request of HTTP/2: names in lower case, no field of a connection (RFC 9113 section
// 8.2.2).
func (m *message) streamed(scheme string, body []byte) *http2.Request {
	r := &http2.Request{Body: body, Fields: []http2.Field{{Name: ":method", Value: m.method},
		{Name: ":scheme", Value: scheme},
		{Name: ":path", Value: m.target}, {Name: ":authority", Value: ""}}}
	for _, f := range m.fields {
		switch name := strings.ToLower(f[0]); name {
		case "host":
			r.Fields[3].Value = f[1]
		case "connection", "keep-alive", "proxy-connection":
		default:
			r.Fields = append(r.Fields, http2.Field{Name: name, Value: f[1]})
		}
	}
	if grpc.Is(http2.Value(r.Fields, "content-type")) {
		r.Fields = append(r.Fields, http2.Field{Name: "te", Value: "trailers"})
	}
	return r
}

func first(h http.Header, name, otherwise string) string {
	if v := h.Get(name); v != "" {
		return v
	}
	return otherwise
}

// names returns the extra fields in the order they are written, without those that have a place of their own.
func names(h http.Header) []string {
	var out []string
	for name := range h {
		if name != "Host" && name != "User-Agent" && name != "Accept" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// checkHeader tells whether the extra fields can be sent as they are.
func checkHeader(h http.Header) error {
	for name, values := range h {
		if err := checkName(name); err != nil {
			return fmt.Errorf("header %q: %w", name, err)
		}
		if name != http.CanonicalHeaderKey(name) {
			return fmt.Errorf("header %q: a name is kept in canonical form (write %q)", name,
				http.CanonicalHeaderKey(name))
		}
		for _, v := range values {
			if err := checkValue(v); err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
		}
	}
	return nil
}

// checkName tells whether name is a token (RFC 9110 section 5.6.2) and does not frame the message.
func checkName(name string) error {
	if !isToken(name) {
		return fmt.Errorf("name %q: a field name is made of letters, digits and !#$%%&'*+-.^_`|~", name)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Upgrade":
		return fmt.Errorf("name %q: rlcheck frames the message itself (leave it out)", name)
	}
	return nil
}

func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !(c >= '0' && c <= '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

var errValue = errors.New("a field value has no control characters such as CR or LF, and no space at its " +
	"ends")

// checkValue tells whether v is a field value (RFC 9110 section 5.5). The value is not quoted in the error:
// it may be a secret.
func checkValue(v string) error {
	for i := 0; i < len(v); i++ {
		if (v[i] < ' ' && v[i] != '\t') || v[i] == 0x7f {
			return errValue
		}
	}
	if v != strings.Trim(v, " \t") {
		return errValue
	}
	return nil
}
