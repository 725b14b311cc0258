package spec

import (
	"fmt"
	"strings"
	"time"
)

// frameworks are libraries of Python, PHP, Ruby and Java.
var frameworks = []Product{
	{Name: "flask", Also: []string{"flask-limiter", "limits", "slowapi"}, Title: "Flask-Limiter and limits",
		Example: "5 per minute",
		Keys: []PresetKey{
			{Name: "limits", Read: rates, Bare: true, Needed: true, Example: "5 per minute;100/hour"},
			{Name: "strategy", Read: choice("fixed-window", "moving-window", "fixed-window-elastic-expiry"),
				Default: "fixed-window", Example: "moving-window"},
		},
		Spec: flask,
		Differs: "The first request of a client opens a fixed window. With fixed-window-elastic-expiry a " +
			"client that keeps asking is locked out. Without a shared store, each worker counts for itself.",
		Source: "https://limits.readthedocs.io/en/stable/strategies.html, and limits 2.8.0",
		Tested: "limits 2.8.0"},
	{Name: "drf", Also: []string{"django-rest-framework"}, Title: "Django REST framework, SimpleRateThrottle",
		Example: "100/min",
		Keys:    []PresetKey{{Name: "rate", Read: drfRate, Bare: true, Needed: true, Example: "100/min"}},
		Spec:    rated("sliding-window-log,rate=%s", "rate", "rate"),
		Differs: "Reading and writing are two steps, so too many requests may pass if they arrive together.",
		Source:  "https://www.django-rest-framework.org/api-guide/throttling/, throttling.py of 3.14.0",
		Tested:  "Django REST framework 3.14.0"},
	{Name: "django-ratelimit", Title: "django-ratelimit", Example: "5/m",
		Keys:    []PresetKey{{Name: "rate", Read: rate, Bare: true, Needed: true, Example: "5/m"}},
		Spec:    rated("fixed-window,rate=%s,align=unknown", "rate", "rate"),
		Differs: "The windows of each client begin at a different time, which is a hash of its key.",
		Source:  "https://django-ratelimit.readthedocs.io/en/stable/rates.html, and core.py of 4.1"},
	{Name: "laravel", Title: "Laravel, middleware throttle", Example: "60,1",
		Keys: []PresetKey{
			{Name: "maxAttempts", Read: count(1), Bare: true, Needed: true, Example: "60"},
			{Name: "decayMinutes", Read: bareTime(time.Minute, "minutes"), Bare: true, Example: "1"},
			{Name: "decaySeconds", Read: seconds, Example: "10"},
			{Name: "store", Read: choice("file", "database", "memcached", "redis"), Default: "file",
				Example: "redis"},
		},
		Spec: func(w *PresetWords) string {
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
		},
		Differs: "The first request of a client opens a window. Except with Redis, the window ends at " +
			"a whole second, so it is up to a second shorter. Too many requests may pass if they " +
			"arrive together.",
		Source: "https://laravel.com/docs/rate-limiting, and Illuminate/Cache/RateLimiter.php of 8.83",
		Tested: "Laravel RateLimiter 8.83.26, one worker"},
	{Name: "rack-attack", Title: "rack-attack, throttle", Example: "limit=5,period=60",
		Keys: []PresetKey{
			{Name: "limit", Read: count(1), Needed: true, Example: "5"},
			{Name: "period", Read: seconds, Needed: true, Example: "60"},
		},
		Spec: rated("fixed-window,rate=%s", "limit", "period"),
		Differs: "Windows begin at multiples of the period of the clock, so twice the limit may pass " +
			"around such a time.",
		Source: "https://github.com/rack/rack-attack, lib/rack/attack/cache.rb",
		Tested: "rack-attack 6.6.1"},
	{Name: "spring", Also: []string{"spring-cloud-gateway"}, Title: "Spring Cloud Gateway, RedisRateLimiter",
		Example: "replenishRate=10,burstCapacity=20",
		Keys: []PresetKey{
			{Name: "replenishRate", Read: count(1), Needed: true, Example: "10"},
			{Name: "burstCapacity", Read: count(1), Needed: true, Example: "20"},
			{Name: "requestedTokens", Read: count(1), Default: "1", Example: "1"},
		},
		Spec: spring,
		Differs: "Its clock has whole seconds, so tokens come back once a second, all at once. With a " +
			"burstCapacity below half of replenishRate nothing is stored, and nothing is ever denied.",
		Source: "https://docs.spring.io/spring-cloud-gateway/reference/, and " +
			"request_rate_limiter.lua of 3.x"},
	{Name: "bucket4j", Title: "Bucket4j", Example: "capacity=20,refillGreedy=10/1s",
		Keys: []PresetKey{
			{Name: "capacity", Read: count(1), Needed: true, Example: "20"},
			{Name: "refillGreedy", Read: rate, Example: "10/1s"},
			{Name: "refillIntervally", Read: rate, Example: "10/1s"},
			{Name: "initialTokens", Read: count(0), Example: "20"},
		},
		Spec:   bucket4j,
		Source: "https://bucket4j.com/8.14.0/toc.html"},
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

// rates reads one rate or several: 5 per minute;100/hour.
func rates(text string) (v PresetValue, why, mend string) {
	for one := range strings.SplitSeq(text, ";") {
		if _, why, mend = rate(strings.TrimSpace(one)); why != "" {
			return PresetValue{}, why, mend
		}
	}
	return PresetValue{Text: text}, "", ""
}

// drfRate reads a rate of Django REST framework: only the first letter of the unit counts.
func drfRate(text string) (PresetValue, string, string) {
	number, unit, found := strings.Cut(text, "/")
	if found && unit != "" {
		text = number + "/" + unit[:1]
	}
	v, why, _ := rate(text)
	if why != "" || units[v.Text[strings.Index(v.Text, "/")+1:]] == 0 {
		return PresetValue{}, "the value is a number and a unit, such as 10/s or 100/min", ""
	}
	return v, "", ""
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
