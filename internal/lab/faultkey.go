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
)

// keyFaults choose the partition of a request wrongly.
var keyFaults = []Fault{
	{Name: "forwarded-for-trusted", Class: "A15",
		Sentence: "takes the first element of X-Forwarded-For for the client, before everything else",
		Citation: "https://github.com/didip/tollbooth/issues/2",
		key: func(r *http.Request, key string) string {
			if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"),
				","); strings.TrimSpace(first) != "" {
				return "forwarded for " + strings.TrimSpace(first)
			}
			return key
		}},
	{Name: "real-ip-trusted", Class: "A15",
		Sentence: "takes X-Real-IP, True-Client-IP, CF-Connecting-IP or X-Client-IP for the client, " +
			"before everything else",
		Citation: "https://github.com/migadu/alps/pull/18",
		key: func(r *http.Request, key string) string {
			for _, name := range []string{"X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip"} {
				if v := r.Header[name]; len(v) > 0 {
					return "real address " + v[0]
				}
			}
			return key
		}},
	{Name: "key-by-path", Class: "A17", Sentence: "counts each spelling of a path separately",
		Citation: "https://github.com/coder/coder/pull/27273",
		key:      func(r *http.Request, key string) string { return key + " " + r.URL.EscapedPath() }},
	{Name: "key-by-query", Class: "A17", Sentence: "counts each query string separately",
		Citation: "https://github.com/outline/outline/pull/13504",
		key:      func(r *http.Request, key string) string { return key + " ?" + r.URL.RawQuery }},
	{Name: "key-by-method", Class: "A17", Sentence: "counts each method separately",
		Citation: "https://github.com/ovumcy/ovumcy-web/pull/354",
		key:      func(r *http.Request, key string) string { return key + " " + r.Method }},
	{Name: "keys-shared", Class: "B14", Sentence: "counts all clients of one address together, whatever " +
		"key they have", Citation: "https://github.com/jsocol/django-ratelimit/issues/222",
		key: func(r *http.Request, _ string) string { return addressKey(r) }},
	{Name: "truncated-key", Class: "B14", Sentence: "takes the first 64 bytes of a key for the client, " +
		"and longer keys begin alike", Citation: "https://github.com/ashita-ai/tessera/issues/185",
		key: func(_ *http.Request, key string) string { return key[:min(len(key), 64)] }},
	{Name: "long-key-unlimited", Class: "B14",
		Sentence: "does not limit keys of over 250 bytes, which its store refuses",
		Citation: "https://github.com/dziegler/django-urlcrypt/issues/10",
		unlimited: func(t *Target, r *http.Request) bool {
			key, _ := t.named(r)
			return len(key) > 250
		}},
	{Name: "letters-dropped", Class: "B14",
		Sentence: "keeps only the ASCII characters of a key, so other letters are one",
		Citation: "https://github.com/calimero-network/core/pull/3042",
		key: func(_ *http.Request, key string) string {
			return strings.Map(func(r rune) rune {
				if r > unicode.MaxASCII {
					return -1
				}
				return r
			}, key)
		}},
	{Name: "empty-key-unlimited", Class: "B14",
		Sentence: "does not limit requests whose key is empty",
		Citation: "https://nginx.org/en/docs/http/ngx_http_limit_req_module.html",
		unlimited: func(t *Target, r *http.Request) bool {
			key, ok := t.named(r)
			return ok && key == ""
		}},
	{Name: "ipv6-per-address", Class: "A16",
		Sentence: "counts each address of an IPv6 network separately, and one client has 2^64 of them",
		Citation: "https://github.com/express-rate-limit/express-rate-limit/issues/502",
		network:  func(a netip.Addr) string { return a.Unmap().String() }},
	{Name: "mapped-address-apart", Class: "A16",
		Sentence: "treats an IPv4 address and the IPv6 address mapped from it as two clients",
		Citation: "https://github.com/better-auth/better-auth/pull/7300",
		network: func(a netip.Addr) string {
			if a.Is4In6() {
				return a.String()
			}
			return networkOf(a)
		}},
	{Name: "missing-key-unlimited", Class: "B14",
		Sentence: "does not limit requests without a key",
		Citation: "https://nginx.org/en/docs/http/ngx_http_limit_req_module.html",
		unlimited: func(t *Target, r *http.Request) bool {
			_, ok := t.named(r)
			return !ok
		}},
}

