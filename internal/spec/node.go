package spec

import (
	"fmt"
)

// node are packages of npm.
var node = []Product{
	{Name: "express", Also: []string{"express-rate-limit"}, Title: "express-rate-limit, memory " +
		"or Redis store",
		Example: "windowMs=60000,limit=100", Keys: windowMsKeys, Spec: windowMs,
		Differs: "The first request of a client opens a window. Without a shared store, each process " +
			"counts for itself.",
		Source: "https://express-rate-limit.mintlify.app/reference/configuration, and " +
			"memory-store.ts of 8.7.4",
		Tested: "express-rate-limit 8.7.4"},
	{Name: "hono", Also: []string{"hono-rate-limiter"}, Title: "hono-rate-limiter, memory store",
		Example: "windowMs=60000,limit=100", Keys: windowMsKeys, Spec: windowMs,
		Differs: "The first request of a client opens a window.",
		Source:  "https://github.com/rhinobase/hono-rate-limiter, and its MemoryStore of 0.5.4",
		Tested:  "hono-rate-limiter 0.5.4"},
	{Name: "fastify", Also: []string{"fastify-rate-limit"}, Title: "@fastify/rate-limit",
		Example: "max=100,timeWindow=60000",
		Keys: []PresetKey{
			{Name: "max", Read: count(1), Default: "1000", Example: "100"},
			{Name: "timeWindow", Read: millisOrSpan, Default: "60000", Example: "60000"},
			{Name: "continueExceeding", Read: choice("true", "false"), Example: "false"},
			{Name: "exponentialBackoff", Read: choice("true", "false"), Example: "false"},
		},
		Spec: func(w *PresetWords) string {
			for _, key := range []string{"continueExceeding", "exponentialBackoff"} {
				if w.Get(key).Text == "true" {
					w.Refuse(key, "denied requests restart the window and admitted requests do not, "+
						"and no SPEC describes that", "")
				}
			}
			return "fixed-window,rate=" + per(w.N("max"), w.Get("timeWindow").D) + ",align=first"
		},
		Differs: "The first request of a client opens a window.",
		Source:  "https://github.com/fastify/fastify-rate-limit, and LocalStore.js of 11.2.0",
		Tested:  "@fastify/rate-limit 11.2.0"},
	{Name: "koa2-ratelimit", Also: []string{"koa2"}, Title: "koa2-ratelimit, memory store",
		Example: "interval=60000,max=100",
		Keys: []PresetKey{
			{Name: "interval", Read: millisOrSpan, Default: "60000", Example: "60000"},
			{Name: "max", Read: count(1), Default: "5", Example: "100"},
		},
		Spec:   rated("fixed-window,rate=%s,align=first", "max", "interval"),
		Source: "https://github.com/ysocorp/koa2-ratelimit, and MemoryStore.js of 1.1.3",
		Tested: "koa2-ratelimit 1.1.3"},
	{Name: "nest", Also: []string{"nestjs", "nest-throttler"}, Title: "@nestjs/throttler, memory store",
		Example: "ttl=60000,limit=10",
		Keys: []PresetKey{
			{Name: "ttl", Read: millis, Needed: true, Example: "60000"},
			{Name: "limit", Read: count(1), Needed: true, Example: "10"},
			{Name: "blockDuration", Read: count(0), Example: "60000"},
		},
		Spec: func(w *PresetWords) string {
			made := "sliding-window-log,rate=" + per(w.N("limit"), w.Get("ttl").D)
			ttl, block := w.Get("ttl").D.Milliseconds(), w.N("blockDuration")
			switch {
			case !w.Has("blockDuration"):
				block = ttl
			case block == 0:
				return made
			case block < ttl:
				w.Refuse("blockDuration", "a block that is shorter than ttl forgets earlier requests, "+
					"and no SPEC describes that", "")
			}
			return made + fmt.Sprintf(",ban=%dms", block)
		},
		Differs: "The documentation says limit requests within ttl. But each request expires for " +
			"itself, and a denied client is blocked for blockDuration (default ttl).",
		Source: "https://docs.nestjs.com/security/rate-limiting, and throttler.service.js of 6.7.1",
		Tested: "@nestjs/throttler 6.7.1"},
	{Name: "moleculer", Also: []string{"moleculer-web"}, Title: "moleculer-web, rateLimit",
		Example: "window=60000,limit=30",
		Keys: []PresetKey{
			{Name: "window", Read: millis, Default: "60000", Example: "60000"},
			{Name: "limit", Read: count(1), Default: "30", Example: "30"},
		},
		Spec:    rated("fixed-window,rate=%s,align=shared", "limit", "window"),
		Differs: "One timer ends the windows of all clients.",
		Source: "https://moleculer.services/docs/0.14/moleculer-web#Rate-limiter, and " +
			"memory-store.js of 0.10.8",
		Tested: "moleculer-web 0.10.8"},
	{Name: "rate-limiter-flexible", Title: "rate-limiter-flexible, memory or Redis",
		Example: "points=10,duration=1",
		Keys: []PresetKey{
			{Name: "points", Read: count(1), Needed: true, Example: "10"},
			{Name: "duration", Read: seconds, Needed: true, Example: "1"},
			{Name: "blockDuration", Read: count(0), Default: "0", Example: "60"},
		},
		Spec: func(w *PresetWords) string {
			made := "fixed-window,rate=" + per(w.N("points"), w.Get("duration").D) + ",align=first"
			switch block := w.N("blockDuration"); {
			case block == 0:
				return made
			case block < int64(w.Get("duration").D.Seconds()):
				w.Refuse("blockDuration", "a block that is shorter than duration ends the window "+
					"early, and no SPEC describes that", "")
				return ""
			default:
				return made + fmt.Sprintf(",ban=%ds", block)
			}
		},
		Source: "https://github.com/animir/node-rate-limiter-flexible/wiki",
		Tested: "rate-limiter-flexible 11.4.0"},
}

// windowMsKeys are the words of express-rate-limit and of packages that copy them.
var windowMsKeys = []PresetKey{
	{Name: "windowMs", Read: millis, Default: "60000", Example: "60000"},
	{Name: "limit", Also: []string{"max"}, Read: count(1), Default: "5", Example: "100"},
}

// windowMs is a window that the first request of a client opens.
var windowMs = rated("fixed-window,rate=%s,align=first", "limit", "windowMs")
