package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// ProxyOptions say what a proxy does with the answers that it passes on. Only Upstream is required. With
// nothing else, all end-to-end fields, the status and the body pass unchanged, and hop-by-hop fields are
// removed (RFC 9110 section 7.6.1).
type ProxyOptions struct {
	// Upstream is the origin, http or https. Its path is put in front of each request's.
	Upstream *url.URL
	// Strip lists fields to drop, in any case. A name that ends in * stands for all names that begin so.
	Strip []string
	// Set replaces the values of fields, after Strip.
	Set map[string]string
	// Status replaces statuses.
	Status map[int]int
	// Cache keeps admissions (200) of GET for so long, and says so with Age and X-Cache; 0: none. A request
	// with Cache-Control: no-cache passes it.
	Cache time.Duration
	// Edit edits an answer before Strip, Set and Status; nil: it does not.
	Edit func(*http.Response, func() time.Time) error
	// Retries is how often a denied request without a body is sent again.
	Retries int
	// Silent keeps denials too, and does not say that an answer comes from the cache.
	Silent bool
	// Transport sends the requests. nil: a transport that asks for no compression and uses no other proxy.
	Transport http.RoundTripper
	// Now is the clock of the cache and of Edit, time.Now by default.
	Now func() time.Time
}

// NewPassing returns a handler that passes requests to o.Upstream. Requests pass unchanged, except for the
// host, which is the upstream's, and hop-by-hop fields. If the upstream does not answer, the answer is 502. A
// bad field name, value, status or upstream is an error.
func NewPassing(o ProxyOptions) (http.Handler, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Retries > 0 {
		o.Transport = retrying{inner: o.Transport, times: o.Retries}
	}
	return cachedBy(&o, o.undated(&httputil.ReverseProxy{
		Transport: o.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(o.Upstream)
			r.Out.URL.RawQuery = r.In.URL.RawQuery // SetURL drops what it cannot parse
			keepForwarded(r)
		},
		ModifyResponse: func(r *http.Response) error {
			if o.Edit != nil {
				if err := o.Edit(r, o.Now); err != nil {
					return err
				}
			}
			o.rewrite(r)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			// A client that left has no one to answer, and the server must not reuse its connection.
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "the origin does not answer\n") // to HEAD, net/http sends no body
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})), nil
}

// newTransport returns a transport for many connections to one origin. It closes idle connections long before
// our servers do. So no request meets a closed connection and is sent twice.
func newTransport() *http.Transport {
	return &http.Transport{
		DisableCompression: true, MaxIdleConns: 0, MaxIdleConnsPerHost: 4096,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		ResponseHeaderTimeout: time.Minute,
	}
}

// check refuses options that cannot be sent.
func (o *ProxyOptions) check() error {
	var errs []error
	if u := o.Upstream; u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, fmt.Errorf("proxy: upstream %q: an origin is http://HOST or https://HOST",
			fmt.Sprint(o.Upstream)))
	}
	for _, name := range o.Strip {
		if !transport.IsToken(strings.TrimSuffix(name, "*")) && name != "*" {
			errs = append(errs, fmt.Errorf("proxy: field name %q: a name is letters, digits and -, and may "+
				"end in *", name))
		}
	}
	for name, value := range o.Set {
		if !transport.IsToken(name) {
			errs = append(errs, fmt.Errorf("proxy: field name %q: a name is letters, digits and -", name))
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			errs = append(errs, fmt.Errorf("proxy: value %q of %s: a field value has no control characters",
				value, name))
		}
	}
	for from, to := range o.Status {
		if from < 200 || from > 599 || to < 200 || to > 599 {
			errs = append(errs, fmt.Errorf("proxy: status %d to %d: a final status is 200 to 599", from, to))
		}
	}
	return errors.Join(errs...)
}

// rewrite applies Strip, Set and Status to r.
func (o *ProxyOptions) rewrite(r *http.Response) {
	for name := range r.Header {
		if o.strips(name) {
			delete(r.Header, name)
		}
	}
	for name, value := range o.Set {
		r.Header[textproto.CanonicalMIMEHeaderKey(name)] = []string{value}
	}
	if to, ok := o.Status[r.StatusCode]; ok {
		r.StatusCode, r.Status = to, http.StatusText(to)
	}
}

