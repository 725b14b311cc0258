package spec

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// formulas are the SPECs of the products that products.txt has no form for.
var formulas = map[string]func(*PresetWords) string{
	"nginx": nginx, "haproxy": haproxy, "kong": kong, "caddy": caddy, "traefik": traefik, "kong-ai": kongAI,
	"cloudflare": cloudflare, "fastify": fastify, "nest": nest, "rate-limiter-flexible": rateLimiterFlexible,
	"echo": echo, "tollbooth": tollbooth, "throttled": throttled, "httprate": httprate,
	"go-limiter": goLimiter, "failsafe": failsafe, "fiber": fiber, "gin-rate-limit": gin, "flask": flask,
	"laravel": laravel, "spring": spring, "bucket4j": bucket4j,
}

// per writes a rate in the notation of a SPEC.
func per(n int64, d time.Duration) string { return fmt.Sprintf("%d/%s", n, d) }

// per writes the rate whose number and time stand in two words, or in one that is a rate.
func (w *PresetWords) per(number, time string) string { return per(w.N(number), w.Get(time).D) }

// nginx is a leaky bucket with nodelay, and otherwise a queue.
func nginx(w *PresetWords) string {
	burst, speed := w.N("burst"), ""
	switch v := w.Get("rate"); v.D {
	case time.Second, time.Minute:
		speed = nginxRate(v)
	default:
		w.Refuse("rate", "nginx has only requests a second and a minute", "write r/s or r/m")
	}
	made := fmt.Sprintf("leaky-bucket,rate=%s,burst=%d", speed, burst+1)
	switch {
	case w.Has("nodelay") && w.Has("delay"):
		w.Refuse("delay", "nginx takes delay or nodelay", "remove one of them")
	case w.N("delay") > burst:
		w.Refuse("delay", fmt.Sprintf("the value is at most the burst of %d", burst), "")
	case !w.Has("nodelay") && burst > 0:
		made = fmt.Sprintf("leaky-bucket-queue,rate=%s,queue=%d", speed, burst)
		if n := w.N("delay"); n > 0 {
			made += fmt.Sprintf(",undelayed=%d", n)
		}
	}
	return made
}

// nginxRate returns a rate as nginx keeps it: in whole thousandths of a request per second. If that is not a
// whole number per millisecond, each admission rounds the leaked amount down by less than a thousandth.
func nginxRate(v PresetValue) string {
	thousandths := v.N * 1000 / int64(v.D/time.Second)
	if thousandths%1000 == 0 {
		return per(v.N, v.D)
	}
	return fmt.Sprintf("%d..%d/1000s", thousandths*999/1000, thousandths)
}

// haproxy is a counter of two periods, or a window that every request restarts. HAProxy reads its clock once
// per turn of its event loop, in milliseconds. An entry may expire a little late.
func haproxy(w *PresetWords) string {
	const counter = "sliding-window-counter,rate=%s,align=first,rounding=down,tick=2ms"
	switch {
	case w.Has("http_req_rate"):
		return fmt.Sprintf(counter, w.per("http_req_rate", "http_req_rate()")) + ",count=all"
	case w.Has("gpc0_rate"):
		return fmt.Sprintf(counter, w.per("gpc0_rate", "gpc0_rate()"))
	case w.Has("http_req_cnt") && w.Has("expire"):
		return "fixed-window,rate=" + w.per("http_req_cnt", "expire") + ",align=first,refresh=all,tick=10ms"
	}
	w.Refuse("haproxy", "a limit is a rate of a period, or a count with its expiry",
		"write haproxy:http_req_rate(10s)=100 or haproxy:http_req_cnt=100,expire=10s")
	return ""
}

// kong is a window for each unit. The timer that counts runs when the worker is next idle.
func kong(w *PresetWords) string {
	made := ""
	for _, unit := range []string{"second", "minute", "hour", "day"} {
		if w.Has(unit) {
			made += " + fixed-window,rate=" + per(w.N(unit), units[unit]) + ",charge=completion,linger=100ms"
		}
	}
	if made == "" {
		w.Refuse("kong", "a limit is for a second, a minute, an hour or a day", "write kong:minute=100")
		return ""
	}
	return made[len(" + "):]
}

