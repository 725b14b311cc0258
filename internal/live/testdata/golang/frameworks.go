package main

import (
	"net/http"
	"sync"

	ratelimit "github.com/JGLTechnologies/gin-rate-limit"
	"github.com/gin-gonic/gin"
	fiber2api "github.com/gofiber/fiber/v2"
	limiter2 "github.com/gofiber/fiber/v2/middleware/limiter"
	fiber3api "github.com/gofiber/fiber/v3"
	limiter3 "github.com/gofiber/fiber/v3/middleware/limiter"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"
)

func echoServer(c config) error {
	e := echo.New()
	e.Use(middleware.RateLimiterWithConfig(middleware.RateLimiterConfig{
		Store: middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
			Rate: rate.Limit(c.perSecond()), Burst: c.burst}),
		IdentifierExtractor: func(c echo.Context) (string, error) { return key(c.Request()), nil },
	}))
	e.GET("/", echo.WrapHandler(ok))
	return c.serve(e)
}

func fiber2(c config) error { return c.fiber2(limiter2.FixedWindow{}) }

func fiber2Sliding(c config) error { return c.fiber2(limiter2.SlidingWindow{}) }

func (c config) fiber2(kind limiter2.LimiterHandler) error {
	app := fiber2api.New(fiber2api.Config{DisableStartupMessage: true})
	app.Use(limiter2.New(limiter2.Config{Max: c.limit, Expiration: c.window, LimiterMiddleware: kind,
		KeyGenerator: func(c *fiber2api.Ctx) string { return c.Get("X-Api-Key") }}))
	app.Get("/", func(c *fiber2api.Ctx) error { return c.SendString("ok\n") })
	return app.Listen(c.addr)
}

func fiber3(c config) error { return c.fiber3(limiter3.FixedWindow{}) }

func fiber3Sliding(c config) error { return c.fiber3(limiter3.SlidingWindow{}) }

func (c config) fiber3(kind limiter3.Handler) error {
	app := fiber3api.New()
	app.Use(limiter3.New(limiter3.Config{Max: c.limit, Expiration: c.window, LimiterMiddleware: kind,
		KeyGenerator: func(c fiber3api.Ctx) string { return c.Get("X-Api-Key") }}))
	app.Get("/", func(c fiber3api.Ctx) error { return c.SendString("ok\n") })
	return app.Listen(c.addr, fiber3api.ListenConfig{DisableStartupMessage: true})
}

func ginServer(c config) error {
	gin.SetMode(gin.ReleaseMode)
	store := ratelimit.InMemoryStore(&ratelimit.InMemoryOptions{Rate: c.window, Limit: uint(c.limit)})
	g := gin.New()
	g.GET("/", ratelimit.RateLimiter(store, &ratelimit.Options{
		KeyFunc:      func(c *gin.Context) string { return key(c.Request) },
		ErrorHandler: func(c *gin.Context, _ ratelimit.Info) { c.String(429, "no\n") },
	}), func(c *gin.Context) { c.String(200, "ok\n") })
	return c.serve(oneByOne(g))
}

// oneByOne decides one request at a time. A product that reads and writes its count in two steps would admit
// more requests if they came together.
func oneByOne(h http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		h.ServeHTTP(w, r)
	})
}
