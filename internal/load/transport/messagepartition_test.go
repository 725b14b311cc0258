package transport

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestPartitionsOfIssuedKeys: a key is written in the format of its field, or in a cookie beside others. An
// issued key replaces the name.
func TestPartitionsOfIssuedKeys(t *testing.T) {
	for _, x := range []struct{ partition, want string }{
		{"header:Authorization: Bearer {key}", "Authorization: Bearer secret-1"},
		{"header:X-Api-Key", "X-Api-Key: secret-1"},
		{"cookie:session", "Cookie: theme=dark; session=secret-1"},
		{"query:key", "GET /?key=secret-1 HTTP/1.1"},
		{"path", "GET /secret-1 HTTP/1.1"},
	} {
		o := Options{URL: must(url.Parse("http://127.0.0.1/")), Method: "GET",
			Partition: partition(x.partition),
			Header:    http.Header{"Cookie": {"theme=dark"}}, Keys: map[string]string{"k1": "secret-1"}}
		head := string(newRequest(&o, Wish{Partition: "k1", Cost: 1}).Head)
		if strings.Count(head, x.want+"\r\n") != 1 || strings.Count(head, "Cookie:") != 1 ||
			strings.Contains(head, "k1") {
			t.Errorf("%s: want one line %q in\n%s", x.partition, x.want, head)
		}
	}
}

// TestAKeyStandsInTheBody: the key is in a field of a JSON object or of a form, with the right length and
// media type.
func TestAKeyStandsInTheBody(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:8080/login")
	for _, tt := range []struct{ body, key, want string }{
		{`{"user":"x","password":"<&>"}`, "k\"1",
			"Content-Type: application/json\r\nContent-Length: 32\r\n\r\n" +
				"{\"password\":\"<&>\",\"user\":\"k\\\"1\"}"},
		{"", "k 1",
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\n\r\nuser=k+1"},
		{"user=x&password=y", "k", "Content-Length: 17\r\n\r\npassword=y&user=k"},
		{"password=y", "", "Content-Length: 10\r\n\r\npassword=y"},
	} {
		o := &Options{URL: u, Method: "POST", Partition: partition("body:user"), Body: []byte(tt.body)}
		got := string(newRequest(o, Wish{Partition: tt.key}).Head)
		if !strings.HasSuffix(got, tt.want) {
			t.Errorf("%q: got %q, want it to end in %q", tt.body, got, tt.want)
		}
	}
	o := &Options{URL: u, Method: "POST", Header: http.Header{"Content-Type": {"text/plain"}},
		Partition: Partition{Kind: ByBody, Name: "user"}}
	if got := string(newRequest(o, Wish{Partition: "k"}).Head); strings.Count(got, "Content-Type") != 1 {
		t.Errorf("got %q, want the media type that was asked for", got)
	}
}

// TestEachRequestNamesAnother: with Mint each request has another name, an issued one if there are any.
func TestEachRequestNamesAnother(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:8080/")
	for _, tt := range []struct {
		issued []string
		want   string
	}{{nil, "k.1 k.2 k.3"}, {[]string{"one", "two"}, "two one two"}} {
		o := &Options{URL: u, Method: "GET", Minted: tt.issued,
			Partition: Partition{Kind: ByHeader, Name: "X-Key"}}
		r := NewRequests(o)
		var got []string
		for range 3 {
			head := string(r.Of(Wish{Partition: "k", Own: &timeline.Request{Mint: true}}).Head)
			_, rest, _ := strings.Cut(head, "X-Key: ")
			name, _, _ := strings.Cut(rest, "\r\n")
			got = append(got, name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("got %s, want %s", s, tt.want)
		}
	}
}
