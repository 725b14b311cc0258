package transport

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// together is the largest request that the pacer writes whole. A goroutine writes a longer body, so that a
// target that does not read cannot stop the schedule.
const together = 16 << 10

// MessageRequest is one request as bytes, shared by all sends of it.
type MessageRequest struct {
	// Head is the header block, followed by the body unless that is large.
	Head []byte
	// Cut is where a gate cuts Head: before the last two bytes of the header block.
	Cut int
	// Rest is a large body; nil otherwise.
	Rest []byte
	// H2 is the whole request for HTTP/2; nil otherwise.
	H2 *http2.Request
	// Asked tells the parser of the answer the method; nil for HTTP/2.
	Asked *http.Request
	// Last says that the request asks the target to close the connection.
	Last bool
	// Leaves says that the client closes the connection when it has the head of an admission.
	Leaves bool
}

// Wish is what distinguishes one request of a run from another.
type Wish struct {
	// Origin tells that the request goes to the origin instead of the target.
	Origin    bool
	Partition string
	Cost      int64
	// Forge are the names of fields that carry an invented address; may be empty.
	Forge []string
	// number selects the invented address or key. It is also the unique number of a request past caches.
	number int
	// Own is what a phase sets for its own requests; nil for nothing. Turn selects one of its spellings.
	Own  *timeline.Request
	Turn int
}

// newRequest serialises the request that o describes for one wish. Complete must have checked o, and CheckOwn
// must have checked Own.
func newRequest(o *Options, w Wish) *MessageRequest {
	u := o.URL
	if w.Origin {
		u = o.Origin
	}
	method, header := o.Method, o.Header
	path, query, key := u.EscapedPath(), u.RawQuery, keyOf(o, w)
	if w.Own != nil {
		method, header = cmp.Or(w.Own.Method, method), headerOf(w.Own, header)
		path, query = pathOf(w.Own, w.Turn, path, query)
	}
	v := varied(o, w)
	method, header = v.method(method), v.header(header, u)
	path, query = v.path(path, unseen(o, query, w.number))
	to, own, named := target(o.Partition, path, query, v.key(key))
	if w.Own != nil && w.Own.EmptyKey && o.Partition.Kind == ByHeader {
		own, named = [2]string{o.Partition.Name, o.Partition.Value("")}, true
	}
	if others := header.Values("Cookie"); named && o.Partition.Kind == ByCookie && len(others) > 0 {
		own[1] = strings.Join(others, "; ") + "; " + own[1]
	}
	m := message{method: method, target: v.again(to, o.Partition, key), version: v.version()}
	var keyed [][2]string
	if named {
		keyed = v.keyFields(own)
	}
	m.addFields(header, hostOf(u), own[0], keyed)
	if o.PastCaches != "" && header.Get("Cache-Control") == "" {
		m.add("Cache-Control", "no-cache")
	}
	if header.Get("Upgrade") != "" { // such as a WebSocket, which is closed once the answer has come
		m.add("Connection", "Upgrade")
	}
	if cost := v.cost(w.Cost / max(o.Each, 1)); o.CostHeader != "" && cost != "" {
		m.add(o.CostHeader, cost)
	}
	for _, name := range w.Forge {
		m.add(name, forgery(name, w))
	}
	body, other := v.addBody(&m)
	if !other {
		body = m.addBody(o, header, key)
	}
	last := strings.EqualFold(header.Get("Connection"), "close")
	if o.HTTP2 {
		return &MessageRequest{H2: m.streamed(u.Scheme, body), Last: last}
	}
	if o.Proxy != nil && u.Scheme == "http" {
		m.viaProxy(o.Proxy, u)
	}
	r := m.plain(body)
	r.Last = last || m.version == oldVersion
	r.Leaves = v.is(timeline.Leaves)
	return r
}

// keyOf returns the name of the client of a wish on the wire.
func keyOf(o *Options, w Wish) string {
	key := w.Partition
	if w.Own != nil {
		key = w.Own.Key(key)
	}
	if issued, ok := o.Keys[key]; ok {
		key = issued
	}
	if w.Own != nil && w.Own.Mint {
		key = minted(o, key, w.number)
	}
	return key
}

// pastCaches is the query parameter that makes the URL of a request one that no cache has seen.
const pastCaches = "rlcheck-past-caches"