// attributeFaults take a client for another one if its requests differ in one thing.
var attributeFaults = []Fault{
	byAttribute("key-by-path-case", "counts a path in upper case separately from the same path in lower case",
		"https://github.com/outline/outline/pull/13504", func(r *http.Request) bool {
			return r.URL.Path != strings.ToLower(r.URL.Path)
		}),
	byAttribute("key-by-slashes", "counts a path with two slashes in a row separately",
		"https://github.com/coder/coder/pull/27273", func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, "//")
		}),
	byAttribute("key-by-trailing-slash", "counts a path with a slash at its end separately",
		"https://github.com/outline/outline/pull/13504", func(r *http.Request) bool {
			return len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/")
		}),
	byAttribute("key-by-dot-segment", "counts a path with a dot segment separately",
		"https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.3", func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, "/./")
		}),
	byAttribute("key-by-encoding", "counts a path with percent-encoded letters separately",
		"https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.2", func(r *http.Request) bool {
			return r.URL.RawPath != ""
		}),
	byAttribute("key-by-extension", "counts a path with an extension separately from the same path "+
		"without it", "https://github.com/we-promise/sure/pull/3263", func(r *http.Request) bool {
		return path.Ext(r.URL.Path) != ""
	}),
	byAttribute("key-by-host", "counts each name in Host separately, and a client may invent any number "+
		"of names", "https://www.rfc-editor.org/rfc/rfc9110#section-7.2", func(r *http.Request) bool {
		return strings.HasSuffix(r.Host, ".invalid")
	}),
	byAttribute("key-by-port", "counts Host with a port separately from Host without it",
		"https://www.rfc-editor.org/rfc/rfc9110#section-4.2.3", func(r *http.Request) bool {
			_, _, err := net.SplitHostPort(r.Host)
			return err != nil && !strings.HasSuffix(r.Host, ".invalid")
		}),
	byField("key-by-user-agent", "counts each User-Agent separately",
		"https://github.com/durdana3105/peer-learning/pull/1724", "User-Agent"),
	byField("key-by-accept", "counts each Accept separately",
		"https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1", "Accept"),
	byField("key-by-cookie", "counts requests with other cookies separately",
		"https://www.rfc-editor.org/rfc/rfc6265#section-4.2.2", "Cookie"),
	byField("key-by-authorization", "counts each Authorization separately, although another field has "+
		"the key",
		"https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2", "Authorization"),
	byField("key-by-origin", "counts each Origin separately",
		"https://www.rfc-editor.org/rfc/rfc6454#section-7.3", "Origin"),
	byField("key-by-entity-tag", "counts requests with other tags in If-None-Match separately",
		"https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2", "If-None-Match"),
	byAttribute("key-by-body", "counts requests with a body separately",
		"https://www.rfc-editor.org/rfc/rfc9110#section-9.3.1", func(r *http.Request) bool {
			return r.ContentLength > 0
		}),
	{Name: "chunked-unlimited", Class: "A17", Sentence: "does not count requests whose body has no length " +
		"that is known beforehand", Citation: "https://www.rfc-editor.org/rfc/rfc9112#section-7.1",
		unlimited: func(_ *Target, r *http.Request) bool { return r.ContentLength < 0 }},
	freeCost("zero-cost-free", "charges nothing for a request that states a cost of zero", "zero-cost",
		"https://github.com/alisaifee/limits/pull/362", func(n uint64, _ string) bool { return n == 0 }),
	freeCost("negative-cost-free", "charges nothing for a request that states a negative cost", "",
		"https://github.com/alisaifee/limits/pull/362", func(_ uint64, v string) bool { return v[0] == '-' }),
	freeCost("huge-cost-free", "adds up costs in too few bits, so a huge one is nothing", "",
		"https://github.com/cyberfabric/cyberfabric-core/pull/1530",
		func(n uint64, _ string) bool { return n > math.MaxInt64 }),
	freeCost("word-cost-free", "charges nothing for a request whose stated cost is no number", "",
		"https://github.com/swuecho/chat/pull/162", func(_ uint64, v string) bool { return v == "NaN" }),
	freeWith("conditions-unlimited", "does not count requests with If-Modified-Since, even if answered whole",
		"https://www.rfc-editor.org/rfc/rfc9110#section-13.1.3", "", "If-Modified-Since", ""),
	freeWith("ranges-unlimited", "does not count requests for a part of a resource",
		"https://www.rfc-editor.org/rfc/rfc9110#section-14.2", "", "Range", ""),
	freeWith("probes-unlimited", "does not count who calls itself a health probe in User-Agent",
		"https://github.com/kubernetes/kubernetes/issues/29025", "kube-probe", "User-Agent", "kube-probe"),
	freeWith("balancers-unlimited", "does not count who calls itself the health check of a load balancer "+
		"in User-Agent", "https://github.com/kubernetes/kubernetes/issues/29025", "elb-health-checker",
		"User-Agent", "ELB-HealthChecker"),
	freeWith("crawlers-unlimited", "does not count who calls itself a crawler in User-Agent",
		"https://github.com/stefanprodan/AspNetCoreRateLimit/issues/437", "googlebot",
		"User-Agent", "Googlebot"),
	{Name: "options-unlimited", Class: "A17", Declared: "expect.attributes.options=shared",
		Sentence:  "does not count OPTIONS requests",
		Citation:  "https://fetch.spec.whatwg.org/#cors-preflight-fetch",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Method == http.MethodOptions }},
	{Name: "key-by-fingerprint", Class: "A17",
		Sentence: "takes the names of all header fields for the client, so one more field makes " +
			"another client",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-5.1",
		key: func(r *http.Request, key string) string {
			for name := range r.Header {
				if strings.HasPrefix(name, "X-") && name != "X-Api-Key" && name != "X-Cost" {
					key += " " + name // as many as there are: order does not matter for one
				}
			}
			return key
		}},
	{Name: "key-by-field-case", Class: "A17",
		Sentence: "counts requests separately if the name of the key field is in lower case",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-5.1",
		key: func(r *http.Request, key string) string {
			return key + oddly(r, key, func(line string) bool {
				name, _, _ := strings.Cut(line, ":")
				return textproto.CanonicalMIMEHeaderKey(name) != name
			})
		}},
	{Name: "key-by-spaces", Class: "A17",
		Sentence: "counts a key with spaces around it separately from the same key without",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-5.5",
		key: func(r *http.Request, key string) string {
			return key + oddly(r, key, func(line string) bool { return strings.HasSuffix(line, " ") })
		}},
	{Name: "keys-folded", Class: "B14", Declared: "expect.attributes.key-case=separate",
		Sentence: "treats two clients as one if their keys differ only in the case of letters",
		Citation: "https://www.rfc-editor.org/rfc/rfc6750#section-2.1",
		key:      func(_ *http.Request, key string) string { return strings.ToLower(key) }},
	{Name: "key-by-all-values", Class: "A17", Declared: "expect.attributes.key-twice=shared",
		Sentence: "takes all values of a key that is sent twice for one key",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-5.3",
		key: func(r *http.Request, key string) string {
			if all := r.Header["X-Api-Key"]; len(all) > 1 {
				return strings.Join(all, ", ")
			}
			return key
		}},
	{Name: "forwarded-trusted", Class: "A15",
		Sentence: "takes the address in Forwarded for the client, before everything else",
		Citation: "https://www.rfc-editor.org/rfc/rfc7239#section-8.1",
		key: func(r *http.Request, key string) string {
			if v := r.Header.Get("Forwarded"); v != "" {
				return "forwarded " + v
			}
			return key
		}},
	{Name: "key-by-version", Class: "A17", Sentence: "counts requests of HTTP/1.0 and of HTTP/1.1 separately",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-2.5",
		key:      func(r *http.Request, key string) string { return key + " " + r.Proto }},
	{Name: "key-by-connection", Class: "A17", Sentence: "counts each connection separately",
		Citation: "https://www.rfc-editor.org/rfc/rfc9110#section-3.3",
		key:      func(r *http.Request, key string) string { return key + " " + r.RemoteAddr }},
	{Name: "replays-free", Class: "A18",
		Sentence:  "charges nothing for a request with an Idempotency-Key",
		Citation:  "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07",
		unlimited: func(_ *Target, r *http.Request) bool { return r.Header.Get("Idempotency-Key") != "" }},
}

