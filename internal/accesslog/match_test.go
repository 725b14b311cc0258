package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
)

// TestPathsWrittenInOtherWays: nginx limits //api/a in location /api/, and does not limit /api/../health there. Neither is held against
// it by a condition on the path as it is written.
func TestPathsWrittenInOtherWays(t *testing.T) {
	limit := mustParse(t, "token-bucket,rate=1/10s,burst=2")
	for _, c := range []struct {
		path    string
		limited bool
	}{{"//api/a", true}, {"/%61pi/a", true}, {"/x/../api/a", true}, {"/./api/a", true}, {"/api/../health", false}, {"/api/%2e%2e/health", false}} {
		lim, err := reference.NewLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		state := lim.Init()
		var b strings.Builder
		for i := range 200 {
			at, path, limited := time.Duration(i)*1500*time.Millisecond, "/api/a", true
			if i > 40 && i%5 == 0 {
				path, limited = c.path, c.limited
			}
			d := reference.Decision{Allow: true}
			if limited {
				state, d = lim.Step(state, at, 1)
			}
			status := 200
			if !d.Allow {
				status = 429
			}
			fmt.Fprintf(&b, "%.3f 0.001 10.0.0.1 %d %s\n", 1795168800+at.Seconds()+.001, status, path)
		}
		fmt.Fprintf(&b, "1795169200.000 0.001 10.0.0.2 200 %s\n", c.path) // nobody else
		o := Options{Format: Nginx, Layout: "$msec $request_time $remote_addr $status $request_uri", Match: []Match{{"path", "/api/*", false}}}
		l, err := Read(strings.NewReader(b.String()), "x", o)
		if err != nil {
			t.Fatal(err)
		}
		if l.Doubtful != 31 || l.Unmatched != 1 || l.Len() != 200 {
			t.Errorf("%s: got %d doubtful, %d unmatched, %d requests, want 31, 1, 200", c.path, l.Doubtful, l.Unmatched, l.Len())
		}
		sound(t, l)
		equalToRead(t, []byte(b.String()), o)
		if j := mustJudge(t, l, limit); j.Verdict != check.Pass {
			t.Errorf("%s: got %v: %+v", c.path, j.Verdict, j.Partitions)
		}
		if j := mustJudge(t, l, mustParse(t, "token-bucket,rate=1/100s,burst=2")); j.Verdict != check.Fail {
			t.Errorf("%s: a tenth of the rate: got %v", c.path, j.Verdict)
		}
	}
	o := Options{Format: Nginx, Layout: "$msec $request_time $remote_addr $status $request_uri", Match: []Match{{"path", "/api/*", false}}}
	_, err := Read(strings.NewReader("1795169200.000 0.001 10.0.0.2 200 //api/a\n"), "x", o)
	if want := "x:1: no request: none of 1 matches"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPlainPaths(t *testing.T) {
	for written, want := range map[string]string{
		"/": "/", "/a/b": "/a/b", "/a/": "/a/", "//a": "/a", "/a//b/": "/a/b/", "/./a": "/a", "/a/.": "/a/", "/a/..": "/", "/..": "/", "/a/../b": "/b",
		"/a/...": "/a/...", "/.a": "/.a", "/%61": "/a", "/%2e%2E/a": "/a", "/%": "/%", "/a%2fb": "/a/b", "/a\\b": "/a/b", "*": "*", "": "",
	} {
		if got := string(plainPath([]byte(written))); got != want {
			t.Errorf("%s: got %s, want %s", written, got, want)
		}
	}
}
