package lab

import (
	"fmt"
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
	f, err := FindFault(fault, true)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if f.proxy != nil {
		f.proxy(&o)
	}
	return NewPassing(o)
}

// proxyFaults are faults between a limiter and its clients.
var proxyFaults = []Fault{
	{Name: "proxy-strips-retry-after", Proxy: true, proxy: strip("Retry-After")},
	{Name: "proxy-strips-ratelimit", Proxy: true, proxy: strip("RateLimit*", "X-RateLimit*")},
	{Name: "proxy-replaces-date", Proxy: true,
		proxy: editing(func(r *http.Response, now func() time.Time) error {
			r.Header["Date"] = []string{imfFixdate(now().Add(time.Minute).Unix())}
			return nil
		})},
	{Name: "proxy-status-502", Proxy: true, proxy: func(o *ProxyOptions) {
		o.Status = map[int]int{http.StatusTooManyRequests: http.StatusBadGateway,
			http.StatusServiceUnavailable: http.StatusBadGateway}
	}},
	{Name: "proxy-replaces-body", Proxy: true,
		proxy: editing(func(r *http.Response, _ func() time.Time) error {
			if r.StatusCode < http.StatusBadRequest {
				return nil
			}
			return replaceBody(r, "<html><body><h1>"+r.Status+"</h1></body></html>\n")
		})},
	{Name: "proxy-retries-denied", Proxy: true, fits: denialsCount,
		proxy: func(o *ProxyOptions) { o.Retries = 2 }},
	{Name: "proxy-caches", Proxy: true,
		proxy: func(o *ProxyOptions) { o.Cache, o.Silent = time.Second, true }},
}

// denialsCount demands policies for which it matters how often a denied request is sent. For a full fixed
// window it does not.
func denialsCount(l spec.Limit) string {
	for _, p := range l {
		if p.Count != spec.CountAll || p.Fixed() || !p.HasWindow() {
			return "a limit that does not count denied requests, or only until its window ends, does not " +
				"see how often they came (declare a sliding-window-log with count=all)"
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