// byAttribute returns the fault that counts the requests for which differs is true separately from the
// others.
func byAttribute(name, sentence, citation string, differs func(*http.Request) bool) Fault {
	return Fault{Name: name, Class: "A17", Sentence: sentence, Citation: citation,
		key: func(r *http.Request, key string) string {
			if differs(r) {
				return key + " " + name
			}
			return key
		}}
}

// byField returns the fault that counts each value of a header field separately.
func byField(name, sentence, citation, field string) Fault {
	return Fault{Name: name, Class: "A17", Sentence: sentence, Citation: citation,
		key: func(r *http.Request, key string) string { return key + " " + r.Header.Get(field) }}
}

// freeWith returns the fault that does not count requests whose header field has a part. declared is the
// attribute that a scenario must declare shared. Empty: nothing.
func freeWith(name, sentence, citation, declared, field, part string) Fault {
	f := Fault{Name: name, Class: "A17", Sentence: sentence, Citation: citation,
		unlimited: func(_ *Target, r *http.Request) bool {
			v := r.Header.Get(field)
			return v != "" && strings.Contains(v, part)
		}}
	if declared != "" {
		f.Declared = "expect.attributes." + declared + "=shared"
	}
	return f
}

// freeCost returns the fault that counts no request whose stated cost is free. n is that cost, or 1 if it is
// no natural number. declared is the attribute that a scenario must declare shared. Empty: nothing.
func freeCost(name, sentence, declared, citation string, free func(n uint64, text string) bool) Fault {
	f := Fault{Name: name, Class: "A18", Sentence: sentence, Citation: citation,
		unlimited: func(t *Target, r *http.Request) bool {
			v := r.Header.Get(t.costHdr)
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				n = 1
			}
			return v != "" && free(n, v)
		}}
	if declared != "" {
		f.Declared = "expect.attributes." + declared + "=shared"
	}
	return f
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
