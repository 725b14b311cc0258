package lab

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// strip returns the options hook that drops more fields.
func strip(fields ...string) func(*ProxyOptions) {
	return func(o *ProxyOptions) { o.Strip = append(o.Strip[:len(o.Strip):len(o.Strip)], fields...) }
}

// editing returns the options hook that edits answers.
func editing(edit func(*http.Response, func() time.Time) error) func(*ProxyOptions) {
	return func(o *ProxyOptions) { o.Edit = edit }
}

// NewProxy returns a proxy with a fault; "": none. An unknown fault is an error that lists the known ones.
func NewProxy(fault string, o ProxyOptions) (http.Handler, error) {
	f, err := findFault(fault, true)
	if err != nil {
		return nil, err
	}
	if f.proxy != nil {
		f.proxy(&o)
	}
	return NewPassing(o)
}

// proxyFaults are faults between a limiter and its clients.
var proxyFaults = []Fault{
	{Name: "proxy-strips-retry-after", Proxy: true, Sentence: "drops Retry-After",
		Citation: "https://github.com/api7/aisix/issues/144", proxy: strip("Retry-After")},
	{Name: "proxy-strips-ratelimit", Proxy: true, Sentence: "drops RateLimit-* and X-RateLimit-*",
		Citation: "https://github.com/FactoryGameFan/factorio-blueprint-editor/pull/463",
		proxy:    strip("RateLimit*", "X-RateLimit*")},
	{Name: "proxy-replaces-date", Proxy: true,
		Sentence: "stamps answers with its own Date, a minute from the origin's Date",
		Citation: "https://github.com/envoyproxy/envoy/issues/11110",
		proxy: editing(func(r *http.Response, now func() time.Time) error {
			r.Header["Date"] = []string{imfFixdate(now().Add(time.Minute).Unix())}
			return nil
		})},
	{Name: "proxy-status-502", Proxy: true,
		Sentence: "turns a denial of the origin into 502",
		Citation: "https://github.com/sourcegraph/sourcegraph-public-snapshot/issues/52518",
		proxy: func(o *ProxyOptions) {
			o.Status = map[int]int{http.StatusTooManyRequests: http.StatusBadGateway,
				http.StatusServiceUnavailable: http.StatusBadGateway}
		}},
	{Name: "proxy-replaces-body", Proxy: true,
		Sentence: "replaces the body of a denial with its own page",
		Citation: "https://github.com/openresty/openresty/issues/351",
		proxy: editing(func(r *http.Response, _ func() time.Time) error {
			if r.StatusCode < http.StatusBadRequest {
				return nil
			}
			return replaceBody(r, "<html><body><h1>"+r.Status+"</h1></body></html>\n")
		})},
	{Name: "proxy-retries-denied", Proxy: true, Sentence: "sends a denied request again before it gives up",
		Citation: "https://github.com/us/crw/pull/194", fits: denialsCount,
		proxy: func(o *ProxyOptions) { o.Retries = 2 }},
	{Name: "proxy-caches", Proxy: true, Class: "C15", Sentence: "repeats answers for a second, even " +
		"denials and to other clients, and does not say that they are old",
		Citation: "https://github.com/getsentry/sentry/pull/59443",
		proxy:    func(o *ProxyOptions) { o.Cache, o.Silent = time.Second, true }},
}

// denialsCount demands policies for which it matters how often a denied request is sent.
func denialsCount(l spec.Limit) string {
	for _, p := range l {
		if p.Count != spec.CountAll {
			return "a limit that does not count denied requests does not see how often they came (declare " +
				"one with count=all)"
		}
	}
	return ""
}

// replaceBody gives r a page of HTML as its body.
func replaceBody(r *http.Response, body string) error {
	err := r.Body.Close()
	r.Body = io.NopCloser(strings.NewReader(body))
	if r.Request != nil && r.Request.Method == http.MethodHead {
		r.Body = http.NoBody
	}
	r.ContentLength = int64(len(body))
	r.Header["Content-Type"] = []string{"text/html"}
	r.Header["Content-Length"] = []string{strconv.Itoa(len(body))}
	return err
}