// unseen adds the parameter of request n to a query, if requests go past caches.
func unseen(o *Options, query string, n int) string {
	if o.PastCaches == "" {
		return query
	}
	own := pastCaches + "=" + url.QueryEscape(o.PastCaches) + "." + strconv.Itoa(n)
	return strings.TrimPrefix(query+"&"+own, "&")
}

// message is a request before it is encoded for a protocol.
type message struct {
	method, target, version string
	fields                  [][2]string
}

func (m *message) add(name, value string) { m.fields = append(m.fields, [2]string{name, value}) }

// addFields adds the fields of every request. It then adds keyed, the lines by which the client names itself.
// They replace the field called own.
func (m *message) addFields(header http.Header, host, own string, keyed [][2]string) {
	m.add("Host", cmp.Or(header.Get("Host"), host))
	m.add("User-Agent", cmp.Or(header.Get("User-Agent"), "rlcheck/1"))
	m.add("Accept", cmp.Or(header.Get("Accept"), "*/*"))
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

// addBody returns the body for the client named key, and adds the fields that describe it.
func (m *message) addBody(o *Options, header http.Header, key string) []byte {
	body, media := bodyOf(o.Partition, o.Body, key)
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
func (m *message) plain(body []byte) *MessageRequest {
	b := make([]byte, 0, 256+len(m.target))
	b = append(b, m.method+" "+m.target+" "+m.version+"\r\n"...)
	for _, f := range m.fields {
		b = append(b, f[0]+": "+f[1]+"\r\n"...)
	}
	r := &MessageRequest{Cut: len(b), Asked: &http.Request{Method: m.method}}
	r.Head = append(b, "\r\n"...)
	if len(r.Head)+len(body) <= together {
		r.Head = append(r.Head, body...)
	} else {
		r.Rest = body
	}
	return r
}

// streamed encodes m for HTTP/2: names in lower case, and no field about the connection (RFC 9113 section
// 8.2.2).
func (m *message) streamed(scheme string, body []byte) *http2.Request {
	r := &http2.Request{Body: body, Fields: []http2.Field{{Name: ":method", Value: m.method},
		{Name: ":scheme", Value: scheme}, {Name: ":path", Value: m.target}, {Name: ":authority", Value: ""}}}
	for _, f := range m.fields {
		switch name := strings.ToLower(f[0]); name {
		case "host":
			r.Fields[3].Value = f[1]
		case "connection", "keep-alive", "proxy-connection", "upgrade":
		default:
			r.Fields = append(r.Fields, http2.Field{Name: name, Value: f[1]})
		}
	}
	if GRPCIs(http2.Value(r.Fields, "content-type")) {
		r.Fields = append(r.Fields, http2.Field{Name: "te", Value: "trailers"})
	}
	return r
}

// names returns the names of the extra fields in ascending order. Host, User-Agent and Accept are left out:
// they are written first.
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

// CheckHeader tells whether the extra fields can be sent as they are. Their names must be in canonical form.
func CheckHeader(h http.Header) error {
	for name, values := range h {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("header %q: %w", name, err)
		}
		if name != http.CanonicalHeaderKey(name) {
			return fmt.Errorf("header %q: a name is kept in canonical form (write %q)", name,
				http.CanonicalHeaderKey(name))
		}
		for _, v := range values {
			if err := CheckValue(v); err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
		}
	}
	return nil
}

// CheckName tells whether name is a token and names no field that frames the message.
func CheckName(name string) error {
	if !IsToken(name) {
		return fmt.Errorf("name %q: a field name is made of letters, digits and !#$%%&'*+-.^_`|~", name)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Transfer-Encoding", "Trailer", "Te":
		return fmt.Errorf("name %q: rlcheck frames the message itself (leave it out)", name)
	}
	return nil
}

// IsToken tells whether s is a token (RFC 9110 section 5.6.2).
func IsToken(s string) bool {
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

// CheckValue tells whether v is a field value (RFC 9110 section 5.5). The error does not quote the value: it
// may be a secret.
func CheckValue(v string) error {
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

// key identifies a request that is made once and used again.
type key struct {
	origin    bool
	partition string
	cost      int64
	own       *timeline.Request
	turn      int
}

// Requests makes the requests of a recording. Several goroutines may use it.
type Requests struct {
	o *Options
	// numbered counts the wishes that got a number.
	numbered atomic.Int64

	mu   sync.Mutex
	made map[key]*MessageRequest
}

// NewRequests returns the requests that o describes. Their numbers follow those of the recorders before this
// one.
func NewRequests(o *Options) *Requests {
	r := &Requests{o: o, made: map[key]*MessageRequest{}}
	if o.Share != nil {
		r.numbered.Store(int64(o.Share.Forged))
	}
	return r
}

// Of returns the request for a wish that was checked. It makes each request once, unless the request has an
// invented address or key or a unique number.
func (r *Requests) Of(w Wish) *MessageRequest {
	if len(w.Forge) > 0 || w.Own != nil && w.Own.Mint || r.o.PastCaches != "" {
		w.number = int(r.numbered.Add(1))
		return newRequest(r.o, w)
	}
	k := key{w.Origin, w.Partition, w.Cost, nil, 0}
	if w.Own != nil && !w.Own.IsZero() {
		k.own = w.Own
		if n := len(w.Own.Spellings); n > 0 {
			k.turn = w.Turn % n
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	req, ok := r.made[k]
	if !ok {
		req = newRequest(r.o, w)
		r.made[k] = req
	}
	return req
}

// headerOf returns the extra fields of a phase's requests: the fields of all, with the phase's own in place
// of them.
func headerOf(own *timeline.Request, all http.Header) http.Header {
	if len(own.Header) == 0 && !own.Fresh {
		return all
	}
	h := all.Clone()
	if h == nil {
		h = http.Header{}
	}
	for name, v := range own.Header {
		h[name] = []string{v}
	}
	if own.Fresh {
		h["Connection"] = []string{"close"}
	}
	return h
}

// pathOf returns the path and query of a phase's request number turn, as they are written.
func pathOf(own *timeline.Request, turn int, path, query string) (string, string) {
	if own.Path != "" {
		path, query, _ = strings.Cut(own.Path, "?")
	}
	if n := len(own.Spellings); n > 0 {
		return respell(own.Spellings[turn%n], path, query)
	}
	return path, query
}

// respell writes a path in another way (see timeline.Spelling). Upper and Encoded do not change a path
// without letters.
func respell(s timeline.Spelling, path, query string) (string, string) {
	path = cmp.Or(path, "/")
	switch s {
	case timeline.Doubled:
		path = "/" + path
	case timeline.Dotted:
		path = "/." + path
	case timeline.Trailing:
		path += "/"
	case timeline.Upper:
		path = lettered(path, strings.ToUpper)
	case timeline.Encoded:
		path = lettered(path, func(letter string) string { return fmt.Sprintf("%%%02X", letter[0]) })
	case timeline.Queried:
		if query != "" {
			query += "&"
		}
		query += "rlcheck=1"
	}
	return path, query
}

// letters finds the letters of a path, and whole percent-encodings, which stay as they are.
var letters = regexp.MustCompile(`%..|[A-Za-z]`)

// lettered returns path with each letter replaced.
func lettered(path string, put func(letter string) string) string {
	return letters.ReplaceAllStringFunc(path, func(s string) string {
		if s[0] == '%' {
			return s
		}
		return put(s)
	})
}

// checkMethod tells whether a method can be sent; "" is the usual one.
func checkMethod(method string) error {
	switch {
	case method != "" && !IsToken(method):
		return fmt.Errorf("method %q: a method is a token such as GET", method)
	case method == http.MethodConnect:
		return errors.New("method CONNECT: it turns the connection into a tunnel (use another)")
	}
	return nil
}

// CheckOwn tells whether what a phase sets for its own requests can be sent.
func CheckOwn(own *timeline.Request) error {
	if err := checkMethod(own.Method); err != nil {
		return err
	}
	raw := func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }
	if own.Path != "" && (own.Path[0] != '/' || strings.ContainsFunc(own.Path, raw)) {
		return fmt.Errorf("path %q: a path begins with a slash, and everything but printable ASCII is "+
			"escaped", own.Path)
	}
	for name, v := range own.Header {
		if err := CheckHeader(http.Header{name: {v}}); err != nil {
			return err
		}
	}
	for _, key := range own.Keys {
		if err := CheckValue(key); err != nil {
			return fmt.Errorf("key of a partition: %w", err)
		}
	}
	return nil
}
