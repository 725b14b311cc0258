package timeline

import (
	"slices"
	"strings"
)

// Attribute is one thing in which two requests of a client may differ.
type Attribute string

// The attributes.
const (
	// Nothing: the requests are alike. It shows that the limit holds for them at all.
	Nothing Attribute = "nothing"
	// OneConnection: all requests are plain, and come one after the other on one connection.
	OneConnection  Attribute = "one-connection"
	PathCase       Attribute = "path-case"
	PathSlashes    Attribute = "path-slashes"
	PathLastSlash  Attribute = "path-last-slash"
	PathDots       Attribute = "path-dot-segment"
	PathEncoding   Attribute = "path-encoding"
	PathExtension  Attribute = "path-extension"
	QueryString    Attribute = "query"
	MethodHead     Attribute = "head"
	MethodPost     Attribute = "post"
	HostName       Attribute = "host"
	HostPort       Attribute = "port"
	UserAgent      Attribute = "user-agent"
	Accept         Attribute = "accept"
	Cookie         Attribute = "cookie"
	UnknownField   Attribute = "unknown-field"
	CommonFields   Attribute = "common-fields"
	KeyFieldCase   Attribute = "key-field-case"
	KeyCase        Attribute = "key-case"
	KeySpaces      Attribute = "key-spaces"
	KeyTwice       Attribute = "key-twice"
	ForwardedFor   Attribute = "forwarded-for"
	Forwarded      Attribute = "forwarded"
	RealIP         Attribute = "real-ip"
	Loopback       Attribute = "loopback-address"
	HTTPVersion    Attribute = "http-version"
	Connection     Attribute = "connection"
	IdempotencyKey Attribute = "idempotency-key"
	Authorization  Attribute = "authorization"
	OriginField    Attribute = "origin"
	IfNoneMatch    Attribute = "if-none-match"
	IfModified     Attribute = "if-modified-since"
	ByteRange      Attribute = "range"
	MethodOptions  Attribute = "options"
	Content        Attribute = "content"
	Chunked        Attribute = "chunked"
	Leaves         Attribute = "leaves"
	KubeProbe      Attribute = "kube-probe"
	ELBProbe       Attribute = "elb-health-checker"
	Googlebot      Attribute = "googlebot"
	ZeroCost       Attribute = "zero-cost"
	NegativeCost   Attribute = "negative-cost"
	HugeCost       Attribute = "huge-cost"
	WordCost       Attribute = "word-cost"
)

// AttributeRow says how the requests of the two sides of a phase differ. Plain is what a plain request sends,
// Other is what the other request sends in its place.
type AttributeRow struct {
	Attribute    Attribute
	Plain, Other string
	// Fields are the header fields of the other request, as names and values. nil: they do not differ. A
	// value may be empty: it follows from the request.
	Fields [][2]string
}

// inventedAddress is an address that belongs to nobody (RFC 2544 section 7).
const inventedAddress = "198.18.0.1"

// addressFields returns the fields by which proxies tell the address of a client.
func addressFields(address string) (out [][2]string) {
	for _, name := range []string{"X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
		"X-Envoy-External-Address", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Azure-Clientip",
		"X-Cluster-Client-Ip", "X-Originating-Ip", "X-Remote-Addr", "X-Remote-Ip"} {
		out = append(out, [2]string{name, address})
	}
	return out
}

// field returns one field, with a value.
func field(name, value string) [][2]string { return [][2]string{{name, value}} }

// commonFields are fields of one request that no limit is about: what browsers add, caches, tracing, and
// libraries that retry.
var commonFields = [][2]string{{"Accept-Encoding", "identity"}, {"Accept-Language", "eo"},
	{"Cache-Control", "no-cache"}, {"Pragma", "no-cache"}, {"Dnt", "1"}, {"From", "rlcheck@rlcheck.invalid"},
	{"Priority", "u=1"}, {"Referer", "https://rlcheck.invalid/"}, {"Save-Data", "on"},
	{"Sec-Ch-Ua", `"rlcheck";v="1"`}, {"X-Requested-With", "XMLHttpRequest"}, {"Te", "trailers"},
	{"Via", "1.1 rlcheck"}, {"X-Debug", "1"},
	{"Traceparent", "00-00000000000000000000000000000001-0000000000000001-01"},
	{"X-Amzn-Trace-Id", "Root=1-00000001-000000000000000000000001"}, {"X-Correlation-Id", "rlcheck"},
	{"X-Request-Id", "rlcheck"}, {"Amz-Sdk-Request", "attempt=2; max=3"}, {"X-Stainless-Retry-Count", "1"}}

// agent returns the field that names the program of a client.
func agent(name string) [][2]string { return field("User-Agent", name) }

// Attributes lists all attributes, in the order of the documentation.
func Attributes() []AttributeRow { return slices.Clone(attributes) }

