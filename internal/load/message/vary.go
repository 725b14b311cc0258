package message

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/rlcheck/rlcheck/internal/load/options"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// variation is the attribute in which a request differs from the plain requests of its client; "" for none.
type variation timeline.Attribute

// varied returns the variation of the request of a wish.
func varied(o *options.Options, w Wish) variation {
	if w.Own == nil || !timeline.IsOtherSide(w.Partition) || o.HTTP2 && onlyHTTP1(w.Own.Vary) {
		return ""
	}
	return variation(w.Own.Vary)
}

// onlyHTTP1 tells whether requests of HTTP/2 cannot differ in an attribute.
func onlyHTTP1(a timeline.Attribute) bool {
	return a == timeline.KeyFieldCase || a == timeline.KeySpaces || a == timeline.HTTPVersion
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

// inventedAddress is an address that belongs to nobody (RFC 2544 section 7).
const inventedAddress = "198.18.0.1"

// header returns the extra fields of a request to u.
func (v variation) header(all http.Header, u *url.URL) http.Header {
	more := http.Header{}
	switch timeline.Attribute(v) {
	case timeline.HostName:
		more.Set("Host", "rlcheck.invalid")
	case timeline.HostPort:
		more.Set("Host", otherPort(first(all, "Host", hostOf(u)), u.Scheme))
	case timeline.UserAgent:
		more.Set("User-Agent", "other/1")
	case timeline.KubeProbe:
		more.Set("User-Agent", "kube-probe/1.30")
	case timeline.ELBProbe:
		more.Set("User-Agent", "ELB-HealthChecker/2.0")
	case timeline.Googlebot:
		more.Set("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
	case timeline.Authorization:
		more.Set("Authorization", "Bearer rlcheck")
	case timeline.OriginField:
		more.Set("Origin", "https://rlcheck.invalid")
	case timeline.IfNoneMatch:
		more.Set("If-None-Match", `"rlcheck"`) // matches nothing, so the answer is whole
	case timeline.IfModified:
		more.Set("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")
	case timeline.ByteRange:
		more.Set("Range", "bytes=0-0")
	case timeline.Accept:
		more.Set("Accept", "text/html, */*")
	case timeline.Cookie:
		more.Set("Cookie", strings.Join(append(all.Values("Cookie"), "rlcheck=1"), "; "))
	case timeline.UnknownField:
		more.Set("X-Rlcheck", "1")
	case timeline.IdempotencyKey:
		more.Set("Idempotency-Key", `"rlcheck"`)
	case timeline.ForwardedFor:
		more.Set("X-Forwarded-For", inventedAddress)
	case timeline.Forwarded:
		more.Set("Forwarded", "for="+inventedAddress)
	case timeline.RealIP:
		for _, name := range []string{"X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
			"X-Envoy-External-Address", "Fastly-Client-Ip"} {
			more.Set(name, inventedAddress)
		}
	default:
		return all
	}
	out := all.Clone()
	if out == nil {
		out = http.Header{}
	}
	for name, values := range more {
		out[name] = values
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
func (v variation) again(target string, p options.Partition, key string) string {
	if !v.is(timeline.KeyTwice) || p.Kind != options.ByQuery {
		return target
	}
	return target + "&" + url.QueryEscape(p.Name) + "=" + url.QueryEscape(key)
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
