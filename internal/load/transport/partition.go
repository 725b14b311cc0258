package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Partition says how the name of a partition becomes part of a request. The zero value leaves it out.
type Partition struct {
	// Kind is header, address, path, query, cookie or body; "" for none.
	Kind string
	// Name is the name of the header field, in canonical form, query parameter, cookie or body field; "" for
	// the other kinds.
	Name string
	// Format is the value of a header field in which {key} stands for the name; "" for the name alone.
	Format string
}

// The kinds of Partition.
const (
	byNone    = ""
	ByHeader  = "header"
	ByAddress = "address"
	ByPath    = "path"
	ByQuery   = "query"
	ByCookie  = "cookie"
	ByBody    = "body"
)

// inFormat stands for the name in a Format.
const inFormat = "{key}"

// String returns header:NAME, header:NAME: FORMAT, query:NAME, cookie:NAME, body:NAME, address or path; ""
// for the zero value.
func (p Partition) String() string {
	if p.Name == "" {
		return p.Kind
	}
	if p.Format != "" {
		return p.Kind + ":" + p.Name + ": " + p.Format
	}
	return p.Kind + ":" + p.Name
}

// Value returns the value of the header field that names a partition. Its Kind is ByHeader.
func (p Partition) Value(name string) string {
	if p.Format == "" {
		return name
	}
	return strings.ReplaceAll(p.Format, inFormat, name)
}

// check tells whether p can be used with the target u. A header field must not frame the message.
func (p Partition) check(u *url.URL) error {
	var err error
	switch host := u.Hostname(); p.Kind {
	case byNone, ByPath:
	case ByAddress:
		a, _ := netip.ParseAddr(host) // a name has no address
		if host != "localhost" && !(a.Is4() && a.IsLoopback()) {
			err = fmt.Errorf("%s: only 127.0.0.0/8 has many source addresses (use a target on 127.0.0.1)",
				host)
		}
	case ByHeader:
		err = CheckHeader(http.Header{p.Name: {p.Format}})
		if p.Format != "" && !strings.Contains(p.Format, inFormat) {
			err = fmt.Errorf("the format has no %s", inFormat)
		}
	case ByQuery, ByBody:
		if p.Name == "" {
			err = fmt.Errorf("it has no name (write %s:key)", p.Kind)
		}
	case ByCookie:
		if !IsToken(p.Name) {
			err = errors.New("a cookie has an HTTP token for a name (write cookie:session)")
		}
	default:
		err = errors.New("there is no such kind (write header, query, cookie, body, path or address)")
	}
	if err != nil {
		return fmt.Errorf("partition %s: %w", p, err)
	}
	return nil
}

// target returns the request target for the partition named name, made of a path and a query. field is the
// header field that names the partition; ok is false if there is none. An empty name adds nothing.
func target(p Partition, path, query, name string) (target string, field [2]string, ok bool) {
	if name == "" {
		return join(path, query), field, false
	}
	switch p.Kind {
	case ByHeader:
		return join(path, query), [2]string{p.Name, p.Value(name)}, true
	case ByCookie:
		return join(path, query), [2]string{"Cookie", p.Name + "=" + name}, true
	case ByPath:
		path = strings.TrimSuffix(path, "/") + "/" + url.PathEscape(name)
	case ByQuery:
		if query != "" {
			query += "&"
		}
		query += url.QueryEscape(p.Name) + "=" + url.QueryEscape(name)
	}
	return join(path, query), field, false
}

func join(path, query string) string {
	path = cmp.Or(path, "/")
	if query == "" {
		return path
	}
	return path + "?" + query
}

// bodyOf returns the body of a request of the client named key. If the partition stands in the body, the key
// is in a field of a JSON object, or else of a form. media is the media type of that body, "" otherwise.
func bodyOf(p Partition, body []byte, key string) (out []byte, media string) {
	if p.Kind != ByBody || key == "" {
		return body, ""
	}
	if object := map[string]json.RawMessage{}; json.Unmarshal(body, &object) == nil {
		object[p.Name], _ = json.Marshal(key) // every string can be written as JSON
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(object) == nil {
			return bytes.TrimSpace(b.Bytes()), "application/json"
		}
	}
	form, _ := url.ParseQuery(string(body)) // what cannot be read is left out
	form.Set(p.Name, key)
	return []byte(form.Encode()), "application/x-www-form-urlencoded"
}

