package lab

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inProcess is a transport that asks a handler without a network.
type inProcess struct{ h http.Handler }

// RoundTrip returns what the handler answers.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
	t.h.ServeHTTP(w, in)
	res := w.Result()
	res.Request = r
	return res, nil
}

// originURL is the upstream of tests without a network.
var originURL = &url.URL{Scheme: "http", Host: "origin.test"}

// proxied returns a proxy with a fault in front of h.
func proxied(t *testing.T, h http.Handler, fault string, o ProxyOptions) http.Handler {
	t.Helper()
	o.Upstream, o.Transport = originURL, inProcess{h}
	p, err := NewProxy(fault, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// proxySights show the faults of proxies in front of a right target.
var proxySights = []sight{
	{fault: "proxy-strips-retry-after", spec: window,
		steps: do(burst(11), says("Retry-After"), says("X-RateLimit-Limit")),
		right: "10, 10, 10", wrong: "10, none, 10"},
	{fault: "proxy-strips-ratelimit", spec: window,
		steps: do(one, says("RateLimit"), says("RateLimit-Policy"), says("X-RateLimit-Reset"), says("Date")),
		right: `"default";r=9;t=10, "default";q=10;w=10, 946684810, Sat, 01 Jan 2000 00:00:00 GMT`,
		wrong: "none, none, none, Sat, 01 Jan 2000 00:00:00 GMT"},
	{fault: "proxy-replaces-date", spec: window, steps: do(one, says("Date")),
		right: "Sat, 01 Jan 2000 00:00:00 GMT", wrong: "Sat, 01 Jan 2000 00:01:00 GMT"},
	{fault: "proxy-status-502", spec: window, steps: do(burst(11), status, says("Retry-After")),
		right: "10, 429, 10", wrong: "10, 502, 10"},
	{fault: "proxy-replaces-body", spec: window,
		steps: do(burst(11), says("Content-Type"), says("Content-Length")),
		right: "10, application/problem+json, 263", wrong: "10, text/html, 57"},
	{fault: "proxy-caches", spec: window, steps: do(burst(20), wait(time.Second), burst(20)),
		right: "10, 0", wrong: "20, 20"},
	{fault: "proxy-retries-denied", spec: logged + ",count=all",
		steps: do(burst(10), wait(9*time.Second), burst(1), wait(time.Second), burst(20)), right: "10, 0, 9",
		wrong: "10, 0, 7"},
}

// TestProxyFaultsShowFromOutside: a client sees the difference that each fault of a proxy makes.
func TestProxyFaultsShowFromOutside(t *testing.T) {
	shown := map[string]bool{}
	for _, s := range proxySights {
		shown[s.fault] = true
		t.Run(s.fault, func(t *testing.T) {
			for _, fault := range []string{"", s.fault} {
				synctest.Test(t, func(t *testing.T) {
					want := s.right
					if fault != "" {
						want = s.wrong
					}
					p := proxied(t, open(t, Options{Limit: parse(t, s.spec)}), fault, ProxyOptions{})
					if got := run(p, s.steps...); got != want {
						t.Errorf("fault %q: got %s, want %s", fault, got, want)
					}
				})
			}
			if s.right == s.wrong {
				t.Errorf("both see %s: that shows nothing", s.right)
			}
		})
	}
	for _, f := range Faults() {
		if f.Proxy && !shown[f.Name] {
			t.Errorf("fault %q: nothing shows it", f.Name)
		}
	}
}

// TestProxyPassesUnchanged sends a request with every kind of field through a proxy on real connections. It
// compares what arrives at both ends.
func TestProxyPassesUnchanged(t *testing.T) {
	var got http.Header
	var method, uri, body string
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, method, uri = r.Header.Clone(), r.Method, r.URL.RequestURI()
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		body = string(b[:n])
		h := w.Header()
		h["Date"] = []string{"Sat, 01 Jan 2000 00:00:00 GMT"}
		h["Retry-After"] = []string{"Sat, 01 Jan 2000 00:01:00 GMT"}
		h["Ratelimit"] = []string{`"a";r=1`, `"b";r=2`}
		h["X-Powered-By"], h["Connection"], h["X-Hop"] = []string{"x"}, []string{"X-Hop"}, []string{"gone"}
		h["Keep-Alive"] = []string{"timeout=5"}
		h["Content-Type"] = []string{"application/problem+json"}
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("{}"))
	}))
	defer origin.Close()
	upstream, err := url.Parse(origin.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProxy("", ProxyOptions{Upstream: upstream})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	defer front.Close()
	r, err := http.NewRequest(http.MethodPut, front.URL+"/a%2Fb//c?d=e;f", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"X-Api-Key": {"k"}, "X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"},
		"X-Real-Ip":  {"192.0.2.2"},
		"Connection": {"X-Gone"}, "X-Gone": {"1"}, "User-Agent": {""}, "Accept-Encoding": {"identity"},
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	want := http.Header{
		"X-Api-Key": {"k"}, "X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"},
		"X-Real-Ip":      {"192.0.2.2"},
		"Content-Length": {"5"}, "Accept-Encoding": {"identity"},
	}
	if flat(got) != flat(want) || method != "PUT" || uri != "/base/a%2Fb//c?d=e;f" || body != "hello" {
		t.Errorf("at the origin: got %s %s %q\n%s\nwant PUT /base/a%%2Fb//c?d=e;f \"hello\"\n%s", method, uri,
			body, flat(got), flat(want))
	}
	want = http.Header{
		"Date": {"Sat, 01 Jan 2000 00:00:00 GMT"}, "Retry-After": {"Sat, 01 Jan 2000 00:01:00 GMT"},
		"Ratelimit":    {`"a";r=1`, `"b";r=2`},
		"X-Powered-By": {"x"}, "Content-Type": {"application/problem+json"}, "Content-Length": {"2"},
	}
	if flat(answer.Header) != flat(want) || answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("at the client: got %d\n%s\nwant 429\n%s", answer.StatusCode, flat(answer.Header),
			flat(want))
	}
}

