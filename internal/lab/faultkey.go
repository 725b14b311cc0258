package lab

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/rlcheck/rlcheck/internal/wrong"
)

// keyFaults choose the partition of a request wrongly.
var keyFaults = []Fault{
	{Name: "forwarded-for-trusted", fits: wrong.StartsWithSome,
		key: func(r *http.Request, key string) string {
			if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"),
				","); strings.TrimSpace(first) != "" {
				return "forwarded for " + strings.TrimSpace(first)
			}
			return key
		}},
	{Name: "real-ip-trusted", fits: wrong.StartsWithSome, key: func(r *http.Request, key string) string {
		for _, name := range []string{"X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip"} {
			if v := r.Header[name]; len(v) > 0 {
				return "real address " + v[0]
			}
		}
		return key
	}},
	{Name: "key-by-path",
		key: func(r *http.Request, key string) string { return key + " " + r.URL.EscapedPath() }},
	{Name: "key-by-query",
		key: func(r *http.Request, key string) string { return key + " ?" + r.URL.RawQuery }},
	{Name: "key-by-method", key: func(r *http.Request, key string) string { return key + " " + r.Method }},
	{Name: "keys-shared", fits: wrong.StartsWithSome,
		key: func(r *http.Request, _ string) string { return addressKey(r) }},
	{Name: "truncated-key",
		key: func(_ *http.Request, key string) string { return key[:min(len(key), 64)] }},
	{Name: "long-key-unlimited", unlimited: func(t *Target, r *http.Request) bool {
		key, _ := t.named(r)
		return len(key) > 250
	}},
	{Name: "letters-dropped", key: func(_ *http.Request, key string) string {
		return strings.Map(func(r rune) rune {
			if r > unicode.MaxASCII {
				return -1
			}
			return r
		}, key)
	}},
	{Name: "empty-key-unlimited", unlimited: func(t *Target, r *http.Request) bool {
		key, ok := t.named(r)
		return ok && key == ""
	}},
	{Name: "ipv6-per-address", fits: wrong.StartsWithSome,
		network: func(a netip.Addr) string { return a.Unmap().String() }},
	{Name: "mapped-address-apart", network: func(a netip.Addr) string {
		if a.Is4In6() {
			return a.String()
		}
		return networkOf(a)
	}},
	{Name: "missing-key-unlimited", unlimited: func(t *Target, r *http.Request) bool {
		_, ok := t.named(r)
		return !ok
	}},
}

