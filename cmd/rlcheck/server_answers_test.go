package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// window is a fixed window that opens with a client's first request. each is what a request costs; 0: 1.
type window struct {
	limit int
	each  int
	size  time.Duration
	used  int
	ends  time.Time
}

// room tells whether the window has room at now, which opens it if it has ended.
func (w *window) room(now time.Time) bool {
	if !now.Before(w.ends) {
		w.used, w.ends = 0, now.Add(w.size)
	}
	return w.used+max(w.each, 1) <= w.limit
}

// left returns the units that are left, and the time until the window ends.
func (w *window) left(now time.Time) (int, time.Duration) { return w.limit - w.used, w.ends.Sub(now) }

// ceil returns d in whole seconds, rounded up.
func ceil(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// telling returns a server with windows of its own for each client, all or none of which count a request.
// told writes what it says of them.
func telling(windows func() []*window, told func(h http.Header, w []*window, now time.Time, ok bool)) func(
	http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		var mu sync.Mutex
		clients := map[string][]*window{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			key := r.Header.Get("X-Api-Key")
			if clients[key] == nil {
				clients[key] = windows()
			}
			now, ok := time.Now(), true
			for _, x := range clients[key] {
				ok = x.room(now) && ok
			}
			for _, x := range clients[key] {
				if ok {
					x.used += max(x.each, 1)
				}
			}
			if told(w.Header(), clients[key], now, ok); !ok {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
	}
}

// oneWindow is 10 in 4 s. twoWindows are 10 in 2 s and 15 in 6 s.
func oneWindow() []*window { return []*window{{limit: 10, size: 4 * time.Second}} }

func twoWindows() []*window {
	return []*window{{limit: 10, size: 2 * time.Second}, {limit: 15, size: 6 * time.Second}}
}

// openAI writes the fields of OpenAI: what is left of requests, until when, and a budget of tokens.
func openAI(stuck bool) func(http.Header, []*window, time.Time, bool) {
	return func(h http.Header, w []*window, now time.Time, _ bool) {
		left, reset := w[0].left(now)
		if stuck {
			left = 9
		}
		h.Set("X-RateLimit-Limit-Requests", "10")
		h.Set("X-RateLimit-Remaining-Requests", strconv.Itoa(left))
		h.Set("X-RateLimit-Reset-Requests", (reset + time.Millisecond).Truncate(time.Millisecond).String())
		h.Set("X-RateLimit-Limit-Tokens", "40000")
		h.Set("X-RateLimit-Remaining-Tokens", "39999")
		h.Set("X-RateLimit-Reset-Tokens", "6m0s")
	}
}

// anthropic writes the fields of Anthropic, late by some time.
func anthropic(late time.Duration) func(http.Header, []*window, time.Time, bool) {
	return func(h http.Header, w []*window, now time.Time, _ bool) {
		left, reset := w[0].left(now)
		h.Set("Anthropic-RateLimit-Requests-Limit", "10")
		h.Set("Anthropic-RateLimit-Requests-Remaining", strconv.Itoa(left))
		h.Set("Anthropic-RateLimit-Requests-Reset",
			now.Add(reset+late+time.Second).UTC().Format(time.RFC3339))
	}
}

// twoPolicies states two windows in RateLimit, in one line or two. stuck ones never fall.
func twoPolicies(lines, stuck bool) func(http.Header, []*window, time.Time, bool) {
	return func(h http.Header, w []*window, now time.Time, _ bool) {
		var policy, state []string
		for i, name := range []string{"burst", "sustained"} {
			left, reset := w[i].left(now)
			if stuck {
				left = w[i].limit
			}
			policy = append(policy, fmt.Sprintf(`"%s";q=%d;w=%s;pk=:YQ==:`, name, w[i].limit,
				ceil(w[i].size)))
			state = append(state, fmt.Sprintf(`"%s";r=%d;t=%s;pk=:YQ==:`, name, left, ceil(reset)))
		}
		if lines {
			h["Ratelimit-Policy"], h["Ratelimit"] = policy, state
			return
		}
		h.Set("RateLimit-Policy", policy[0]+","+policy[1])
		h.Set("RateLimit", state[0]+","+state[1])
	}
}

// xRateLimit states one window in the fields of convention, and more.
func xRateLimit(which int, more ...string) func(http.Header, []*window, time.Time, bool) {
	return func(h http.Header, w []*window, now time.Time, _ bool) {
		left, reset := w[which].left(now)
		h.Set("X-RateLimit-Limit", strconv.Itoa(w[which].limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
		h.Set("X-RateLimit-Reset", ceil(reset))
		for i := 0; i+1 < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
	}
}

// envoy states two windows as Envoy does: the limit that is nearest, and both policies in one field.
func envoy(h http.Header, w []*window, now time.Time, _ bool) {
	near := w[0]
	if left, _ := w[0].left(now); w[1].limit-w[1].used < left {
		near = w[1]
	}
	left, reset := near.left(now)
	h.Set("X-RateLimit-Limit", fmt.Sprintf(`%d, %d;w=%s;name="crd|a", %d;w=%s;name="b"`, near.limit,
		w[0].limit, ceil(w[0].size), w[1].limit, ceil(w[1].size)))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	h.Set("X-RateLimit-Reset", ceil(reset))
}

// doubled sends each field of a window twice, as two layers that both add it do.
func doubled(h http.Header, w []*window, now time.Time, ok bool) {
	xRateLimit(0)(h, w, now, ok)
	for name, values := range h {
		h[name] = append(values, values...)
	}
}

// waiting states how long a denied client must wait.
func waiting(field string, value func(time.Duration) string) func(http.Header, []*window, time.Time, bool) {
	return func(h http.Header, w []*window, now time.Time, ok bool) {
		if _, reset := w[0].left(now); !ok {
			h.Set(field, value(reset))
		}
	}
}

// logins answers 401, which its window counts, or 200 to a good password, which it does not. If cleared, a
// good one takes back what the client's window counted.
func logins(cleared bool) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		var mu sync.Mutex
		clients := map[string]*window{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			key := r.Header.Get("X-Api-Key")
			if clients[key] == nil {
				clients[key] = &window{limit: 5, size: 3 * time.Second}
			}
			c, good := clients[key], r.Header.Get("X-Pass") == "good"
			switch {
			case !c.room(time.Now()):
				w.WriteHeader(http.StatusTooManyRequests)
			case !good:
				c.used++
				w.WriteHeader(http.StatusUnauthorized)
			case cleared:
				c.used = 0
			}
		})
	}
}

// graphQL denies with status 200 and an error in the body.
func graphQL(limiter http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		limiter.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", "application/json")
		if rec.Code == http.StatusTooManyRequests {
			fmt.Fprint(w, `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}`)
			return
		}
		fmt.Fprint(w, `{"data":{}}`)
	})
}