// caddy has its rate in one word, or in a number and a window.
func caddy(w *PresetWords) string {
	made := w.per("rate", "rate")
	switch {
	case w.Has("rate"):
	case w.Has("events") && w.Has("window"):
		made = w.per("events", "window")
	default:
		w.Refuse("caddy", "a limit is a number and a window", "write "+w.product.Written())
	}
	return "sliding-window-log,rate=" + made + ",boundary=closed"
}

// traefik is a bucket that is forgotten early.
func traefik(w *PresetWords) string {
	n, period, burst := w.N("average"), w.Get("period").D, w.N("burst")
	made := fmt.Sprintf("token-bucket,rate=%s,burst=%d..%d", per(n, period), burst, burst+1)
	kept := 2 * time.Second
	if one := period / time.Duration(n); one > time.Second {
		kept = time.Second + one.Truncate(time.Second)
	}
	if full := time.Duration(burst+1) * period / time.Duration(n); full > kept-time.Second {
		made += fmt.Sprintf(",ttl=%s..%s", kept-time.Second, kept)
	}
	return made
}

func kongAI(w *PresetWords) string {
	kind := "sliding-window-counter"
	if w.Get("window_type").Text == "fixed" {
		kind = "fixed-window"
	}
	return kind + ",rate=" + w.per("limit", "window_size") + ",charge=completion,linger=1s"
}

func cloudflare(w *PresetWords) string {
	made := "sliding-window-counter,rate=" + w.per("requests_per_period", "period") +
		",align=unknown,count=all"
	if ban := w.N("mitigation_timeout"); ban > 0 {
		made += ",ban=" + (time.Duration(ban) * time.Second).String()
	}
	return made
}

func fastify(w *PresetWords) string {
	for _, key := range []string{"continueExceeding", "exponentialBackoff"} {
		if w.Get(key).Text == "true" {
			w.Refuse(key, "denied requests restart the window and admitted requests do not, "+
				"and no SPEC describes that", "")
		}
	}
	return "fixed-window,rate=" + w.per("max", "timeWindow") + ",align=first"
}

func nest(w *PresetWords) string {
	made := "sliding-window-log,rate=" + w.per("limit", "ttl")
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
}

func rateLimiterFlexible(w *PresetWords) string {
	made := "fixed-window,rate=" + w.per("points", "duration") + ",align=first"
	block := w.N("blockDuration")
	if block == 0 {
		return made
	}
	if block < int64(w.Get("duration").D.Seconds()) {
		w.Refuse("blockDuration", "a block that is shorter than duration ends the window early, and no SPEC "+
			"describes that", "")
	}
	return made + fmt.Sprintf(",ban=%ds", block)
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
	made := fmt.Sprintf("token-bucket,rate=%s,burst=%d", w.per("rate", "rate"), w.burst(usual))
	one := v.D/time.Duration(v.N) + 1
	if burst := w.burst(usual); burst > int64(kept/one) {
		full := one * time.Duration(min(burst, math.MaxInt64/2/int64(one)))
		made += fmt.Sprintf(",ttl=%s..%s", kept, full.Truncate(time.Second)+time.Second)
	}
	return made
}

func tollbooth(w *PresetWords) string {
	v := w.Get("max")
	burst := w.burst(v.N * int64(time.Second) / int64(v.D))
	return fmt.Sprintf("token-bucket,rate=%s,burst=%d", w.per("max", "max"), burst)
}

func throttled(w *PresetWords) string {
	return fmt.Sprintf("gcra,rate=%s,burst=%d", w.per("MaxRate", "MaxRate"), w.N("MaxBurst")+1)
}

func httprate(w *PresetWords) string {
	window := w.Get("windowLength").D
	made := "sliding-window-counter,rate=" + per(w.N("requestLimit"), window)
	ownStart := w.Get("limitCounter").Text == "memory"
	if ownStart || sinceYearOne%max(1, window.Milliseconds()) != 0 || window%time.Millisecond != 0 {
		made += ",align=shared"
	}
	return made + ",rounding=nearest"
}