// minted returns the name on the wire of request n of a phase in which each request uses another name.
func minted(o *Options, key string, n int) string {
	if len(o.Minted) > 0 {
		return o.Minted[n%len(o.Minted)]
	}
	return fmt.Sprintf("%s.%d", key, n)
}

// source returns the loopback address of the partition with number k. If its name is an address, that is the
// one. Otherwise it is the one k after 127.1.0.1; addresses that end in 0 or 255 are skipped.
func source(name string, k int) netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		return a
	}
	return netip.AddrFrom4([4]byte{127, byte(1 + k/254/256%254), byte(k / 254 % 256), byte(1 + k%254)})
}

// sources is how many addresses source can return.
const sources = 254 * 256 * 254

// firstNumber returns the number of the first partition of a run. It is a hash of the name without the digits
// at its end. Partitions that are new in each run have the id of the run in their names. So they get
// addresses that no run before used.
func firstNumber(name string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.TrimRight(name, "0123456789"))) // a hash returns no error
	return int(h.Sum64() % sources)
}

// number returns the number of a partition. A new name gets a new number.
func (t *Transport) number(name string) int {
	n, ok := t.numbers[name]
	if !ok {
		if len(t.numbers) == 0 {
			t.first = firstNumber(name)
		}
		n = t.first + len(t.numbers)
		t.numbers[name] = n
	}
	return n
}

// forgery returns the invented client address of a wish, in the notation of the field called name.
func forgery(name string, w Wish) string {
	a := invented(w)
	switch {
	case http.CanonicalHeaderKey(name) != "Forwarded":
		return a.String()
	case a.Is4():
		return "for=" + a.String()
	default:
		// RFC 7239, section 6: an IPv6 address stands in brackets and quotes
		return `for="[` + a.String() + `]"`
	}
}

// invented returns the invented client address for the number of a wish. By default it is in 198.18.0.0/15,
// which is nobody's (RFC 2544 section 7). OneNetwork invents IPv6 addresses of one /64 for each partition
// (2001:db8::/32). TwoSpellings invents one IPv4 address for each partition, in turn plain and IPv4-mapped.
func invented(w Wish) netip.Addr {
	n := w.number
	h := fnv.New32a()
	_, _ = h.Write([]byte(w.Partition)) // a hash returns no error
	own := h.Sum32()
	switch w.addresses() {
	case timeline.OneNetwork:
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(own >> 24), byte(own >> 16),
			byte(own >> 8), byte(own), 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)})
	case timeline.TwoSpellings:
		a := netip.AddrFrom4([4]byte{198, byte(18 + own>>16&1), byte(own >> 8), byte(own)})
		if n%2 == 1 {
			a = netip.AddrFrom16(a.As16())
		}
		return a
	default:
		return netip.AddrFrom4([4]byte{198, byte(18 + n>>16&1), byte(n >> 8), byte(n)})
	}
}

// addresses returns which addresses the phase of a wish invents.
func (w *Wish) addresses() timeline.Addresses {
	if w.Own == nil {
		return ""
	}
	return w.Own.Addresses
}

// variation is the attribute in which a request differs from the plain requests of its client; "" for none.
type variation timeline.Attribute

func varied(o *Options, w Wish) variation {
	if w.Own == nil || !timeline.IsOtherSide(w.Partition) || o.HTTP2 && onlyHTTP1(w.Own.Vary) {
		return ""
	}
	return variation(w.Own.Vary)
}

// onlyHTTP1 tells whether requests of HTTP/2 cannot differ in an attribute.
func onlyHTTP1(a timeline.Attribute) bool {
	return a == timeline.KeyFieldCase || a == timeline.KeySpaces || a == timeline.HTTPVersion ||
		a == timeline.Chunked || a == timeline.Leaves
}

