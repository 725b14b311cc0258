package spec

import (
	"fmt"
	"time"
)

// hosted are services that other companies run.
var hosted = []Product{
	{Name: "aws", Also: []string{"aws-api-gateway", "api-gateway"}, Title: "AWS API Gateway, throttling",
		Example: "rateLimit=10,burstLimit=20",
		Keys: []PresetKey{
			{Name: "rateLimit", Also: []string{"rate"}, Read: count(1), Needed: true, Example: "10"},
			{Name: "burstLimit", Also: []string{"burst"}, Read: count(1), Needed: true, Example: "20"},
		},
		Spec: func(w *PresetWords) string {
			return fmt.Sprintf("token-bucket,rate=%d/s,burst=%d", w.N("rateLimit"), w.N("burstLimit"))
		},
		Differs: "AWS calls the limits targets, not ceilings. Several hosts synchronise later, so more " +
			"than the burst may pass.",
		Source: "https://docs.aws.amazon.com/apigateway/latest/developerguide/" +
			"api-gateway-request-throttling.html"},
	{Name: "cloudflare", Title: "Cloudflare, rate limiting rules",
		Example: "requests_per_period=100,period=60,mitigation_timeout=60",
		Keys: []PresetKey{
			{Name: "requests_per_period", Read: count(1), Needed: true, Example: "100"},
			{Name: "period", Read: seconds, Needed: true, Example: "60"},
			{Name: "mitigation_timeout", Read: count(0), Default: "0", Example: "60"},
		},
		Spec: func(w *PresetWords) string {
			made := "sliding-window-counter,rate=" + per(w.N("requests_per_period"), w.Get("period").D) +
				",align=unknown,count=all"
			if ban := w.N("mitigation_timeout"); ban > 0 {
				made += ",ban=" + (time.Duration(ban) * time.Second).String()
			}
			return made
		},
		Differs: "Each data center has its own counters, and they come some seconds late, so more than " +
			"the burst may pass.",
		Source: "https://developers.cloudflare.com/waf/rate-limiting-rules/request-rate/, " +
			"https://blog.cloudflare.com/counting-things-a-lot-of-different-things/"},
	{Name: "github", Title: "GitHub, primary limit of the REST API", Example: "limit=5000",
		Keys: []PresetKey{{Name: "limit", Read: count(1), Bare: true, Default: "5000", Example: "5000"}},
		Spec: func(w *PresetWords) string {
			return fmt.Sprintf("fixed-window,rate=%d/1h,align=first", w.N("limit"))
		},
		Differs: "Secondary limits (requests in flight, points a minute) deny earlier, with 403 or 429.",
		Source: "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api, " +
			"https://github.blog/2021-04-05-how-we-scaled-github-api-sharded-replicated-rate-limiter-redis/"},
	{Name: "stripe", Title: "Stripe, request rate limiter of the API", Example: "rate=100",
		Keys: []PresetKey{
			{Name: "rate", Read: count(1), Bare: true, Default: "100", Example: "100"},
			{Name: "burst", Read: count(1), Example: "100"},
		},
		Spec: func(w *PresetWords) string {
			burst := w.N("rate")
			if w.Has("burst") {
				burst = w.N("burst")
			}
			return fmt.Sprintf("token-bucket,rate=%d/s,burst=%d", w.N("rate"), burst)
		},
		Differs: "The documentation states the rate and no burst, so rate=100 has a burst of 100. A " +
			"limiter of requests in flight denies too.",
		Source: "https://docs.stripe.com/rate-limits, https://stripe.com/blog/rate-limiters"},
}