// sinceYearOne is the time from the first of January of the year 1 to the Unix epoch, in milliseconds.
const sinceYearOne = 62135596800_000

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

func failsafe(w *PresetWords) string {
	switch v := w.Get("smooth"); {
	case w.Has("bursty"):
		return "fixed-window,rate=" + w.per("bursty", "bursty") + ",align=unknown"
	case w.Has("smooth"):
		return "fixed-window,rate=" + per(1, v.D/time.Duration(v.N)) + ",align=unknown"
	}
	w.Refuse("failsafe", "a limit is bursty or smooth", "write failsafe:bursty=10/1s")
	return ""
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

func gin(w *PresetWords) string {
	whole := w.Get("Rate").D.Truncate(time.Second)
	if whole == 0 {
		w.Refuse("Rate", "it is rounded down to 0 s, so nothing is ever denied", "write 1s or more")
	}
	return "fixed-window,rate=" + per(w.N("Limit"), whole) + ",align=first,refresh=admitted,tick=1s"
}

// flask is a window or a log for each of its limits. Limits before the one that denies count the request too.
func flask(w *PresetWords) string {
	kind := map[string]string{
		"fixed-window":                "fixed-window,rate=%s,align=first",
		"fixed-window-elastic-expiry": "fixed-window,rate=%s,align=first,refresh=all",
		"moving-window":               "sliding-window-log,rate=%s,boundary=closed",
	}[w.Get("strategy").Text]
	var all []string
	for text := range strings.SplitSeq(w.Get("limits").Text, ";") {
		v, _, _ := rate(strings.TrimSpace(text))
		all = append(all, fmt.Sprintf(kind, per(v.N, v.D)))
	}
	if len(all) > 1 {
		return strings.Join(all, ",count=own + ") + ",count=own"
	}
	return all[0]
}

func laravel(w *PresetWords) string {
	window := time.Minute
	for _, key := range []string{"decayMinutes", "decaySeconds"} {
		if w.Has(key) {
			window = w.Get(key).D
		}
	}
	made := "fixed-window,rate=" + per(w.N("maxAttempts"), window) + ",align=first"
	if w.Get("store").Text != "redis" {
		made += ",tick=1s"
	}
	return made
}

// spring is a bucket with a clock of whole seconds. Its state lives for twice the time that the bucket needs
// to fill, in whole seconds.
func spring(w *PresetWords) string {
	n, burst, cost := w.N("replenishRate"), w.N("burstCapacity"), w.N("requestedTokens")
	switch {
	case 2*burst < n:
		w.Refuse("burstCapacity", "below half of replenishRate its state lives for 0 s, so nothing is "+
			"ever denied", fmt.Sprintf("write %d or more", (n+1)/2))
	case burst%cost != 0:
		w.Refuse("requestedTokens", "a SPEC counts requests, and burstCapacity is not a whole number of "+
			"requests", fmt.Sprintf("write burstCapacity=%d", burst/cost*cost+cost))
	}
	return fmt.Sprintf("token-bucket,rate=%s,burst=%d,tick=1s", per(n, time.Duration(cost)*time.Second),
		burst/cost)
}

// bucket4j is a bucket that is filled token by token, or once per interval.
func bucket4j(w *PresetWords) string {
	v, made := w.Get("refillGreedy"), ""
	switch greedy, whole := w.Has("refillGreedy"), w.Has("refillIntervally"); {
	case greedy == whole:
		w.Refuse("bucket4j", "a bucket has refillGreedy or refillIntervally",
			"write bucket4j:capacity=20,refillGreedy=10/1s")
		return ""
	case whole:
		v = w.Get("refillIntervally")
		made = fmt.Sprintf(",refill=interval,fill=%d", v.N)
	}
	start := ""
	if w.Has("initialTokens") {
		start = fmt.Sprintf(",start=%d", w.N("initialTokens"))
	}
	return fmt.Sprintf("token-bucket,rate=%s,burst=%d", per(v.N, v.D), w.N("capacity")) + start + made
}
