package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
)

// TestPathsWrittenInOtherWays: nginx limits //api/a in location /api/, and does not limit /api/../health
// there. A condition on the path as it is written must not hold either against it.
func TestPathsWrittenInOtherWays(t *testing.T) {
	limit := mustParse(t, "token-bucket,rate=1/10s,burst=2")
	for _, c := range []struct {
		path    string
		limited bool
	}{{"//api/a", true}, {"/%61pi/a", true}, {"/x/../api/a", true}, {"/./api/a", true},
		{"/api/../health", false}, {"/api/%2e%2e/health", false}} {
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
		o := Options{Format: Nginx, Layout: "$msec $request_time $remote_addr $status $request_uri",
			Match: []Match{{"path", "/api/*", false}}}
		l, err := Read(strings.NewReader(b.String()), "x", o)
		if err != nil {
			t.Fatal(err)
		}
		if l.Doubtful != 31 || l.Unmatched != 1 || l.Len() != 200 {
			t.Errorf("%s: got %d doubtful, %d unmatched, %d requests, want 31, 1, 200", c.path, l.Doubtful,
				l.Unmatched, l.Len())
		}
		sound(t, l)
		if j := mustJudge(t, l, limit); j.Verdict != result.Pass {
			t.Errorf("%s: got %v: %+v", c.path, j.Verdict, j.Partitions)
		}
		if j := mustJudge(t, l, mustParse(t, "token-bucket,rate=1/100s,burst=2")); j.Verdict != result.Fail {
			t.Errorf("%s: a tenth of the rate: got %v", c.path, j.Verdict)
		}
	}
	o := Options{Format: Nginx, Layout: "$msec $request_time $remote_addr $status $request_uri",
		Match: []Match{{"path", "/api/*", false}}}
	_, err := Read(strings.NewReader("1795169200.000 0.001 10.0.0.2 200 //api/a\n"), "x", o)
	if want := "x:1: no request: none of 1 matches"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAPatternInAnotherWay: a pattern with escapes matches the paths that they stand for.
func TestAPatternInAnotherWay(t *testing.T) {
	o := Options{Format: Nginx, Layout: "$msec $request_time $remote_addr $status $request_uri",
		Match: []Match{{"path", "/a%20b/*", false}}}
	l, err := Read(strings.NewReader("1795169200.000 0.001 10.0.0.2 200 /a%20b/c\n1795169200.000 0.001 "+
		"10.0.0.2 200 /a%20%62/c\n"), "x", o)
	if err != nil || l.Len() != 2 || l.Doubtful != 1 {
		t.Errorf("got %+v, %v, want two requests, one of them doubtful", l, err)
	}
}

func TestPlainPaths(t *testing.T) {
	for written, want := range map[string]string{
		"/": "/", "/a/b": "/a/b", "/a/": "/a/", "//a": "/a", "/a//b/": "/a/b/", "/./a": "/a", "/a/.": "/a/",
		"/a/..": "/", "/..": "/", "/a/../b": "/b",
		"/a/...": "/a/...", "/.a": "/.a", "/%61": "/a", "/%2e%2E/a": "/a", "/%": "/%", "/a%2fb": "/a/b",
		"/a\\b": "/a/b", "*": "*", "": "",
	} {
		if got := string(plainPath([]byte(written))); got != want {
			t.Errorf("%s: got %s, want %s", written, got, want)
		}
	}
}

func TestHostsWrittenInOtherWays(t *testing.T) {
	for _, c := range []struct {
		host, glob     string
		meets, doubted bool
	}{
		{"api.example.com", "api.example.com", true, false},
		{"API.Example.com", "api.example.com", true, true},
		{"api.example.com:8443", "api.example.com", true, true},
		{"api.example.com.", "api.*", true, false}, {"api.example.com.", "*.com", true, true},
		{"www.example.com", "api.*", false, false}, {"[::1]:80", "::1", true, true},
		{"localhost:8080", "localhost:8080", true, false}, {"localhost:9090", "localhost:8080", false, false},
		{"localhost:8080", "*:8080", true, false},
	} {
		line := `{"msec":"1795168807.900","request_time":"0.250","status":"200","remote_addr":"a","host":"` +
			c.host + `"}` + "\n"
		known := `{"msec":"1795168808.900","request_time":"0.250","status":"200","remote_addr":"a","host":"` +
			c.glob + `"}` + "\n"
		l, err := Read(strings.NewReader(line+known), "x",
			Options{Format: NginxJSON, Match: []Match{{"host", c.glob, false}}})
		if err != nil || (l.Unmatched == 0) != c.meets || (l.Doubtful == 1) != c.doubted {
			t.Errorf("%s of %s: got %d unmatched, %d doubtful, %v", c.host, c.glob, l.Unmatched, l.Doubtful,
				err)
		}
	}
}

// TestNoTwoValuesHaveOneName: two clients never become one partition.
func TestNoTwoValuesHaveOneName(t *testing.T) {
	names := map[string]string{}
	for _, value := range []string{"a", `a\b`, "\xff", `\xff`, "\\\xff", `\x5cxff`, "\uFFFD", `\xef\xbf\xbd`,
		"\xffx", `\`, `\\`, `\x`, "\\\xff\\", "é"} {
		name := partitionName([]byte(value))
		if other, twice := names[name]; twice {
			t.Errorf("%q and %q are both %s", value, other, name)
		}
		names[name] = value
	}
	for _, plain := range []string{`DOMAIN\user`, `\x41`, `\xyz`, `\x`} {
		if got := partitionName([]byte(plain)); got != plain {
			t.Errorf("%s needs no change: got %s", plain, got)
		}
	}
}
