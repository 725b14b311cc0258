package lab

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

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

// ServeHTTP answers from the cache, or asks the inner handler and keeps its answer.
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

// Header, WriteHeader and Write take the answer of the origin.
func (k *keptAnswer) Header() http.Header { return k.header }

// WriteHeader keeps the status.
func (k *keptAnswer) WriteHeader(status int) { k.status = status }

// Write keeps a part of the body.
func (k *keptAnswer) Write(b []byte) (int, error) { return k.body.Write(b) }
