package transport

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func all(string) bool { return true }

// agree fails if Parse reads an answer differently from net/http.
func agree(t *testing.T, a *LoopAnswer, b []byte) bool {
	t.Helper()
	if !a.Parse(b) {
		return false
	}
	br := bufio.NewReader(bytes.NewReader(b))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodGet})
	if err != nil {
		t.Fatalf("%q: net/http says %v", b, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || br.Buffered() > 0 {
		t.Fatalf("%q: net/http reads %q, then %v, and leaves %d bytes", b, body, err, br.Buffered())
	}
	if resp.StatusCode != a.Status || resp.Close || resp.Proto != "HTTP/1.1" ||
		!bytes.Equal(body, a.Body) {
		t.Fatalf("%q: got %d and %q; net/http has %d, %s, close %v, and %q", b, a.Status, a.Body,
			resp.StatusCode, resp.Proto, resp.Close, body)
	}
	h := http.Header{}
	for _, f := range a.Fields {
		h[f.Name] = append(h[f.Name], f.Value)
	}
	for name := range h {
		if !slices.Equal(h[name], resp.Header[name]) {
			t.Fatalf("%q: %s: got %q, net/http has %q", b, name, h[name], resp.Header[name])
		}
	}
	if len(h) != len(resp.Header) || a.KeepAlive != resp.Header.Get("Keep-Alive") {
		t.Fatalf("%q: got %v, net/http has %v", b, h, resp.Header)
	}
	return true
}

const plain = "HTTP/1.1 429 Too Many Requests\r\nDate: Mon, 23 Nov 2026 01:49:08 GMT\r\n" +
	"Content-Length: 9\r\nretry-after:  1 \r\nRateLimit: a\r\nratelimit: b\r\n" +
	"X-Empty:\r\nConnection: Keep-Alive\r\n" +
	"Keep-Alive: timeout=5\r\n\r\nslow down"

// TestPlainAnswersAreTakenAndOthersAreNot: plain answers are parsed, all others are left to a parser that can
// wait.
func TestPlainAnswersAreTakenAndOthersAreNot(t *testing.T) {
	a := &LoopAnswer{Record: all}
	if !agree(t, a, []byte(plain)) || a.Status != 429 || a.KeepAlive != "timeout=5" ||
		string(a.Body) != "slow down" {
		t.Errorf("got %+v", a)
	}
	for what, change := range map[string][2]string{
		"a byte too few":      {"slow down", "slow dow"},
		"a byte too many":     {"slow down", "slow down!"},
		"another version":     {"HTTP/1.1", "HTTP/1.0"},
		"an interim answer":   {"429", "103"},
		"no content":          {"429", "204"},
		"not modified":        {"429", "304"},
		"a bad request":       {"429", "400"},
		"a status of letters": {"429", "4x9"},
		"a close":             {"Keep-Alive\r", "close\r"},
		"chunks":              {"X-Empty:", "Transfer-Encoding: chunked"},
		"no length":           {"Content-Length", "Content-Size"},
		"two lengths":         {"X-Empty:", "Content-Length: 9"},
		"a signed length":     {": 9", ": +9"},
		"a folded line":       {"ratelimit: b", " b"},
		"a line without CR":   {"a\r\n", "a\n"},
		"a CR in a line":      {" a\r\n", " a\rb\r\n"},
		"a space in a name":   {"RateLimit:", "Rate Limit:"},
		"no name":             {"RateLimit:", ":"},
		"no colon":            {"RateLimit:", "RateLimit"},
		"Pragma":              {"X-Empty:", "Pragma: no-cache"},
		"a byte over 126":     {" a\r", " \xff\r"},
	} {
		if b := strings.Replace(plain, change[0], change[1], 1); b == plain || a.Parse([]byte(b)) {
			t.Errorf("%s: %q was taken", what, b)
		}
	}
	for n := range len(plain) {
		if a.Parse([]byte(plain[:n])) {
			t.Errorf("the first %d bytes were taken", n)
		}
	}
	a = &LoopAnswer{Record: func(name string) bool { return name == "Retry-After" }}
	if !a.Parse([]byte(plain)) || len(a.Fields) != 1 || a.Fields[0].Value != "1" {
		t.Errorf("got the fields %q, want Retry-After alone", a.Fields)
	}
}

// TestInventedNamesAreNotRememberedForEver: memory does not grow with the names that a target invents.
func TestInventedNamesAreNotRememberedForEver(t *testing.T) {
	a := &LoopAnswer{Record: all}
	for i := range 2 * mostKnown {
		name := strings.Repeat("a", 1+i/50) + strings.Repeat("b", i%50)
		b := "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + name + ": x\r\n\r\n"
		if !a.Parse([]byte(b)) || len(a.Fields) != 2 {
			t.Fatalf("%q: got %q", name, a.Fields)
		}
	}
	if len(a.known) != mostKnown {
		t.Errorf("%d names are remembered, want %d", len(a.known), mostKnown)
	}
}

// FuzzAnswer: an answer that Parse accepts is what net/http reads.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 304 x\r\nContent-Length: 0\r\nPragma: no-cache\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
	a := &LoopAnswer{Record: all}
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, a, b) })
}
