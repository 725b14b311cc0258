// Package middleware tries the limiters of others in virtual time. It is a module of its own, so that nobody
// who imports rlcheck pulls them in.
package middleware

import (
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/httprate"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	fiberlimiter "github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	caddyrl "github.com/mholt/caddy-ratelimit"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"

	"github.com/rlcheck/rlcheck/rlchecktest"
)

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })

func key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

// products are limiters, and the limit that each promises in its own words: 20 at once and 10 a second, or 20
// a second. why says why it does not pass; RLCHECK_SOAK shows the proof.
var products = []struct {
	name, spec, why string
	build           func() http.Handler
}{
	{"x-time-rate", "x-time-rate:limit=10,burst=20", "", xTimeRate},
	{"httprate", "httprate:20,1s",
		"a client that waited as long as it was told is denied again, and where its windows begin is not known",
		func() http.Handler { return httprate.Limit(20, time.Second, keyed)(ok) }},
	{"httprate with a counter", "httprate:20,1s,limitCounter=redis", "", func() http.Handler {
		counter := httprate.WithLimitCounter(httprate.NewLocalLimitCounter(time.Second))
		return httprate.Limit(20, time.Second, keyed, counter)(ok)
	}},
	{"tollbooth", "tollbooth:max=10,burst=20",
		"it counts by the path as it is written, so //path has a quota of its own",
		func() http.Handler {
			l := tollbooth.NewLimiter(10, nil).SetBurst(20).SetHeader("X-Api-Key", nil)
			l.SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"}) // without one it limits nobody
			return tollbooth.LimitHandler(l, ok)
		}},
	{"ulule", "ulule:20-S", "", func() http.Handler {
		l := ulule.New(memory.NewStore(), ulule.Rate{Period: time.Second, Limit: 20})
		return stdlib.NewMiddleware(l, stdlib.WithKeyGetter(key)).Handler(ok)
	}},
	{"go-limiter", "go-limiter:Tokens=20,Interval=1s",
		"it reads runtime.nanotime, which is not virtual; over rlchecktest.URL its Retry-After has UTC for GMT",
		func() http.Handler {
			store, err := memorystore.New(&memorystore.Config{Tokens: 20, Interval: time.Second})
			if err != nil {
				panic(err)
			}
			m, err := httplimit.NewMiddleware(store, func(r *http.Request) (string, error) { return key(r), nil })
			if err != nil {
				panic(err)
			}
			return m.Handle(ok)
		}},
	{"throttled", "throttled:10/1s,19", "", func() http.Handler {
		store, err := memstore.NewCtx(1 << 16)
		if err != nil {
			panic(err)
		}
		l, err := throttled.NewGCRARateLimiterCtx(store,
			throttled.RateQuota{MaxRate: throttled.PerSec(10), MaxBurst: 19})
		if err != nil {
			panic(err)
		}
		h := &throttled.HTTPRateLimiterCtx{RateLimiter: l,
			VaryBy: &throttled.VaryBy{Headers: []string{"X-Api-Key"}}}
		return h.RateLimit(ok)
	}},
	{"echo", "echo:rate=10,burst=20", "", func() http.Handler {
		e := echo.New()
		e.Use(middleware.RateLimiterWithConfig(middleware.RateLimiterConfig{
			Store: middleware.NewRateLimiterMemoryStoreWithConfig(
				middleware.RateLimiterMemoryStoreConfig{Rate: 10, Burst: 20}),
			IdentifierExtractor: func(c echo.Context) (string, error) { return key(c.Request()), nil },
		}))
		e.Any("/", echo.WrapHandler(ok))
		return e
	}},
	{"caddy", "caddy:20/1s",
		"a request right at the end of a window is admitted and not counted: 21 in half a window", caddyLimit},
	{"fiber", "fiber:Max=20,Expiration=1m", "", fiberLimit},
	{"gin-rate-limit", "fixed-window,rate=20/1s,align=first",
		"it reads the count of a client before it counts: 21 of 64 at once are admitted",
		func() http.Handler {
			gin.SetMode(gin.ReleaseMode)
			store := ratelimit.InMemoryStore(&ratelimit.InMemoryOptions{Rate: time.Second, Limit: 20})
			g := gin.New()
			g.Any("/", ratelimit.RateLimiter(store, &ratelimit.Options{
				KeyFunc:      func(c *gin.Context) string { return key(c.Request) },
				ErrorHandler: func(c *gin.Context, _ ratelimit.Info) { c.String(429, "no\n") },
			}), func(c *gin.Context) { c.String(200, "ok\n") })
			return g
		}},
}

// keyed lets httprate count by the key.
var keyed = httprate.WithKeyFuncs(func(r *http.Request) (string, error) { return key(r), nil })

// within is the context in which Caddy set its apps up. app is one that keeps it.
var within caddy.Context

type app struct{}

func init() { caddy.RegisterModule(app{}) }

func (app) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "within", New: func() caddy.Module { return app{} }}
}
func (app) Provision(ctx caddy.Context) error { within = ctx; return nil }
func (app) Start() error                      { return nil }
func (app) Stop() error                       { return nil }

// caddyLimit is Caddy's handler, which counts by a field.
func caddyLimit() http.Handler {
	quiet := map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{Level: "ERROR"}}}
	if err := caddy.Validate(&caddy.Config{AppsRaw: caddy.ModuleMap{"within": []byte("{}")},
		Logging: &caddy.Logging{Logs: quiet}}); err != nil {
		panic(err)
	}
	h := &caddyrl.Handler{RateLimits: map[string]*caddyrl.RateLimit{
		"zone": {Key: "{http.request.header.X-Api-Key}", MaxEvents: 20, Window: caddy.Duration(time.Second)}}}
	if err := h.Provision(within); err != nil {
		panic(err)
	}
	next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		ok(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, &caddyhttp.Server{})
		var denied caddyhttp.HandlerError
		if err := h.ServeHTTP(w, r, next); errors.As(err, &denied) {
			http.Error(w, "slow down", denied.StatusCode)
		} else if err != nil {
			panic(err)
		}
	})
}

// fiberLimit is fiber's middleware behind its adaptor. It reads a clock that a goroutine of the process sets,
// so it is right in one bubble of the process.
func fiberLimit() http.Handler {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(fiberlimiter.New(fiberlimiter.Config{Max: 20, Expiration: time.Minute,
		KeyGenerator: func(c *fiber.Ctx) string { return c.Get("X-Api-Key") }}))
	app.All("/*", func(c *fiber.Ctx) error { return c.SendString("ok\n") })
	return adaptor.FiberApp(app)
}

// xTimeRate has a limiter of golang.org/x/time/rate for each client.
func xTimeRate() http.Handler {
	var mu sync.Mutex
	all := map[string]*rate.Limiter{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		l := all[key(r)]
		if l == nil {
			l = rate.NewLimiter(10, 20)
			all[key(r)] = l
		}
		mu.Unlock()
		if !l.Allow() {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		ok(w, r)
	})
}

func TestMiddleware(t *testing.T) {
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) {
			if p.why != "" && os.Getenv("RLCHECK_SOAK") == "" {
				t.Skip(p.why)
			}
			rlchecktest.Make(t, p.build, p.spec)
		})
	}
}
