// The command golang serves one limiter of a Go module on loopback: golang PRODUCT PORT LIMIT WINDOW BURST
// [REDIS]. A client is named by its X-Api-Key.
package main

import (
	"log"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/go-chi/httprate"
	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// config is the configuration of a limiter. addr is where it listens, redis the address of a Redis.
type config struct {
	addr   string
	limit  int
	window time.Duration
	burst  int
	redis  string
}

// perSecond is the limit as a rate.
func (c config) perSecond() float64 { return float64(c.limit) / c.window.Seconds() }

// products are the limiters. Each serves until it fails.
var products = map[string]func(c config) error{
	"x-time-rate": xTimeRate, "failsafe-bursty": failsafe, "failsafe-smooth": failsafe,
	"tollbooth": func(c config) error {
		l := tollbooth.NewLimiter(c.perSecond(), nil).SetBurst(c.burst).SetHeader("X-Api-Key", nil)
		l.SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"}) // without one it limits nobody
		return c.serve(tollbooth.LimitHandler(l, ok))
	},
	"httprate": func(c config) error {
		return c.serve(httprate.Limit(c.limit, c.window,
			httprate.WithKeyFuncs(func(r *http.Request) (string, error) { return key(r), nil }))(ok))
	},
	"redis-rate": redisRate,
	"go-limiter": func(c config) error {
		store, err := memorystore.New(&memorystore.Config{Tokens: uint64(c.limit), Interval: c.window})
		if err != nil {
			return err
		}
		m, err := httplimit.NewMiddleware(store, func(r *http.Request) (string, error) { return key(r), nil })
		if err != nil {
			return err
		}
		return c.serve(m.Handle(ok))
	},
	"ulule": func(c config) error {
		l := ulule.New(memory.NewStore(), ulule.Rate{Period: c.window, Limit: int64(c.limit)})
		return c.serve(stdlib.NewMiddleware(l, stdlib.WithKeyGetter(key)).Handler(ok))
	},
	"throttled": func(c config) error {
		store, err := memstore.NewCtx(1 << 16)
		if err != nil {
			return err
		}
		l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
			MaxRate: throttled.PerDuration(c.limit, c.window), MaxBurst: c.burst - 1})
		if err != nil {
			return err
		}
		h := &throttled.HTTPRateLimiterCtx{RateLimiter: l,
			VaryBy: &throttled.VaryBy{Headers: []string{"X-Api-Key"}}}
		return c.serve(h.RateLimit(ok))
	},
	"echo": echoServer, "fiber2": fiber2, "fiber2-sliding": fiber2Sliding, "fiber3": fiber3,
	"fiber3-sliding": fiber3Sliding, "gin-rate-limit": ginServer,
}

// xTimeRate has a limiter for each client.
func xTimeRate(c config) error {
	return c.serve(each(func() func() bool {
		return rate.NewLimiter(rate.Limit(c.perSecond()), c.burst).Allow
	}))
}

func failsafe(c config) error {
	kind := ratelimiter.Bursty[any]
	if os.Args[1] == "failsafe-smooth" {
		kind = ratelimiter.Smooth[any]
	}
	return c.serve(each(func() func() bool { return kind(uint(c.limit), c.window).TryAcquirePermit }))
}

// redisRate keeps its state in a Redis.
func redisRate(c config) error {
	l := redis_rate.NewLimiter(redis.NewClient(&redis.Options{Addr: c.redis}))
	limit := redis_rate.Limit{Rate: c.limit, Period: c.window, Burst: c.burst}
	return c.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := l.Allow(r.Context(), key(r), limit)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case res.Allowed == 0:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			ok(w, r)
		}
	}))
}

// each makes a limiter for each client, and asks it.
func each(limiter func() (allow func() bool)) http.Handler {
	var mu sync.Mutex
	all := map[string]func() bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		allow := all[key(r)]
		if allow == nil {
			allow = limiter()
			all[key(r)] = allow
		}
		mu.Unlock()
		if !allow() {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		ok(w, r)
	})
}

func key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

// ok answers an admitted request.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })

func (c config) serve(h http.Handler) error { return http.ListenAndServe(c.addr, h) }

func main() {
	if len(os.Args) < 6 || products[os.Args[1]] == nil {
		log.Fatal("golang PRODUCT PORT LIMIT WINDOW BURST [REDIS]")
	}
	limit, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	window, err := time.ParseDuration(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	burst, err := strconv.Atoi(os.Args[5])
	if err != nil {
		log.Fatal(err)
	}
	c := config{addr: "127.0.0.1:" + os.Args[2], limit: limit, window: window, burst: burst}
	if len(os.Args) > 6 {
		c.redis = os.Args[6]
	}
	log.Fatal(products[os.Args[1]](c))
}
