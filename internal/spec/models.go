package spec

import (
	"fmt"
	"strings"
)

// models are gateways in front of language models, and services of such models. Their limits count tokens.
var models = []Product{
	{
		Name: "envoy-ai", Also: []string{"envoy-ai-gateway"},
		Title:   "Envoy AI Gateway, usage-based rate limiting",
		Example: "requests=10000,unit=Minute",
		Keys: []PresetKey{
			{Name: "requests", Read: count(1), Needed: true, Example: "10000"},
			{Name: "unit", Read: choice("Second", "Minute", "Hour", "Day"), Needed: true, Example: "Minute"},
		},
		Spec: func(w *PresetWords) string {
			return "fixed-window,rate=" + per(w.N("requests"), units[strings.ToLower(w.Get("unit").Text)]) +
				settledSoon
		},
		Differs: "requests counts tokens if the cost of a request is 0 and that of its answer is " +
			"metadata. A stream that exceeds the budget is not interrupted. It is charged when it is " +
			"complete; how soon is not documented, so linger=1s is a guess.",
		Source: "https://aigateway.envoyproxy.io/docs/capabilities/traffic/usage-based-ratelimiting",
	},
	{
		Name: "kong-ai", Also: []string{"ai-rate-limiting-advanced"},
		Title: "Kong, plugin ai-rate-limiting-advanced", Example: "limit=10000,window_size=60",
		Keys: []PresetKey{
			{Name: "limit", Read: count(1), Needed: true, Example: "10000"},
			{Name: "window_size", Read: seconds, Needed: true, Example: "60"},
			{Name: "window_type", Read: choice("sliding", "fixed"), Default: "sliding", Example: "fixed"},
		},
		Spec: func(w *PresetWords) string {
			kind := "sliding-window-counter"
			if w.Get("window_type").Text == "fixed" {
				kind = "fixed-window"
			}
			return kind + ",rate=" + per(w.N("limit"), w.Get("window_size").D) + settledSoon
		},
		Differs: "The cost of an answer counts for the requests after it; how soon is not documented, so " +
			"linger=1s is a guess. Nodes with sync_rate over 0 learn of each other late.",
		Source: "https://developer.konghq.com/plugins/ai-rate-limiting-advanced/, " +
			"https://developer.konghq.com/gateway/rate-limiting/window-types/",
	},
	{
		Name: "openai", Title: "OpenAI API, requests and tokens a minute", Example: "rpm=60,tpm=10000",
		Keys: perMinute, Spec: bothPerMinute("token-bucket,rate=N/1m,burst=N"),
		Differs: "A request is counted before its answer is known, as the larger of max_tokens and an " +
			"estimate from its length. So its cost is not what usage says, and its denial proves nothing. " +
			"The fields state the time to a full budget, as of a bucket; no burst is documented.",
		Source: "https://platform.openai.com/docs/guides/rate-limits",
	},
	{
		Name: "azure-openai", Title: "Azure OpenAI, requests and tokens a minute",
		Example: "rpm=60,tpm=10000",
		Keys:    perMinute, Spec: bothPerMinute("fixed-window,rate=N/1m,align=unknown"),
		Differs: "A request is counted before its answer is known, as the most that it may take (prompt, " +
			"max_tokens, best_of), in a count that is reset every minute. So its denial proves nothing. " +
			"Requests may also be spread over periods of 1 s or 10 s.",
		Source: "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/how-to/quota",
	},
}

// settledSoon is the end of a SPEC that charges an answer soon after its end.
const settledSoon = ",charge=completion,linger=1s"

// perMinute are the words for requests and tokens a minute.
var perMinute = []PresetKey{
	{Name: "rpm", Read: count(1), Needed: true, Example: "60"},
	{Name: "tpm", Read: count(1), Needed: true, Example: "10000"},
}

// bothPerMinute returns the limit of requests and of tokens a minute, for a form of a policy with its quota.
func bothPerMinute(form string) func(*PresetWords) string {
	return func(w *PresetWords) string {
		one := func(n int64) string { return strings.ReplaceAll(form, "N", fmt.Sprint(n)) }
		return one(w.N("rpm")) + ",unit=request + " + one(w.N("tpm"))
	}
}
