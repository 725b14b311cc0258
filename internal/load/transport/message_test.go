package transport

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRequestBytes(t *testing.T) {
	o := must(Options{
		URL:        must(url.Parse("http://example.com:8080/a%20b/?x=1#frag")),
		Origin:     must(url.Parse("http://origin.example")),
		Header:     http.Header{"B-Two": {"1", "2"}, "A-One": {"x"}, "Accept": {"text/plain"}},
		CostHeader: "x-cost",
	}.Complete())
	tests := []struct {
		partition Partition
		method    string
		body      string
		w         Wish
		want      string
	}{
		{w: Wish{Partition: "k", Cost: 1},
			want: "GET /a%20b/?x=1 HTTP/1.1\nHost: example.com:8080\nUser-Agent: rlcheck/1\nAccept: " +
				"text/plain\nA-One: x\nB-Two: 1\nB-Two: 2\n\n"},
		{partition: Partition{Kind: ByHeader, Name: "A-One"},
			w: Wish{Partition: "k 1", Cost: 7, Origin: true},
			want: "GET / HTTP/1.1\nHost: origin.example\nUser-Agent: rlcheck/1\nAccept: text/plain\nB-Two: " +
				"1\nB-Two: 2\nA-One: k 1\nX-Cost: 7\n\n"},
		{partition: Partition{Kind: ByPath, Name: ""}, w: Wish{Partition: "a/b?c", Cost: 1},
			want: "GET /a%20b/a%2Fb%3Fc?x=1 HTTP/1.1\nHost: example.com:8080\nUser-Agent: " +
				"rlcheck/1\nAccept: text/plain\nA-One: x\nB-Two: 1\nB-Two: 2\n\n"},
		{partition: Partition{Kind: ByQuery, Name: "k&y"}, method: "POST", body: "hello",
			w: Wish{Partition: "a b\r\n", Cost: 1, Forge: []string{"X-Forwarded-For", "Forwarded"},
				number: 259},
			want: "POST /a%20b/?x=1&k%26y=a+b%0D%0A HTTP/1.1\nHost: example.com:8080\nUser-Agent: " +
				"rlcheck/1\nAccept: text/plain\nA-One: x\nB-Two: 1\nB-Two: 2\n" +
				"X-Forwarded-For: 198.18.1.3\nForwarded: for=198.18.1.3\nContent-Length: 5\n\nhello"},
	}
	for _, tt := range tests {
		o := *o
		o.Partition, o.Body = tt.partition, []byte(tt.body)
		if tt.method != "" {
			o.Method = tt.method
		}
		r := newRequest(&o, tt.w)
		if d := cmp.Diff(strings.ReplaceAll(tt.want, "\n", "\r\n"), string(r.Head)); d != "" {
			t.Error(d)
		}
		parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.Head)))
		if err != nil {
			t.Error(err)
		} else if b, _ := io.ReadAll(parsed.Body); string(b) != tt.body {
			t.Errorf("got body %q, want %q", b, tt.body)
		}
		if _, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.Head[:r.Cut]))); err == nil {
			t.Errorf("the part before the cut is a whole request: %q", r.Head[:r.Cut])
		}
		if !bytes.HasPrefix(r.Head[r.Cut:], []byte("\r\n")) {
			t.Errorf("the part after the cut begins %q", r.Head[r.Cut:])
		}
	}
}

// A request has the same content over both versions of HTTP.
func TestRequestsOfHTTP2(t *testing.T) {
	o := Options{URL: must(url.Parse("https://t.example/a?b=c")), HTTP2: true, Body: []byte("body"),
		Method:    "POST",
		Header:    map[string][]string{"Host": {"other.example"}, "Connection": {"close"}, "X-A": {"1", "2"}},
		Partition: Partition{Kind: ByHeader, Name: "X-Api-Key"}}
	r := newRequest(&o, Wish{Partition: "k", Cost: 1})
	var got []string
	for _, f := range r.H2.Fields {
		got = append(got, f.Name+"="+f.Value)
	}
	const want = ":method=POST :scheme=https :path=/a?b=c :authority=other.example user-agent=rlcheck/1 " +
		"accept=*/* " +
		"x-a=1 x-a=2 x-api-key=k content-length=4"
	if s := strings.Join(got, " "); s != want || string(r.H2.Body) != "body" || !r.Last {
		t.Errorf("got %q, body %q, last %v\nwant %q", s, r.H2.Body, r.Last, want)
	}
}

// TestPastCaches: each request has a unique URL, with or without a query. A Cache-Control of the user is sent
// unchanged.
func TestPastCaches(t *testing.T) {
	for query, want := range map[string]string{"": "/a?rlcheck-past-caches=run-1.7",
		"b=c": "/a?b=c&rlcheck-past-caches=run-1.7"} {
		u := &url.URL{Scheme: "http", Host: "h", Path: "/a", RawQuery: query}
		o := &Options{URL: u, Method: http.MethodGet, PastCaches: "run-1"}
		head := string(newRequest(o, Wish{number: 7}).Head)
		if !strings.HasPrefix(head, "GET "+want+" ") ||
			!strings.Contains(head, "\r\nCache-Control: no-cache\r\n") {
			t.Errorf("query %q: got\n%s\nwant %s and no-cache", query, head, want)
		}
		o.Header = http.Header{"Cache-Control": {"max-age=0"}}
		if head := string(newRequest(o, Wish{}).Head); strings.Contains(head, "no-cache") {
			t.Errorf("got\n%s\nwant the user's own Cache-Control alone", head)
		}
	}
	r := NewRequests(&Options{URL: &url.URL{Host: "h"}, PastCaches: "run"})
	if a, b := r.Of(Wish{}), r.Of(Wish{}); string(a.Head) == string(b.Head) {
		t.Errorf("got one request twice:\n%s", a.Head)
	}
}
