package target

import (
	"net/http"
	"net/netip"
	"strings"
)

// keyFaults are those of choosing the partition of a request.
var keyFaults = []Fault{
	{
		Name: "forwarded-for-trusted", Class: "A15",
		Sentence: "takes the first element of X-Forwarded-For for the client, over everything else",
		Citation: "https://github.com/didip/tollbooth/issues/2",
		key: func(r *http.Request, key string) string {
			if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"),
				","); strings.TrimSpace(first) != "" {
				return "forwarded for " + strings.TrimSpace(first)
			}
			return key
		},
	},
	{
		Name: "real-ip-trusted", Class: "A15",
		Sentence: "takes X-Real-IP, True-Client-IP, CF-Connecting-IP or X-Client-IP for the client, over " +
			"everything else",
		Citation: "https://github.com/migadu/alps/pull/18",
		key: func(r *http.Request, key string) string {
			for _, name := range []string{"X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip"} {
				if v := r.Header[name]; len(v) > 0 {
					return "real address " + v[0]
				}
			}
			return key
		},
	},
	{
		Name: "key-by-path", Class: "A17",
		Sentence: "counts each spelling of a path apart",
		Citation: "https://github.com/coder/coder/pull/27273",
		key:      func(r *http.Request, key string) string { return key + " " + r.URL.EscapedPath() },
	},
	{
		Name: "key-by-query", Class: "A17",
		Sentence: "counts each query string apart",
		Citation: "https://github.com/outline/outline/pull/13504",
		key:      func(r *http.Request, key string) string { return key + " ?" + r.URL.RawQuery },
	},
	{
		Name: "key-by-method", Class: "A17",
		Sentence: "counts each method apart",
		Citation: "https://github.com/ovumcy/ovumcy-web/pull/354",
		key:      func(r *http.Request, key string) string { return key + " " + r.Method },
	},
	{
		Name: "keys-shared", Class: "B14",
		Sentence: "counts all clients of one address together, whatever key they have",
		Citation: "https://github.com/jsocol/django-ratelimit/issues/222",
		key:      func(r *http.Request, _ string) string { return addressKey(r) },
	},
	{
		Name: "ipv6-per-address", Class: "A16",
		Sentence: "counts each address of an IPv6 network apart, of which one client has 2^64",
		Citation: "https://github.com/express-rate-limit/express-rate-limit/issues/502",
		network:  func(a netip.Addr) string { return a.Unmap().String() },
	},
	{
		Name: "mapped-address-apart", Class: "A16",
		Sentence: "takes an IPv4 address and the IPv6 address mapped from it for two clients",
		Citation: "https://github.com/better-auth/better-auth/pull/7300",
		network: func(a netip.Addr) string {
			if a.Is4In6() {
				return a.String()
			}
			return networkOf(a)
		},
	},
	{
		Name: "missing-key-unlimited", Class: "B14",
		Sentence: "does not limit requests without a key",
		Citation: "https://nginx.org/en/docs/http/ngx_http_limit_req_module.html",
		unlimited: func(t *Target, r *http.Request) bool {
			_, ok := t.named(r)
			return !ok
		},
	},
}
