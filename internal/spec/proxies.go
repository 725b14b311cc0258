package spec

import (
	"fmt"
	"time"
)

// proxies are servers that forward requests.
var proxies = []Product{
	{Name: "nginx", Title: "nginx, limit_req_zone and limit_req", Example: "rate=10r/s,burst=20,nodelay",
		Keys: []PresetKey{
			{Name: "rate", Read: rate, Needed: true, Example: "10r/s"},
			{Name: "burst", Read: count(0), Default: "0", Example: "20"},
			{Name: "delay", Read: count(0), Example: "8"},
			{Name: "nodelay"},
			{Name: "zone", Read: anything, Example: "one"},
		},
		Spec: nginx,
		Differs: "burst comes on top of the request that is served: burst=20 admits 21 at once. nginx " +
			"keeps a rate in whole thousandths of a request a second, and each admission may lose up " +
			"to one thousandth: 100r/m is up to 0.2 % slower.",
		Source: "https://nginx.org/en/docs/http/ngx_http_limit_req_module.html, and its source of 1.22.1",
		Tested: "nginx 1.22.1"},
	{Name: "haproxy", Title: "HAProxy, a stick-table and deny if it is exceeded",
		Example: "http_req_rate(10s)=100",
		Keys: []PresetKey{
			{Name: "http_req_rate", Of: span, Read: count(1), Example: "100"},
			{Name: "gpc0_rate", Of: span, Read: count(1), Example: "100"},
			{Name: "http_req_cnt", Read: count(1), Example: "100"},
			{Name: "expire", Read: span, Example: "10s"},
		},
		Spec: haproxy,
		Differs: "A rate is a weighted counter of two periods, not a log, and http_req_rate counts " +
			"denied requests too. http_req_cnt with expire is not a window: every request, denied or " +
			"not, postpones its end. Version 2.6 treats a stall of over 100 ms as a jump of the clock, " +
			"so on a busy machine its windows last longer.",
		Source: "https://docs.haproxy.org/2.6/configuration.html#7.3.3, and freq_ctr.h of 2.6",
		Tested: "HAProxy 2.6.12"},
	{Name: "envoy", Title: "Envoy 1.31 or later, local rate limit",
		Example: "{max_tokens: 20, tokens_per_fill: 10, fill_interval: 1s}",
		Keys:    envoyKeys,
		Spec: func(w *PresetWords) string {
			return "token-bucket,rate=" + per(w.N("tokens_per_fill"), w.Get("fill_interval").D) +
				fmt.Sprintf(",burst=%d", w.N("max_tokens"))
		},
		Differs: "The documentation says that tokens_per_fill are added in each interval; since 1.31 " +
			"they come back one by one. Older versions are envoy-timer. Each Envoy has its own bucket.",
		Source: "https://www.envoyproxy.io/docs/envoy/v1.39.0/api-v3/type/v3/token_bucket.proto, " +
			"https://github.com/envoyproxy/envoy/pull/35207"},
	{Name: "envoy-timer", Title: "Envoy before 1.31, local rate limit",
		Example: "{max_tokens: 20, tokens_per_fill: 10, fill_interval: 1s}",
		Keys:    envoyKeys,
		Spec: func(w *PresetWords) string {
			n := w.N("tokens_per_fill")
			return "token-bucket,rate=" + per(n, w.Get("fill_interval").D) +
				fmt.Sprintf(",burst=%d,start=unknown,refill=interval,fill=%d", w.N("max_tokens"), n)
		},
		Differs: "One timer fills the buckets of all clients, so a burst around a tick of the timer " +
			"gets more than max_tokens.",
		Source: "https://www.envoyproxy.io/docs/envoy/v1.30.0/api-v3/type/v3/token_bucket.proto, and " +
			"local_ratelimit_impl.cc of 1.30"},
	{Name: "envoy-ratelimit", Title: "Envoy's rate limit service (envoyproxy/ratelimit)",
		Example: "{unit: minute, requests_per_unit: 100}",
		Keys: []PresetKey{
			{Name: "unit", Read: choice("second", "minute", "hour", "day"), Needed: true, Example: "minute"},
			{Name: "requests_per_unit", Read: count(1), Needed: true, Example: "100"},
		},
		Spec: func(w *PresetWords) string {
			return "fixed-window,rate=" + per(w.N("requests_per_unit"), units[w.Get("unit").Text])
		},
		Differs: "Windows begin with the unit of the clock, so twice the limit may pass around its start.",
		Source:  "https://github.com/envoyproxy/ratelimit (README, fixed_cache_impl.go)",
		Tested:  "envoyproxy/ratelimit v1.4.1-0.20260122083618"},
	{Name: "kong", Title: "Kong, plugin rate-limiting", Example: "minute=100,policy=local",
		Keys: []PresetKey{
			{Name: "second", Read: count(1), Example: "10"}, {Name: "minute", Read: count(1), Example: "100"},
			{Name: "hour", Read: count(1), Example: "1000"}, {Name: "day", Read: count(1), Example: "10000"},
			{Name: "policy", Read: choice("local", "cluster", "redis"), Default: "local", Example: "local"},
		},
		Spec: kong,
		Differs: "Windows begin with the unit of the clock. A request is admitted by the count so far, " +
			"and a timer counts it afterwards, so requests that arrive together may all pass.",
		Source: "https://developer.konghq.com/plugins/rate-limiting/, and handler.lua of 3.x"},
	{Name: "caddy", Title: "Caddy, module mholt/caddy-ratelimit", Example: "100/1m",
		Keys: []PresetKey{
			{Name: "rate", Read: rate, Bare: true, Example: "100/1m"},
			{Name: "events", Read: count(1), Example: "100"}, {Name: "window", Read: span, Example: "1m"},
		},
		Spec: func(w *PresetWords) string {
			return "sliding-window-log,rate=" + w.rateOf("rate", "events", "window") + ",boundary=closed"
		},
		Source: "https://github.com/mholt/caddy-ratelimit (README, ringbuffer.go)",
		Tested: "mholt/caddy-ratelimit v0.1.0"},
	{Name: "traefik", Title: "Traefik, middleware rateLimit", Example: "average=10,burst=20,period=1s",
		Keys: []PresetKey{
			{Name: "average", Read: count(1), Needed: true, Example: "10"},
			{Name: "burst", Read: count(1), Default: "1", Example: "20"},
			{Name: "period", Read: span, Default: "1s", Example: "1s"},
		},
		Spec: traefik,
		Differs: "A request that is less than half a token early waits and passes, so the burst is " +
			"between burst and burst+1. A client that was idle for one to two seconds (longer below " +
			"1/s) is forgotten, and then has a full bucket.",
		Source: "https://doc.traefik.io/traefik/middlewares/http/ratelimit/, and " +
			"in_memory_limiter.go of 3.x"},
}

