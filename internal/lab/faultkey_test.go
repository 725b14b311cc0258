package lab

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
)

// altered sends n requests, each altered, and returns how many were allowed.
func altered(n int, alter func(*http.Request)) step {
	return func(s *session) string {
		allowed := 0
		for range n {
			r := httptest.NewRequest(http.MethodGet, "/api/items", nil)
			r.Host = "127.0.0.1:80"
			r.Header.Set("X-Api-Key", s.request.key)
			alter(r)
			w := httptest.NewRecorder()
			if s.h.ServeHTTP(w, r); w.Code == http.StatusOK {
				allowed++
			}
		}
		return strconv.Itoa(allowed)
	}
}

// written adds an odd line to the header block of a request.
func written(line string) func(*http.Request) {
	return func(r *http.Request) {
		lines := []string{strings.ReplaceAll(line, "KEY", r.Header.Get("X-Api-Key"))}
		arrived := func() []string { return lines }
		*r = *r.WithContext(context.WithValue(r.Context(), LinesKey{}, arrived))
	}
}

// attributeSights show the faults that take a client for another one.
var attributeSights = func() (out []sight) {
	path := func(path string) func(*http.Request) {
		return func(r *http.Request) { r.URL, _ = r.URL.Parse(path) }
	}
	field := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Add(name, value) }
	}
	key := func(key string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("X-Api-Key", key) }
	}
	long := func(bytes int) func(*http.Request) { return key(strings.Repeat("k", bytes)) }
	for _, x := range []struct {
		fault string
		alter func(*http.Request)
	}{
		{"key-by-path-case", path("/API/ITEMS")},
		{"key-by-slashes", func(r *http.Request) { r.URL.Path = "//api/items" }},
		{"key-by-trailing-slash", path("/api/items/")},
		{"key-by-dot-segment", func(r *http.Request) { r.URL.Path = "/./api/items" }},
		{"key-by-encoding", path("/%61pi/items")},
		{"key-by-extension", path("/api/items.json")},
		{"key-by-host", func(r *http.Request) { r.Host = "rlcheck.invalid" }},
		{"key-by-port", func(r *http.Request) { r.Host = "127.0.0.1" }},
		{"key-by-user-agent", field("User-Agent", "other/1")},
		{"key-by-accept", field("Accept", "text/html")},
		{"key-by-language", field("Accept-Language", "eo")},
		{"key-by-cookie", field("Cookie", "a=b")},
		{"key-by-authorization", field("Authorization", "Bearer rlcheck")},
		{"key-by-origin", field("Origin", "https://rlcheck.invalid")},
		{"key-by-entity-tag", field("If-None-Match", `"rlcheck"`)},
		{"key-by-body", func(r *http.Request) { r.ContentLength = 2 }},
		{"key-by-fingerprint", field("X-Other", "1")},
		{"key-by-field-case", written("x-api-key: KEY")},
		{"key-by-spaces", written("X-Api-Key:   KEY  ")},
		{"key-by-all-values", func(r *http.Request) { r.Header.Add("X-Api-Key", r.Header.Get("X-Api-Key")) }},
		{"forwarded-trusted", field("Forwarded", "for=198.18.0.1")},
		{"key-by-version", func(r *http.Request) { r.Proto = "HTTP/1.0" }},
		{"key-by-connection", func(r *http.Request) { r.RemoteAddr = "192.0.2.1:99" }},
	} {
		out = append(out, sight{fault: x.fault, spec: window, steps: do(altered(20, func(*http.Request) {}),
			altered(20, x.alter)), right: "10, 0", wrong: "10, 10"})
	}
	for fault, alter := range map[string]func(*http.Request){
		"replays-free":         field("Idempotency-Key", "1"),
		"conditions-unlimited": field("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"),
		"ranges-unlimited":     field("Range", "bytes=0-0"),
		"loopback-unlimited":   field("X-Forwarded-For", "127.0.0.1"),
		"chunked-unlimited":    func(r *http.Request) { r.ContentLength = -1 },
		"probes-unlimited":     field("User-Agent", "kube-probe/1.30"),
		"balancers-unlimited":  field("User-Agent", "ELB-HealthChecker/2.0"),
		"crawlers-unlimited":   field("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1)"),
		"zero-cost-free":       field("X-Cost", "0"),
		"negative-cost-free":   field("X-Cost", "-1"),
		"huge-cost-free":       field("X-Cost", "18446744073709551615"),
		"word-cost-free":       field("X-Cost", "NaN"),
		"options-unlimited":    func(r *http.Request) { r.Method = http.MethodOptions },
		"post-unlimited":       func(r *http.Request) { r.Method = http.MethodPost },
	} {
		right := "10"
		if strings.Contains(fault, "-cost-") {
			right = "0" // refused
		}
		out = append(out, sight{fault: fault, spec: window, steps: do(altered(20, alter)), right: right,
			wrong: "20"})
	}
	gone := func(r *http.Request) {
		ctx, leave := context.WithCancel(r.Context())
		leave()
		*r = *r.WithContext(ctx)
	}
	out = append(out, sight{fault: "left-refunded", spec: window,
		steps: do(altered(5, gone), altered(20, func(*http.Request) {})), right: "5, 5", wrong: "5, 10"})
	return append(out, sight{fault: "keys-folded", spec: window,
		steps: do(altered(20, func(*http.Request) {}), altered(20, func(r *http.Request) {
			r.Header.Set("X-Api-Key", strings.ToUpper(r.Header.Get("X-Api-Key")))
		})), right: "10, 10", wrong: "10, 0"}, sight{fault: "client-id-trusted", spec: window,
		steps: do(altered(20, func(r *http.Request) { r.Header.Del("X-Api-Key") }),
			altered(20, func(r *http.Request) {
				r.Header.Del("X-Api-Key")
				r.Header.Set("X-Client-Id", "other")
			})), right: "10, 0", wrong: "10, 10"},
		sight{fault: "truncated-key", spec: window,
			steps: do(altered(20, long(64)), altered(20, long(65))),
			right: "10, 10", wrong: "10, 0"},
		sight{fault: "long-key-unlimited", spec: window, steps: do(altered(20, long(251))),
			right: "10", wrong: "20"},
		sight{fault: "empty-key-unlimited", spec: window, steps: do(altered(20, long(0))),
			right: "10", wrong: "20"},
		sight{fault: "letters-dropped", spec: window,
			steps: do(altered(20, key("café")), altered(20, key("cafè"))), right: "10, 10", wrong: "10, 0"},
		sight{fault: "exempt-for-all", spec: window, ruled: true,
			steps: do(altered(20, path("/metrics")),
				altered(20, both(path("/metrics"), field("X-Role", "operator")))),
			right: "10, 20", wrong: "20, 20"})
}()
