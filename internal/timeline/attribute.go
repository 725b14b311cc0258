package timeline

import "strings"

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
	KeyFieldCase   Attribute = "key-field-case"
	KeyCase        Attribute = "key-case"
	KeySpaces      Attribute = "key-spaces"
	KeyTwice       Attribute = "key-twice"
	ForwardedFor   Attribute = "forwarded-for"
	Forwarded      Attribute = "forwarded"
	RealIP         Attribute = "real-ip"
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
}

// Attributes lists all attributes, in the order of the documentation.
func Attributes() []AttributeRow {
	return []AttributeRow{
		{Nothing, "the same", "the same"},
		{PathCase, "/path", "/PATH"},
		{PathSlashes, "/path", "//path"},
		{PathLastSlash, "/path", "/path/"},
		{PathDots, "/path", "/./path"},
		{PathEncoding, "/path", "/%70%61%74%68"},
		{PathExtension, "/path", "/path.json"},
		{QueryString, "no more", "?rlcheck=1"},
		{MethodHead, "its own", "HEAD"},
		{MethodPost, "its own", "POST"},
		{HostName, "its own", "Host: rlcheck.invalid"},
		{HostPort, "its own", "no port in Host, or :80"},
		{UserAgent, "its own", "User-Agent: other/1"},
		{Accept, "its own", "Accept: text/html, */*"},
		{Cookie, "no more", "Cookie: rlcheck=1"},
		{UnknownField, "no more", "X-Rlcheck: 1"},
		{KeyFieldCase, "X-Key: key", "x-key: key"},
		{KeyCase, "key", "KEY"},
		{KeySpaces, "X-Key: key", `"X-Key:   key  "`},
		{KeyTwice, "X-Key: key", "the same two times"},
		{ForwardedFor, "none", "X-Forwarded-For: ADDRESS"},
		{Forwarded, "none", "Forwarded: for=ADDRESS"},
		{RealIP, "none", "X-Real-IP and such"},
		{HTTPVersion, "HTTP/1.1", "HTTP/1.0"},
		{OneConnection, "connection 1", "connection 1"},
		{Connection, "connection 1", "connection 2"},
		{IdempotencyKey, "none", "one Idempotency-Key"},
		{Authorization, "none", "Authorization: Bearer rlcheck"},
		{OriginField, "none", "Origin: https://rlcheck.invalid"},
		{IfNoneMatch, "none", "If-None-Match, with an unknown tag"},
		{IfModified, "none", "If-Modified-Since, in 1970"},
		{ByteRange, "none", "Range: bytes=0-0"},
		{MethodOptions, "its own", "OPTIONS"},
		{Content, "its own", "a body of 2 bytes"},
		{Chunked, "its own", "a body of one chunk"},
		{Leaves, "the whole answer", "only the head of the answer, and then the client leaves"},
		{KubeProbe, "its own", "User-Agent: kube-probe/1.30"},
		{ELBProbe, "its own", "User-Agent: ELB-HealthChecker/2.0"},
		{Googlebot, "its own", "User-Agent: Googlebot/2.1"},
		{ZeroCost, "none", "X-Cost: 0"},
		{NegativeCost, "none", "X-Cost: -1"},
		{HugeCost, "none", "X-Cost: 18446744073709551615"},
		{WordCost, "none", "X-Cost: NaN"},
	}
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
