package transport

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
	switch timeline.Attribute(v) {
	case timeline.MethodHead:
		return http.MethodHead
	case timeline.MethodPost:
		return http.MethodPost
	case timeline.MethodOptions:
		return http.MethodOptions
	default:
		return method
	}
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
	fields := timeline.Attribute(v).Fields()
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
	switch timeline.Attribute(v) {
	case timeline.ZeroCost:
		return "0"
	case timeline.NegativeCost:
		return "-1"
	case timeline.HugeCost:
		return "18446744073709551615" // 2^64 - 1
	case timeline.WordCost:
		return "NaN"
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
