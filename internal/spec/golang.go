package spec

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// golang are modules of Go.
var golang = []Product{
	{Name: "x-time-rate", Also: []string{"xtimerate", "golang"}, Title: "golang.org/x/time/rate, " +
		"Limiter.Allow", Example: "limit=10,burst=20", Keys: bucketKeys("limit", true),
		Spec:   func(w *PresetWords) string { return w.bucket("token-bucket", "limit", 1) },
		Source: "https://pkg.go.dev/golang.org/x/time/rate", Tested: "golang.org/x/time/rate v0.16.0"},
	{Name: "echo", Title: "labstack/echo, RateLimiterMemoryStore", Example: "rate=10,burst=20",
		Keys: append(bucketKeys("rate", false),
			PresetKey{Name: "ExpiresIn", Read: span, Default: "3m", Example: "3m"}), Spec: echo,
		Differs: "A client that was idle for ExpiresIn (default 3 min) may have a full bucket. Without a " +
			"burst, the burst is the rate a second, rounded up; the documentation says rounded down.",
		Source: "https://echo.labstack.com/docs/middleware/rate-limiter, v4.16.0",
		Tested: "labstack/echo v4.16.0"},
	{Name: "tollbooth", Title: "didip/tollbooth", Example: "max=10,burst=20",
		Keys: bucketKeys("max", false),
		Spec: func(w *PresetWords) string {
			v := w.Get("max")
			return w.bucket("token-bucket", "max", v.N*int64(time.Second)/int64(v.D))
		},
		Differs: "Without a burst, the burst is max, at least 1.",
		Source:  "https://github.com/didip/tollbooth, v8.0.1",
		Tested:  "tollbooth v8.0.1"},
	{Name: "redis-rate", Title: "go-redis/redis_rate", Example: "rate=10/1s,burst=20",
		Keys: bucketKeys("rate", false),
		Spec: func(w *PresetWords) string { return w.bucket("gcra", "rate", w.N("rate")) },
		Differs: "PerSecond, PerMinute and PerHour have a burst of the whole rate, as this preset " +
			"without burst.",
		Source: "https://github.com/go-redis/redis_rate, v10.0.1",
		Tested: "redis_rate v10.0.1"},
	{Name: "throttled", Title: "throttled/throttled, GCRARateLimiter",
		Example: "MaxRate=10/1s,MaxBurst=19",
		Keys: []PresetKey{
			{Name: "MaxRate", Read: perSecond, Bare: true, Needed: true, Example: "10/1s"},
			{Name: "MaxBurst", Read: count(0), Bare: true, Needed: true, Example: "19"},
		},
		Spec: func(w *PresetWords) string {
			v := w.Get("MaxRate")
			return fmt.Sprintf("gcra,rate=%s,burst=%d", per(v.N, v.D), w.N("MaxBurst")+1)
		},
		Differs: "MaxBurst comes on top of the request that is served: MaxBurst=19 admits 20 at once.",
		Source:  "https://github.com/throttled/throttled, rate.go of v2.15.0",
		Tested:  "throttled v2.15.0"},
	{Name: "httprate", Title: "go-chi/httprate", Example: "100,1m",
		Keys: []PresetKey{
			{Name: "requestLimit", Read: count(1), Bare: true, Needed: true, Example: "100"},
			{Name: "windowLength", Read: span, Bare: true, Needed: true, Example: "1m"},
			{Name: "limitCounter", Read: choice("memory", "redis"), Default: "memory", Example: "redis"},
		},
		Spec: func(w *PresetWords) string {
			window := w.Get("windowLength").D
			made := "sliding-window-counter,rate=" + per(w.N("requestLimit"), window)
			ownStart := w.Get("limitCounter").Text == "memory"
			if ownStart || sinceYearOne%max(1, window.Milliseconds()) != 0 || window%time.Millisecond != 0 {
				made += ",align=shared"
			}
			return made + ",rounding=nearest"
		},
		Differs: "The weighted count is rounded to the nearest whole number. With the memory store, " +
			"the windows of all clients count from when the limiter was made; with a store, from the " +
			"year 1 of the clock.",
		Source: "https://github.com/go-chi/httprate, limiter.go of v0.16.1",
		Tested: "httprate v0.16.1"},
	{Name: "ulule", Also: []string{"limiter"}, Title: "ulule/limiter, memory or Redis store",
		Example: "100-M",
		Keys:    []PresetKey{{Name: "rate", Read: ululeRate, Bare: true, Needed: true, Example: "100-M"}},
		Spec:    rated("fixed-window,rate=%s,align=first", "rate", "rate"),
		Differs: "The first request of a client opens a window.",
		Source:  "https://github.com/ulule/limiter, v3.11.2",
		Tested:  "ulule/limiter v3.11.2"},
	{Name: "go-limiter", Title: "sethvargo/go-limiter, memory or Redis store",
		Example: "Tokens=100,Interval=1m",
		Keys: []PresetKey{
			{Name: "Tokens", Read: count(1), Needed: true, Example: "100"},
			{Name: "Interval", Read: span, Needed: true, Example: "1m"},
			{Name: "store", Read: choice("memory", "redis"), Default: "memory", Example: "redis"},
		},
		Spec: goLimiter,
		Differs: "All tokens come back at once, at whole intervals after the first request of a client. " +
			"Redis forgets that request three intervals after the last admission.",
		Source: "https://github.com/sethvargo/go-limiter, memorystore/store.go of v0.7.1, lua.go of " +
			"go-redisstore v0.3.0",
		Tested: "go-limiter v0.7.1"},
	{Name: "failsafe", Also: []string{"failsafe-go"}, Title: "failsafe-go, ratelimiter",
		Example: "bursty=10/1s",
		Keys: []PresetKey{
			{Name: "bursty", Read: rate, Example: "10/1s"}, {Name: "smooth", Read: rate, Example: "10/1s"},
		},
		Spec: func(w *PresetWords) string {
			switch v := w.Get("smooth"); {
			case w.Has("bursty"):
				return "fixed-window,rate=" + per(w.N("bursty"), w.Get("bursty").D) + ",align=unknown"
			case w.Has("smooth"):
				return "fixed-window,rate=" + per(1, v.D/time.Duration(v.N)) + ",align=unknown"
			}
			w.Refuse("failsafe", "a limit is bursty or smooth", "write failsafe:bursty=10/1s")
			return ""
		},
		Differs: "Periods count from when the limiter was made. Smooth does not space requests evenly: " +
			"each interval admits one request, so two may be adjacent around its end.",
		Source: "https://failsafe-go.dev/rate-limiter/, ratelimiterstats.go of v0.6.9",
		Tested: "failsafe-go v0.6.9"},
	{Name: "fiber", Title: "gofiber/fiber, limiter", Example: "Max=100,Expiration=1m",
		Keys: []PresetKey{
			{Name: "Max", Read: count(1), Default: "5", Example: "100"},
			{Name: "Expiration", Read: span, Default: "1m", Example: "1m"},
			{Name: "SlidingWindow"},
			{Name: "version", Read: choice("2", "3"), Example: "3"},
		},
		Spec: fiber,
		Differs: "Its clock has whole seconds, so a window is up to a second shorter. Version 2 rounds " +
			"Expiration up, version 3 down. SlidingWindow counts denied requests too; version 2 rounds " +
			"the weighted count down, version 3 up.",
		Source: "https://docs.gofiber.io/api/middleware/limiter, v2.52.15 and v3.1.0",
		Tested: "gofiber/fiber v2.52.15 and v3.1.0"},
	{Name: "gin-rate-limit", Also: []string{"gin"}, Title: "JGLTechnologies/gin-rate-limit, memory store",
		Example: "Rate=1m,Limit=100",
		Keys: []PresetKey{
			{Name: "Rate", Read: span, Needed: true, Example: "1m"},
			{Name: "Limit", Read: count(1), Needed: true, Example: "100"},
		},
		Spec: func(w *PresetWords) string {
			whole := w.Get("Rate").D.Truncate(time.Second)
			if whole == 0 {
				w.Refuse("Rate", "it is rounded down to 0 s, so nothing is ever denied", "write 1s or more")
			}
			return "fixed-window,rate=" + per(w.N("Limit"), whole) + ",align=first,refresh=admitted,tick=1s"
		},
		Differs: "The documentation says Limit requests every Rate. But every admitted request restarts " +
			"the time, so a steady client below the limit is denied. The clock has whole seconds. Reading " +
			"and writing the count are two steps, so requests at once may exceed Limit.",
		Source: "https://github.com/JGLTechnologies/gin-rate-limit, in_memory.go of v1.5.4",
		Tested: "gin-rate-limit v1.5.4"},
	{Name: "pocketbase", Title: "PocketBase, rate limits of its settings",
		Example: "maxRequests=300,duration=10",
		Keys: []PresetKey{
			{Name: "maxRequests", Read: count(1), Needed: true, Example: "300"},
			{Name: "duration", Read: seconds, Needed: true, Example: "10"},
			{Name: "label", Read: anything, Example: "/api/"},
			{Name: "audience", Read: anything, Example: "@guest"},
		},
		Spec: rated("fixed-window,rate=%s,align=first,refresh=admitted,tick=1s", "maxRequests", "duration"),
		Differs: "Every admitted request restarts the time, so a steady client below the limit is " +
			"denied. The clock has whole seconds. Each route of a collection counts for itself, even " +
			"if one rule covers all.",
		Source: "https://pocketbase.io/docs/going-to-production/#enable-rate-limiter, and " +
			"apis/middlewares_rate_limit.go of v0.28.4",
		Tested: "PocketBase v0.28.4"},
}

