package load

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAKeyStandsInTheBody: in the field of a JSON object, or of a form, with its length and media type.
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
		p, err := ParsePartition("body:user")
		if err != nil {
			t.Fatal(err)
		}
		o := &Options{URL: u, Method: "POST", Partition: p, Body: []byte(tt.body)}
		got := string(newRequest(o, wish{partition: tt.key}).head)
		if !strings.HasSuffix(got, tt.want) {
			t.Errorf("%q: got %q, want it to end in %q", tt.body, got, tt.want)
		}
	}
	o := &Options{URL: u, Method: "POST", Partition: Partition{Kind: kindBody, Name: "user"},
		Header: http.Header{"Content-Type": {"text/plain"}}}
	if got := string(newRequest(o, wish{partition: "k"}).head); strings.Count(got, "Content-Type") != 1 {
		t.Errorf("got %q, want the media type that was asked for", got)
	}
	if _, err := ParsePartition("body:"); err == nil {
		t.Error("a field without a name: no error")
	}
}

// TestEachRequestNamesAnother: with Mint each request has another name, an issued one where there are some.
func TestEachRequestNamesAnother(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:8080/")
	for _, tt := range []struct {
		issued []string
		want   string
	}{{nil, "k.1 k.2 k.3"}, {[]string{"one", "two"}, "two one two"}} {
		o := &Options{URL: u, Method: "GET", Partition: Partition{Kind: kindHeader, Name: "X-Key"},
			Minted: tt.issued}
		r := &recorder{o: o, requests: map[requestKey]*request{}}
		var got []string
		for range 3 {
			head := string(r.request(wish{partition: "k", own: &timeline.Request{Mint: true}}).head)
			_, rest, _ := strings.Cut(head, "X-Key: ")
			name, _, _ := strings.Cut(rest, "\r\n")
			got = append(got, name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("got %s, want %s", s, tt.want)
		}
	}
}

// TestAMarkedAdmissionIsADenial: by the name of a field, or by its value too; other outcomes stay.
func TestAMarkedAdmissionIsADenial(t *testing.T) {
	for _, tt := range []struct {
		mark   string
		status int
		value  string
		want   timeline.Outcome
	}{
		{"", 200, "true", timeline.Allowed},
		{"X-Degraded", 200, "true", timeline.Denied},
		{"X-Degraded", 200, "", timeline.Allowed},
		{"x-degraded: true", 200, "True", timeline.Denied},
		{"X-Degraded: true", 200, "false", timeline.Allowed},
		{"X-Degraded", 404, "true", timeline.Unknown},
		{"X-Degraded", 429, "", timeline.Denied},
	} {
		o := Options{DeniedField: tt.mark, Classify: classify}
		h := http.Header{}
		if tt.value != "" {
			h.Set("X-Degraded", tt.value)
		}
		if got := o.outcome(tt.status, h); got != tt.want {
			t.Errorf("%q, %d with %q: got %s, want %s", tt.mark, tt.status, tt.value, got, tt.want)
		}
	}
}
