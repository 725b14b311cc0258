package transport

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestASideDiffersInItsAttribute: the requests of the other side have the attribute. Those of the plain side
// are unchanged.
func TestASideDiffersInItsAttribute(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:8080/api/items?x=1")
	for _, tt := range []struct {
		vary timeline.Attribute
		want string // a part of the head
	}{
		{timeline.PathCase, "GET /API/ITEMS?x=1 HTTP/1.1\r\n"},
		{timeline.PathSlashes, "GET //api/items?x=1 "},
		{timeline.PathLastSlash, "GET /api/items/?x=1 "},
		{timeline.PathDots, "GET /./api/items?x=1 "},
		{timeline.PathEncoding, "GET /%61%70%69/%69%74%65%6D%73?x=1 "},
		{timeline.PathExtension, "GET /api/items.json?x=1 "},
		{timeline.QueryString, "GET /api/items?x=1&rlcheck=1 "},
		{timeline.MethodHead, "HEAD /api/items?x=1 "},
		{timeline.MethodPost, "POST /api/items?x=1 "},
		{timeline.HostName, "\r\nHost: rlcheck.invalid\r\n"},
		{timeline.HostPort, "\r\nHost: 127.0.0.1\r\n"},
		{timeline.UserAgent, "\r\nUser-Agent: other/1\r\n"},
		{timeline.Accept, "\r\nAccept: text/html, */*\r\n"},
		{timeline.Cookie, "\r\nCookie: a=b; rlcheck=1\r\n"},
		{timeline.UnknownField, "\r\nX-Rlcheck: 1\r\n"},
		{timeline.KeyFieldCase, "\r\nx-api-key: k\r\n"},
		{timeline.KeyCase, "\r\nX-Api-Key: K\r\n"},
		{timeline.KeySpaces, "\r\nX-Api-Key:   k  \r\n"},
		{timeline.KeyTwice, "\r\nX-Api-Key: k\r\nX-Api-Key: k\r\n"},
		{timeline.ForwardedFor, "\r\nX-Forwarded-For: 198.18.0.1\r\n"},
		{timeline.Forwarded, "\r\nForwarded: for=198.18.0.1\r\n"},
		{timeline.RealIP, "\r\nX-Real-Ip: 198.18.0.1\r\n"},
		{timeline.HTTPVersion, "GET /api/items?x=1 HTTP/1.0\r\n"},
		{timeline.Authorization, "\r\nAuthorization: Bearer rlcheck\r\n"},
		{timeline.OriginField, "\r\nOrigin: https://rlcheck.invalid\r\n"},
		{timeline.IfNoneMatch, "\r\nIf-None-Match: \"rlcheck\"\r\n"},
		{timeline.IfModified, "\r\nIf-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n"},
		{timeline.ByteRange, "\r\nRange: bytes=0-0\r\n"},
		{timeline.MethodOptions, "OPTIONS /api/items?x=1 "},
		{timeline.Content, "\r\nContent-Length: 2\r\n\r\n{}"},
		{timeline.Chunked, "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
		{timeline.KubeProbe, "\r\nUser-Agent: kube-probe/1.30\r\n"},
		{timeline.ELBProbe, "\r\nUser-Agent: ELB-HealthChecker/2.0\r\n"},
		{timeline.Googlebot, "\r\nUser-Agent: Mozilla/5.0 (compatible; Googlebot/2.1)\r\n"},
		{timeline.ZeroCost, "\r\nX-Cost: 0\r\n"},
		{timeline.NegativeCost, "\r\nX-Cost: -1\r\n"},
		{timeline.HugeCost, "\r\nX-Cost: 18446744073709551615\r\n"},
		{timeline.WordCost, "\r\nX-Cost: NaN\r\n"},
		{timeline.IdempotencyKey, "\r\nIdempotency-Key: \"rlcheck\"\r\n"},
	} {
		o := &Options{URL: u, Method: "GET", Header: http.Header{"Cookie": {"a=b"}}, CostHeader: "X-Cost",
			Partition: Partition{Kind: ByHeader, Name: "X-Api-Key"}}
		other := timeline.OtherSide("k")
		own := timeline.Request{Vary: tt.vary, Keys: map[string]string{"k": "k", other: "k"}}
		plain := string(newRequest(o, Wish{Partition: "k", Own: &own}).Head)
		alone := string(newRequest(o, Wish{Partition: "k"}).Head)
		differs := string(newRequest(o, Wish{Partition: other, Own: &own}).Head)
		if plain != alone || !strings.Contains(differs, tt.want) || strings.Contains(plain, tt.want) {
			t.Errorf("%s: got %q, want %q in it and not in %q", tt.vary, differs, tt.want, plain)
		}
	}
}

// TestAKeyOfAQueryIsSentTwice: KeyTwice also works for a key in the query.
func TestAKeyOfAQueryIsSentTwice(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:8080/")
	o := &Options{URL: u, Method: "GET",
		Partition: Partition{Kind: ByQuery, Name: "key"}}
	own := timeline.Request{Vary: timeline.KeyTwice, Keys: map[string]string{timeline.OtherSide("k"): "k"}}
	got := string(newRequest(o, Wish{Partition: timeline.OtherSide("k"), Own: &own}).Head)
	if want := "GET /?key=k&key=k HTTP/1.1\r\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnEmptyKeyIsSent: a client with an empty key sends the field of the key without a value, and a client
// without a key leaves it out.
func TestAnEmptyKeyIsSent(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:8080/")
	o := &Options{URL: u, Method: "GET", Partition: Partition{Kind: ByHeader, Name: "X-Api-Key"}}
	for _, empty := range []bool{false, true} {
		own := timeline.Request{EmptyKey: empty, Keys: map[string]string{"k": ""}}
		got := string(newRequest(o, Wish{Partition: "k", Own: &own}).Head)
		if strings.Contains(got, "\r\nX-Api-Key: \r\n") != empty ||
			strings.Contains(got, "X-Api-Key") != empty {
			t.Errorf("empty_key: %t: got %q", empty, got)
		}
	}
}
