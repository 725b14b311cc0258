package load

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestPartitionsOfIssuedKeys: a key stands in the format of its field or in a cookie beside others, and an
// issued one in the place of the name.
func TestPartitionsOfIssuedKeys(t *testing.T) {
	for _, x := range []struct{ partition, want string }{
		{"header:authorization: Bearer {key}", "Authorization: Bearer secret-1"},
		{"header:X-Api-Key", "X-Api-Key: secret-1"},
		{"cookie:session", "Cookie: theme=dark; session=secret-1"},
		{"query:key", "GET /?key=secret-1 HTTP/1.1"},
		{"path", "GET /secret-1 HTTP/1.1"},
	} {
		p, err := ParsePartition(x.partition)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParsePartition(p.String()); err != nil || again != p {
			t.Errorf("%s: printed as %q, read as %+v, %v", x.partition, p, again, err)
		}
		o := Options{URL: must(url.Parse("http://127.0.0.1/")), Method: "GET", Partition: p,
			Header: http.Header{"Cookie": {"theme=dark"}}, Keys: map[string]string{"k1": "secret-1"}}
		head := string(newRequest(&o, wish{partition: "k1", cost: 1}).head)
		if strings.Count(head, x.want+"\r\n") != 1 || strings.Count(head, "Cookie:") != 1 ||
			strings.Contains(head, "k1") {
			t.Errorf("%s: want one line %q in\n%s", x.partition, x.want, head)
		}
	}
	for _, text := range []string{"header:Authorization: Bearer", "cookie:", "cookie:a b",
		"header:X: {key}\r\nY: 1"} {
		if p, err := ParsePartition(text); err == nil {
			t.Errorf("%q was read as %+v", text, p)
		}
	}
}