// strips tells whether Strip names a field.
func (o *ProxyOptions) strips(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(o.Strip,
		func(pattern string) bool { return text.Glob(strings.ToLower(pattern), []byte(name)) })
}

// undated keeps the server from adding a Date of its own if Date is stripped. Otherwise the server adds one
// to an answer without (RFC 9110 section 6.6.1).
func (o *ProxyOptions) undated(h http.Handler) http.Handler {
	if _, set := o.Set["Date"]; set || !o.strips("Date") {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		h.ServeHTTP(w, r)
	})
}

// keepForwarded passes on the fields about the client that ReverseProxy removes.
func keepForwarded(r *httputil.ProxyRequest) {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = v
		}
	}
}

// retrying sends a denied request again, at once.
type retrying struct {
	inner http.RoundTripper
	times int
}

// RoundTrip returns the first answer that is no denial, or the last denial. Requests with a body are sent
// once.
func (t retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	for i := 0; ; i++ {
		res, err := t.inner.RoundTrip(r)
		again := err == nil && i < t.times && res.StatusCode == http.StatusTooManyRequests &&
			(r.Body == nil || r.Body == http.NoBody)
		if !again {
			return res, err
		}
		if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)); err != nil {
			return res, nil
		}
		if err := res.Body.Close(); err != nil {
			return nil, err
		}
	}
}

// cache repeats answers that it has kept. It tells requests apart only by their URL, as shared caches do
// unless Vary says otherwise (RFC 9111 section 2).
type cache struct {
	inner http.Handler
	ttl   time.Duration
	now   func() time.Time
	// silent: answers do not say that they come from the cache, and denials are kept too.
	silent bool

	mu   sync.Mutex
	kept map[string]*keptAnswer
}

// keptAnswer is an answer as it was sent, and when it was sent.
type keptAnswer struct {
	status int
	header http.Header
	body   bytes.Buffer
	at     time.Time
}

// cachedBy puts the cache of o in front of h, if there is one.
func cachedBy(o *ProxyOptions, h http.Handler) http.Handler {
	if o.Cache <= 0 {
		return h
	}
	return &cache{inner: h, ttl: o.Cache, now: o.Now, silent: o.Silent, kept: map[string]*keptAnswer{}}
}

func (c *cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		c.inner.ServeHTTP(w, r)
		return
	}
	url, now := r.URL.String(), c.now()
	c.mu.Lock()
	k := c.kept[url]
	c.mu.Unlock()
	fresh := k != nil && now.Sub(k.at) < c.ttl && !strings.Contains(r.Header.Get("Cache-Control"), "no-cache")
	if !fresh {
		k = &keptAnswer{header: http.Header{}, status: http.StatusOK, at: now}
		c.inner.ServeHTTP(k, r)
		stored := k.status == http.StatusOK && !strings.Contains(k.header.Get("Cache-Control"), "no-store")
		if stored || c.silent {
			c.mu.Lock()
			c.kept[url] = k
			c.mu.Unlock()
		}
	}
	maps.Copy(w.Header(), k.header)
	if !c.silent {
		w.Header().Set("X-Cache", map[bool]string{true: "HIT", false: "MISS"}[fresh])
	}
	if fresh && !c.silent {
		w.Header().Set("Age", strconv.Itoa(int(now.Sub(k.at)/time.Second)))
	}
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body.Bytes()) // a client that left has no one to tell
}

func (k *keptAnswer) Header() http.Header { return k.header }

func (k *keptAnswer) WriteHeader(status int) { k.status = status }

func (k *keptAnswer) Write(b []byte) (int, error) { return k.body.Write(b) }

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
var denialsCount = wrong.Never(
	func(p spec.Policy) bool { return p.Count != spec.CountAll || p.Fixed() || !p.HasWindow() },
	"a limit that does not count denied requests, or only until its window ends, does not see how often "+
		"they came (declare a sliding-window-log with count=all)")

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
