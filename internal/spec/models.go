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
		Name: "apisix-ai", Also: []string{"ai-rate-limiting"},
		Title: "Apache APISIX, plugin ai-rate-limiting", Example: "limit=10000,time_window=60",
		Keys: []PresetKey{
			{Name: "limit", Read: count(1), Needed: true, Example: "10000"},
			{Name: "time_window", Read: seconds, Needed: true, Example: "60"},
		},
		Spec: func(w *PresetWords) string {
			return "fixed-window,rate=" + per(w.N("limit"), w.Get("time_window").D) + ",align=first" +
				settledSoon
		},
		Differs: "The phase log charges an answer, and only then opens a window, unless it cost 0; how " +
			"soon that comes is not documented, so linger=1s is a guess. Each instance has a limit of its " +
			"own. The status of a denial is 503 unless rejected_code says another.",
		Source: "https://github.com/apache/apisix/blob/master/apisix/plugins/ai-rate-limiting.lua, " +
			"https://apisix.apache.org/docs/apisix/plugins/ai-rate-limiting/",
	},
	{
		Name: "litellm", Title: "LiteLLM proxy, tokens a minute of a key", Example: "tpm_limit=10000",
		Keys: []PresetKey{
			{Name: "tpm_limit", Read: count(1), Needed: true, Example: "10000"},
			{Name: "window_size", Read: seconds, Default: "60", Example: "60"},
		},
		Spec: func(w *PresetWords) string {
			return "fixed-window,rate=" + per(w.N("tpm_limit"), w.Get("window_size").D) +
				",align=first,tick=1s,reserve=1,linger=1s"
		},
		Differs: "A request adds 1 at the decision, which opens a window, and its tokens afterwards. The 1 " +
			"is not given back, which reserve=1 allows for. A task in the background adds the tokens; how " +
			"soon is not documented, so linger=1s is a guess. Its clock shows whole seconds. window_size " +
			"is LITELLM_RATE_LIMIT_WINDOW_SIZE.",
		Source: "https://github.com/BerriAI/litellm/blob/main/litellm/proxy/hooks/" +
			"parallel_request_limiter_v3.py",
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
