package transport

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestRequestsOfAPhase(t *testing.T) {
	const rest = "Host: h.example\nUser-Agent: rlcheck/1\nAccept: */*\n"
	o := must(Options{URL: must(url.Parse("http://h.example/a/b%2f?x=1")),
		Header:    http.Header{"X-One": {"1"}},
		Partition: Partition{Kind: ByHeader, Name: "X-Api-Key"}}.Complete())
	for name, tt := range map[string]struct {
		own  timeline.Request
		turn int
		want string
	}{
		"nothing of its own": {timeline.Request{}, 0, "GET /a/b%2f?x=1 HTTP/1.1\n" + rest +
			"X-One: 1\nX-Api-Key: k\n\n"},
		"a path replaces a query": {timeline.Request{Path: "//c"}, 0, "GET //c HTTP/1.1\n" + rest +
			"X-One: 1\nX-Api-Key: k\n\n"},
		"a path with a query": {timeline.Request{Path: "/c?y"}, 0, "GET /c?y HTTP/1.1\n" + rest +
			"X-One: 1\nX-Api-Key: k\n\n"},
		"a method with a length": {timeline.Request{Method: "POST"}, 0, "POST /a/b%2f?x=1 HTTP/1.1\n" +
			rest + "X-One: 1\nX-Api-Key: k\nContent-Length: 0\n\n"},
		"a field replaces another": {timeline.Request{Header: map[string]string{"X-One": "2",
			"X-Tier": "gold"}}, 0,
			"GET /a/b%2f?x=1 HTTP/1.1\n" + rest + "X-One: 2\nX-Tier: gold\nX-Api-Key: k\n\n"},
		"another key": {timeline.Request{Keys: map[string]string{"k": "app", "l": "no"}}, 0,
			"GET /a/b%2f?x=1 HTTP/1.1\n" + rest + "X-One: 1\nX-Api-Key: app\n\n"},
		"no key": {timeline.Request{Keys: map[string]string{"k": ""}}, 0,
			"GET /a/b%2f?x=1 HTTP/1.1\n" + rest + "X-One: 1\n\n"},
		"a fresh connection": {timeline.Request{Fresh: true}, 0, "GET /a/b%2f?x=1 HTTP/1.1\n" + rest +
			"Connection: close\nX-One: 1\nX-Api-Key: k\n\n"},
		"the spelling in turn": {timeline.Request{Spellings: []timeline.Spelling{timeline.Plain,
			timeline.Dotted}}, 3, "GET /./a/b%2f?x=1 HTTP/1.1\n" + rest + "X-One: 1\nX-Api-Key: k\n\n"},
	} {
		r := newRequest(o, Wish{Partition: "k", Cost: 1, Own: &tt.own, Turn: tt.turn})
		if d := cmp.Diff(strings.ReplaceAll(tt.want, "\n", "\r\n"), string(r.Head)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if r.Last != tt.own.Fresh {
			t.Errorf("%s: the connection is used once: got %v, want %v", name, r.Last, tt.own.Fresh)
		}
	}
}

func TestInventedAddresses(t *testing.T) {
	for _, tt := range []struct {
		addresses       timeline.Addresses
		name, partition string
		forged          int
		want            string
	}{
		{"", "X-Forwarded-For", "k", 259, "198.18.1.3"},
		{timeline.AnyAddress, "Forwarded", "l", 259, "for=198.18.1.3"},
		{timeline.OneNetwork, "X-Forwarded-For", "k", 1, "2001:db8:ee0c:38ea::1"},
		{timeline.OneNetwork, "X-Forwarded-For", "k", 65537, "2001:db8:ee0c:38ea::1:1"},
		{timeline.OneNetwork, "Forwarded", "l", 1, `for="[2001:db8:e90c:310b::1]"`},
		{timeline.TwoSpellings, "X-Forwarded-For", "k", 2, "198.18.56.234"},
		{timeline.TwoSpellings, "X-Forwarded-For", "k", 3, "::ffff:198.18.56.234"},
		{timeline.TwoSpellings, "X-Forwarded-For", "k", 5, "::ffff:198.18.56.234"},
	} {
		w := Wish{Partition: tt.partition, number: tt.forged, Own: &timeline.Request{Addresses: tt.addresses}}
		if got := forgery(tt.name, w); got != tt.want {
			t.Errorf("%s, number %d of %s: got %s, want %s", tt.addresses, tt.forged, tt.partition, got,
				tt.want)
		}
	}
}

func TestRespell(t *testing.T) {
	for s, want := range map[timeline.Spelling]string{
		timeline.Plain: "/a/b%2fC ?", timeline.Doubled: "//a/b%2fC ?", timeline.Dotted: "/./a/b%2fC ?",
		timeline.Trailing: "/a/b%2fC/ ?",
		timeline.Upper:    "/A/B%2fC ?", timeline.Encoded: "/%61/%62%2f%43 ?",
		timeline.Queried: "/a/b%2fC ?rlcheck=1",
	} {
		path, query := respell(s, "/a/b%2fC", "")
		if got := path + " ?" + query; got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
	}
	if path, query := respell(timeline.Queried, "", "a=b"); path != "/" || query != "a=b&rlcheck=1" {
		t.Errorf("got %s?%s, want /?a=b&rlcheck=1", path, query)
	}
	if n := len(timeline.Spellings()); n != 7 {
		t.Errorf("%d spellings are known, this test has 7", n)
	}
}

func TestIsToken(t *testing.T) {
	for s, want := range map[string]bool{"X-Api-Key": true, "get!#9": true, "": false, "a b": false,
		"a:": false, "\u00fcber": false} {
		if IsToken(s) != want {
			t.Errorf("%q: got %v, want %v", s, !want, want)
		}
	}
}