// attributeFaults take a client for another one if its requests differ in one thing.
var attributeFaults = []Fault{
	byAttribute("key-by-path-case", func(r *http.Request) bool {
		return r.URL.Path != strings.ToLower(r.URL.Path)
	}),
	byAttribute("key-by-slashes", func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "//")
	}),
	byAttribute("key-by-trailing-slash", func(r *http.Request) bool {
		return len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/")
	}),
	byAttribute("key-by-dot-segment", func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/./")
	}),
	byAttribute("key-by-encoding", func(r *http.Request) bool {
		return r.URL.RawPath != ""
	}),
	byAttribute("key-by-extension", func(r *http.Request) bool {
		return path.Ext(r.URL.Path) != ""
	}),
	byAttribute("key-by-host", func(r *http.Request) bool {
		return strings.HasSuffix(r.Host, ".invalid")
	}),
	byAttribute("key-by-port", func(r *http.Request) bool {
		_, _, err := net.SplitHostPort(r.Host)
		return err != nil && !strings.HasSuffix(r.Host, ".invalid")
	}),
	byField("key-by-user-agent", "User-Agent"),
	byField("key-by-accept", "Accept"),
	byField("key-by-language", "Accept-Language"),
	byField("key-by-cookie", "Cookie"),
	byField("key-by-authorization", "Authorization"),
	byField("key-by-origin", "Origin"),
	byField("key-by-entity-tag", "If-None-Match"),
	byAttribute("key-by-body", func(r *http.Request) bool {
		return r.ContentLength > 0
	}),
	{Name: "chunked-unlimited",
		unlimited: func(_ *Target, r *http.Request) bool { return r.ContentLength < 0 }},
	freeCost("zero-cost-free", "zero-cost", func(n uint64, _ string) bool { return n == 0 }),
	freeCost("negative-cost-free", "", func(_ uint64, v string) bool { return v[0] == '-' }),
	freeCost("huge-cost-free", "", func(n uint64, _ string) bool { return n > math.MaxInt64 }),
	freeCost("word-cost-free", "", func(_ uint64, v string) bool { return v == "NaN" }),
	freeWith("conditions-unlimited", "", "If-Modified-Since", ""),
	freeWith("ranges-unlimited", "", "Range", ""),
	freeWith("loopback-unlimited", "", "X-Forwarded-For", "127.0.0.1"),
	freeWith("probes-unlimited", "kube-probe", "User-Agent", "kube-probe"),
	freeWith("balancers-unlimited", "elb-health-checker", "User-Agent", "ELB-HealthChecker"),
	freeWith("crawlers-unlimited", "googlebot", "User-Agent", "Googlebot"),
	{Name: "options-unlimited", Declared: "expect.attributes.options=shared",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodOptions }},
	{Name: "key-by-fingerprint", key: func(r *http.Request, key string) string {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-") && name != "X-Api-Key" && name != "X-Cost" {
				key += " " + name // as many as there are: order does not matter for one
			}
		}
		return key
	}},
	{Name: "key-by-field-case", key: func(r *http.Request, key string) string {
		return key + oddly(r, key, func(line string) bool {
			name, _, _ := strings.Cut(line, ":")
			return textproto.CanonicalMIMEHeaderKey(name) != name
		})
	}},
	{Name: "key-by-spaces", key: func(r *http.Request, key string) string {
		return key + oddly(r, key, func(line string) bool { return strings.HasSuffix(line, " ") })
	}},
	{Name: "keys-folded", Declared: "expect.attributes.key-case=separate",
		key: func(_ *http.Request, key string) string { return strings.ToLower(key) }},
	{Name: "key-by-all-values", Declared: "expect.attributes.key-twice=shared",
		key: func(r *http.Request, key string) string {
			if all := r.Header["X-Api-Key"]; len(all) > 1 {
				return strings.Join(all, ", ")
			}
			return key
		}},
	{Name: "forwarded-trusted", key: func(r *http.Request, key string) string {
		if v := r.Header.Get("Forwarded"); v != "" {
			return "forwarded " + v
		}
		return key
	}},
	{Name: "key-by-version", key: func(r *http.Request, key string) string { return key + " " + r.Proto }},
	{Name: "key-by-connection",
		key: func(r *http.Request, key string) string { return key + " " + r.RemoteAddr }},
	{Name: "replays-free",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Header.Get("Idempotency-Key") != "" }},
}

// byAttribute returns the fault that counts the requests for which differs is true separately from the
// others.
func byAttribute(name string, differs func(*http.Request) bool) Fault {
	return Fault{Name: name, key: func(r *http.Request, key string) string {
		if differs(r) {
			return key + " " + name
		}
		return key
	}}
}

// byField returns the fault that counts each value of a header field separately.
func byField(name, field string) Fault {
	return Fault{Name: name,
		key: func(r *http.Request, key string) string { return key + " " + r.Header.Get(field) }}
}

// freeWith returns the fault that does not count requests whose header field has a part. declared is the
// attribute that a scenario must declare shared. Empty: nothing.
func freeWith(name, declared, field, part string) Fault {
	return free(name, declared, func(_ *Target, r *http.Request) bool {
		v := r.Header.Get(field)
		return v != "" && strings.Contains(v, part)
	})
}

// free returns the fault that does not count some requests. declared is the attribute that a scenario must
// declare shared. Empty: nothing.
func free(name, declared string, unlimited func(*Target, *http.Request) bool) Fault {
	f := Fault{Name: name, unlimited: unlimited}
	if declared != "" {
		f.Declared = "expect.attributes." + declared + "=shared"
	}
	return f
}

// freeCost returns the fault that counts no request whose stated cost is so. n is that cost, or 1 if it is
// no natural number. declared is the attribute that a scenario must declare shared. Empty: nothing.
func freeCost(name, declared string, is func(n uint64, text string) bool) Fault {
	return free(name, declared, func(t *Target, r *http.Request) bool {
		v := r.Header.Get(t.costHdr)
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			n = 1
		}
		return v != "" && is(n, v)
	})
}

// oddly returns the line of a key if it is written in an unusual way that `is` accepts. Only the servers of
// Listen keep lines.
func oddly(r *http.Request, key string, is func(line string) bool) string {
	lines, ok := r.Context().Value(LinesKey{}).(func() []string)
	if !ok {
		return ""
	}
	for _, line := range lines() {
		if strings.Contains(line, key) && is(line) {
			return " " + line
		}
	}
	return ""
}