func (v variation) is(a timeline.Attribute) bool { return timeline.Attribute(v) == a }

func (v variation) method(method string) string {
	switch a := timeline.Attribute(v); a {
	case timeline.MethodHead, timeline.MethodPost, timeline.MethodOptions:
		return a.Row().Other
	}
	return method
}

// path returns a path and a query as they are sent.
func (v variation) path(path, query string) (string, string) {
	ways := map[timeline.Attribute]timeline.Spelling{
		timeline.PathCase: timeline.Upper, timeline.PathSlashes: timeline.Doubled,
		timeline.PathLastSlash: timeline.Trailing, timeline.PathDots: timeline.Dotted,
		timeline.PathEncoding: timeline.Encoded, timeline.QueryString: timeline.Queried,
	}
	if v.is(timeline.PathExtension) {
		return path + ".json", query
	}
	if way, ok := ways[timeline.Attribute(v)]; ok {
		return respell(way, path, query)
	}
	return path, query
}

// header returns the fields of a request to u, which has all of these.
func (v variation) header(all http.Header, u *url.URL) http.Header {
	fields := timeline.Attribute(v).Row().Fields
	if fields == nil {
		return all
	}
	out := all.Clone()
	if out == nil {
		out = http.Header{}
	}
	for _, f := range fields {
		switch {
		case v.is(timeline.HostPort):
			f[1] = otherPort(cmp.Or(all.Get("Host"), hostOf(u)), u.Scheme)
		case v.is(timeline.Cookie):
			f[1] = strings.Join(append(all.Values("Cookie"), f[1]), "; ")
		}
		out.Set(f[0], f[1])
	}
	return out
}

// otherPort returns host without its port, or, if it has none, with the port of the scheme.
func otherPort(host, scheme string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	if scheme == "https" {
		return host + ":443"
	}
	return host + ":80"
}

// key returns the name of the client on the wire.
func (v variation) key(key string) string {
	if v.is(timeline.KeyCase) {
		return strings.ToUpper(key)
	}
	return key
}

// cost returns what a request of n units states as its cost. Empty: nothing, which is one unit.
func (v variation) cost(n int64) string {
	if a := timeline.Attribute(v); a.IsCost() {
		return strings.TrimPrefix(a.Row().Other, "X-Cost: ")
	}
	if n > 1 {
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// keyFields returns the header lines by which the client names itself: one, or two under KeyTwice.
func (v variation) keyFields(own [2]string) [][2]string {
	switch timeline.Attribute(v) {
	case timeline.KeyFieldCase:
		own[0] = strings.ToLower(own[0])
	case timeline.KeySpaces:
		own[1] = "  " + own[1] + "  "
	case timeline.KeyTwice:
		return [][2]string{own, own}
	}
	return [][2]string{own}
}

// again returns a request target that names the client twice in the query, if the variation asks for that.
func (v variation) again(target string, p Partition, key string) string {
	if !v.is(timeline.KeyTwice) || p.Kind != ByQuery {
		return target
	}
	return target + "&" + url.QueryEscape(p.Name) + "=" + url.QueryEscape(key)
}

// addBody returns the body of the variation, and adds the field that says its length. ok=false: it has none.
func (v variation) addBody(m *message) (body []byte, ok bool) {
	switch timeline.Attribute(v) {
	case timeline.Content:
		m.add("Content-Length", "2")
		return []byte("{}"), true
	case timeline.Chunked:
		m.add("Transfer-Encoding", "chunked")
		return []byte("2\r\n{}\r\n0\r\n\r\n"), true
	}
	return nil, false
}

// The versions in the first line of a request.
const (
	usualVersion = "HTTP/1.1"
	oldVersion   = "HTTP/1.0"
)

func (v variation) version() string {
	if v.is(timeline.HTTPVersion) {
		return oldVersion
	}
	return usualVersion
}