var attributes = []AttributeRow{
	{Nothing, "the same", "the same", nil},
	{PathCase, "/path", "/PATH", nil},
	{PathSlashes, "/path", "//path", nil},
	{PathLastSlash, "/path", "/path/", nil},
	{PathDots, "/path", "/./path", nil},
	{PathEncoding, "/path", "/%70%61%74%68", nil},
	{PathExtension, "/path", "/path.json", nil},
	{QueryString, "no more", "?rlcheck=1", nil},
	{MethodHead, "its own", "HEAD", nil},
	{MethodPost, "its own", "POST", nil},
	{HostName, "its own", "Host: rlcheck.invalid", field("Host", "rlcheck.invalid")},
	{HostPort, "its own", "no port in Host, or :80", field("Host", "")},
	{UserAgent, "its own", "User-Agent: other/1", agent("other/1")},
	{Accept, "its own", "Accept: text/html, */*", field("Accept", "text/html, */*")},
	{Cookie, "no more", "Cookie: rlcheck=1", field("Cookie", "rlcheck=1")},
	{UnknownField, "no more", "X-Rlcheck: 1", field("X-Rlcheck", "1")},
	{CommonFields, "no more", "twenty fields of browsers and libraries", commonFields},
	{KeyFieldCase, "X-Key: key", "x-key: key", nil},
	{KeyCase, "key", "KEY", nil},
	{KeySpaces, "X-Key: key", `"X-Key:   key  "`, nil},
	{KeyTwice, "X-Key: key", "the same two times", nil},
	{ForwardedFor, "none", "X-Forwarded-For: ADDRESS", field("X-Forwarded-For", inventedAddress)},
	{Forwarded, "none", "Forwarded: for=ADDRESS", field("Forwarded", "for="+inventedAddress)},
	{RealIP, "none", "X-Real-IP and such", addressFields(inventedAddress)},
	{Loopback, "none", "X-Forwarded-For: 127.0.0.1 and such", slices.Concat(addressFields("127.0.0.1"),
		field("X-Forwarded-For", "127.0.0.1"), field("Forwarded", "for=127.0.0.1"))},
	{HTTPVersion, "HTTP/1.1", "HTTP/1.0", nil},
	{OneConnection, "connection 1", "connection 1", nil},
	{Connection, "connection 1", "connection 2", nil},
	{IdempotencyKey, "none", "one Idempotency-Key", field("Idempotency-Key", `"rlcheck"`)},
	{Authorization, "none", "Authorization: Bearer rlcheck", field("Authorization", "Bearer rlcheck")},
	{OriginField, "none", "Origin: https://rlcheck.invalid", field("Origin", "https://rlcheck.invalid")},
	{IfNoneMatch, "none", "If-None-Match, with an unknown tag", field("If-None-Match", `"rlcheck"`)},
	{IfModified, "none", "If-Modified-Since, in 1970",
		field("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")},
	{ByteRange, "none", "Range: bytes=0-0", field("Range", "bytes=0-0")},
	{MethodOptions, "its own", "OPTIONS", nil},
	{Content, "its own", "a body of 2 bytes", nil},
	{Chunked, "its own", "a body of one chunk", nil},
	{Leaves, "the whole answer", "only the head of the answer, and then the client leaves", nil},
	{KubeProbe, "its own", "User-Agent: kube-probe/1.30", agent("kube-probe/1.30")},
	{ELBProbe, "its own", "User-Agent: ELB-HealthChecker/2.0", agent("ELB-HealthChecker/2.0")},
	{Googlebot, "its own", "User-Agent: Googlebot/2.1",
		agent("Mozilla/5.0 (compatible; Googlebot/2.1)")},
	{ZeroCost, "none", "X-Cost: 0", nil},
	{NegativeCost, "none", "X-Cost: -1", nil},
	{HugeCost, "none", "X-Cost: 18446744073709551615", nil},
	{WordCost, "none", "X-Cost: NaN", nil},
}

// Row says how the requests of the two sides differ in the attribute. It is zero if there is none such.
func (a Attribute) Row() (row AttributeRow) {
	if i := slices.IndexFunc(attributes, func(r AttributeRow) bool { return r.Attribute == a }); i >= 0 {
		row = attributes[i]
	}
	return row
}

// IsPath tells whether the attribute is a spelling of the path.
func (a Attribute) IsPath() bool { return strings.HasPrefix(string(a), "path-") }

// IsCost tells whether the attribute is a stated cost that is no number of units. A limiter may refuse it, or
// charge any number of units for it, but not none.
func (a Attribute) IsCost() bool { return strings.HasSuffix(string(a), "-cost") }

// IsFeature tells whether products sell it as a feature that such requests are counted otherwise, or free.
func (a Attribute) IsFeature() bool {
	switch a {
	case IdempotencyKey, MethodOptions, KubeProbe, ELBProbe, Googlebot, ZeroCost:
		return true
	}
	return false
}

// otherSide ends the names of the partitions whose requests differ from the plain requests of a client.
const otherSide = "-otherwise"

// OtherSide returns the name of the partition for the requests of a client that are sent otherwise.
func OtherSide(partition string) string { return partition + otherSide }

// IsOtherSide tells whether the requests of a partition are sent otherwise.
func IsOtherSide(partition string) bool { return strings.HasSuffix(partition, otherSide) }