// flat returns a header as text in a fixed order.
func flat(h http.Header) string {
	var b strings.Builder
	if err := h.Write(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

// TestProxyRewrites: fields are stripped by name and by prefix, fields are set, and statuses are replaced.
func TestProxyRewrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := open(t, Options{Limit: parse(t, window),
			Dialect: []Dialect{XRateLimit, RateLimitLegacy, RetryAfterField}})
		p := proxied(t, target, "", ProxyOptions{
			Strip:  []string{"x-ratelimit-*", "RETRY-AFTER"},
			Set:    map[string]string{"retry-after": "7", "ratelimit-limit": "99"},
			Status: map[int]int{429: 503, 200: 204},
		})
		got := run(p, one, status, says("Retry-After"), says("RateLimit-Limit"), says("RateLimit-Reset"),
			says("X-RateLimit-Limit"))
		if want := "204, 7, 99, 10, none"; got != want {
			t.Errorf("allowed: got %s, want %s", got, want)
		}
		got = run(p, burst(10), status, says("Retry-After"), says("X-RateLimit-Reset"))
		if want := "0, 503, 7, none"; got != want {
			t.Errorf("denied: got %s, want %s", got, want)
		}
	})
}

// TestProxyDate: the Date of the origin is passed on. One is added where the origin sends none. None is sent
// where it is stripped.
func TestProxyDate(t *testing.T) {
	const old = "Sat, 01 Jan 2000 00:00:00 GMT"
	for _, c := range []struct {
		origin []string
		o      ProxyOptions
		want   string
	}{
		{[]string{old}, ProxyOptions{}, old},
		{nil, ProxyOptions{}, "now"},
		{[]string{old}, ProxyOptions{Strip: []string{"date"}}, ""},
		{nil, ProxyOptions{Strip: []string{"*"}}, ""},
		{[]string{old}, ProxyOptions{Strip: []string{"date"}, Set: map[string]string{"Date": "never"}},
			"never"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = c.origin })
		front := httptest.NewServer(proxied(t, h, "", c.o))
		answer, err := http.Get(front.URL)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		front.Close()
		got := answer.Header.Get("Date")
		if _, err := http.ParseTime(got); err == nil && got != old {
			got = "now"
		}
		if got != c.want {
			t.Errorf("origin %q, strip %q: got Date %q, want %q", c.origin, c.o.Strip, got, c.want)
		}
	}
}

// failing is a transport that cannot reach its origin.
type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }

// TestProxyWithoutOrigin: the answer is 502.
func TestProxyWithoutOrigin(t *testing.T) {
	p, err := NewProxy("", ProxyOptions{Upstream: originURL, Transport: failing{}})
	if err != nil {
		t.Fatal(err)
	}
	if r := ask(p, request{}); r.StatusCode != http.StatusBadGateway {
		t.Errorf("got status %d, want 502", r.StatusCode)
	}
}

// TestProxyErrors: errors name all that is wrong with options, at once.
func TestProxyErrors(t *testing.T) {
	for _, c := range []struct {
		fault string
		o     ProxyOptions
		want  []string
	}{
		{"", ProxyOptions{}, []string{"an origin is http://HOST"}},
		{"", ProxyOptions{Upstream: &url.URL{Scheme: "ftp", Host: "x"}},
			[]string{"an origin is http://HOST"}},
		{"", ProxyOptions{Upstream: originURL, Strip: []string{"a b", ""},
			Set: map[string]string{"x:": "1", "Y": "a\r\nb"}, Status: map[int]int{429: 42}},
			[]string{`field name "a b"`, `field name ""`, `field name "x:"`, `value "a\r\nb" of Y`,
				"status 429 to 42"}},
		{"proxy-strip-retry-after", ProxyOptions{Upstream: originURL},
			[]string{`did you mean "proxy-strips-retry-after"?`}},
		{"status-503", ProxyOptions{Upstream: originURL}, []string{"that fault belongs to rlcheck serve"}},
	} {
		_, err := NewProxy(c.fault, c.o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one that says %q", err, want)
			}
		}
	}
}