// envoyKeys are the words of a token bucket of Envoy.
var envoyKeys = []PresetKey{
	{Name: "max_tokens", Read: count(1), Needed: true, Example: "20"},
	{Name: "tokens_per_fill", Read: count(1), Default: "1", Example: "10"},
	{Name: "fill_interval", Read: span, Needed: true, Example: "1s"},
}

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
		return fmt.Sprintf(counter, per(w.N("http_req_rate"), w.Get("http_req_rate()").D)) + ",count=all"
	case w.Has("gpc0_rate"):
		return fmt.Sprintf(counter, per(w.N("gpc0_rate"), w.Get("gpc0_rate()").D))
	case w.Has("http_req_cnt") && w.Has("expire"):
		return "fixed-window,rate=" + per(w.N("http_req_cnt"), w.Get("expire").D) +
			",align=first,refresh=all,tick=10ms"
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

// rateOf writes the rate that stands in one word, or in a number and a window.
func (w *PresetWords) rateOf(both, number, window string) string {
	switch v := w.Get(both); {
	case w.Has(both):
		return per(v.N, v.D)
	case !w.Has(number) || !w.Has(window):
		w.Refuse(w.product.Name, "a limit is a number and a window", "write "+w.product.Written())
		return ""
	}
	return per(w.N(number), w.Get(window).D)
}