// goLimiter is a bucket that is filled at once. Redis keeps it for three intervals, in whole seconds, after
// an admission or the first request of an interval. So it lives for two to three intervals after the last
// request.
func goLimiter(w *PresetWords) string {
	n, interval := w.N("Tokens"), w.Get("Interval").D
	redis := w.Get("store").Text == "redis"
	kept := 3 * interval.Truncate(time.Second)
	switch {
	case n > int64(interval)/n:
		w.Refuse("Tokens", "above the square root of Interval in nanoseconds only a part comes back", "")
	case redis && kept == 0:
		w.Refuse("Interval", "Redis keeps it for 0 s, so nothing is ever denied", "write 1s or more")
	}
	made := "token-bucket,rate=" + per(n, interval) + fmt.Sprintf(",burst=%d,refill=interval,fill=%d", n, n)
	if redis {
		made += fmt.Sprintf(",ttl=%s..%s", kept-interval, kept)
	}
	return made
}

// fiber is a window of whole seconds, or a counter of two windows. If the versions differ for a
// configuration, it must state one.
func fiber(w *PresetWords) string {
	const mend = "write version=2 or version=3"
	version, window := w.Get("version").Text, w.Get("Expiration").D
	whole := window.Truncate(time.Second)
	switch {
	case version == "" && w.Has("SlidingWindow"):
		w.Refuse("SlidingWindow", "version 2 rounds the weighted count down, version 3 up", mend)
	case version == "" && whole != window:
		w.Refuse("Expiration", "version 2 rounds it up to whole seconds, version 3 down", mend)
	case version == "3" && whole == 0:
		w.Refuse("Expiration", "version 3 rounds it down to 0 s, so nothing is ever denied",
			"write 1s or more")
	case version != "3" && whole != window:
		whole += time.Second
	}
	made := ",rate=" + per(w.N("Max"), whole) + ",align=first"
	switch {
	case !w.Has("SlidingWindow"):
		return "fixed-window" + made + ",tick=1s"
	case version == "3":
		return "sliding-window-counter" + made + ",count=all,rounding=up,tick=1s"
	}
	return "sliding-window-counter" + made + ",count=all,rounding=down,tick=1s"
}