func init() {
	polite["graphql"] = graphQL
	polite["openai"] = telling(oneWindow, openAI(false))
	polite["openai-stuck"] = telling(oneWindow, openAI(true))
	polite["anthropic"] = telling(oneWindow, anthropic(0))
	polite["anthropic-late"] = telling(oneWindow, anthropic(time.Hour))
	polite["two-policies"] = telling(twoWindows, twoPolicies(false, false))
	polite["two-lines"] = telling(twoWindows, twoPolicies(true, false))
	polite["two-stuck"] = telling(twoWindows, twoPolicies(true, true))
	polite["logins"], polite["logins-cleared"] = logins(false), logins(true)
	polite["envoy"] = telling(twoWindows, envoy)
	polite["doubled"] = telling(oneWindow, doubled)
	polite["ten-each"] = telling(func() []*window {
		return []*window{{limit: 200, size: 4 * time.Second, each: 10}}
	},
		xRateLimit(0))
	polite["other-limit"] = telling(twoWindows, xRateLimit(0))
	polite["other-policy"] = telling(oneWindow, xRateLimit(0, "X-RateLimit-Policy", "20;w=60"))
	polite["unread-field"] = telling(oneWindow, xRateLimit(0, "X-Throttle-State", "open"))
	polite["not-limited"] = telling(oneWindow, func(h http.Header, _ []*window, _ time.Time, _ bool) {
		h.Set("X-RateLimit-Limit", "-1")
		h.Set("X-RateLimit-Remaining", "-1")
		h.Set("X-RateLimit-Reset", "0")
	})
	ms := func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Millisecond)+1, 10) }
	polite["retry-ms"] = telling(oneWindow, waiting("Retry-After-Ms", ms))
	polite["retry-ms-long"] = telling(oneWindow, waiting("Retry-After-Ms",
		func(d time.Duration) string { return ms(d + time.Minute) }))
	polite["spread"] = telling(oneWindow, func(h http.Header, w []*window, now time.Time, ok bool) {
		left, reset := w[0].left(now)
		if !ok {
			reset += time.Duration(float64(reset) * (0.3 + 0.2*rand.Float64()))
			h.Set("Retry-After", ceil(reset))
		}
		h.Set("X-RateLimit-Limit", "10")
		h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
		h.Set("X-RateLimit-Reset", ceil(reset))
	})
}