// sinceYearOne is the time from the first of January of the year 1 to the Unix epoch, in milliseconds.
const sinceYearOne = 62135596800_000

// bucketKeys are the words of a bucket: a rate and a burst, which may be needed.
func bucketKeys(name string, needed bool) []PresetKey {
	return []PresetKey{
		{Name: name, Read: perSecond, Bare: true, Needed: true, Example: "10"},
		{Name: "burst", Read: count(1), Bare: true, Needed: needed, Example: "20"},
	}
}

// bucket writes a bucket of an algorithm. usual is its burst if none is given; the burst is at least 1.
func (w *PresetWords) bucket(algorithm, name string, usual int64) string {
	v := w.Get(name)
	return fmt.Sprintf("%s,rate=%s,burst=%d", algorithm, per(v.N, v.D), w.burst(usual))
}

// burst returns the given burst, or else usual, at least 1.
func (w *PresetWords) burst(usual int64) int64 {
	if w.Has("burst") {
		return w.N("burst")
	}
	return max(1, usual)
}

// echo is a bucket that may be forgotten before it is full.
func echo(w *PresetWords) string {
	v, kept := w.Get("rate"), w.Get("ExpiresIn").D
	usual := (v.N*int64(time.Second) + int64(v.D) - 1) / int64(v.D)
	made := w.bucket("token-bucket", "rate", usual)
	one := v.D/time.Duration(v.N) + 1
	if burst := w.burst(usual); burst > int64(kept/one) {
		full := one * time.Duration(min(burst, math.MaxInt64/2/int64(one)))
		made += fmt.Sprintf(",ttl=%s..%s", kept, full.Truncate(time.Second)+time.Second)
	}
	return made
}

// perSecond reads a number per second, or a rate.
func perSecond(text string) (PresetValue, string, string) {
	if v, why, _ := count(1)(text); why == "" {
		v.D = time.Second
		return v, "", ""
	}
	return rate(text)
}

// ululeRate reads a rate of ulule/limiter: 10-S, 100-M, 1000-H, 2000-D.
func ululeRate(text string) (PresetValue, string, string) {
	v, why, mend := rate(strings.ToLower(strings.Replace(text, "-", "/", 1)))
	if why != "" {
		why = "the value is a number and a unit, such as 10-S or 100-M"
	}
	return v, why, mend
}
