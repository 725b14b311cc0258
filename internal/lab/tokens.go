package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// A target with Options.Tokens answers like a gateway in front of a language model. A request is a chat
// completion: POST, and a JSON object. It says what it will cost, so runs are repeatable: in the cost field
// (Options.CostHeader), or else by max_tokens or max_completion_tokens. Its answer tells that number as
// usage.total_tokens of a JSON body, in the field X-Tokens, or in the last event of a stream ("stream":
// true). X-Usage says that the answer tells another number, such as 0 for an answer from a cache.

// usage is what the answer to a request tells.
type usage struct {
	told   int64
	stream bool
}

// answerTime is how long an answer that is no stream takes, so that requests are in flight together.
const answerTime = 50 * time.Millisecond

// asks reads what a request asks for. stated is the cost of its field, 1 without one.
func (t *Target) asks(r *http.Request, stated int64) (cost int64, u usage) {
	if t.opts.Tokens == 0 {
		return stated, usage{told: stated}
	}
	var chat struct {
		Most    int64 `json:"max_completion_tokens"`
		OldMost int64 `json:"max_tokens"`
		Stream  bool  `json:"stream"`
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBody))
	if err == nil {
		_ = json.Unmarshal(text, &chat) // a text that is no chat completion asks for nothing
	}
	if cost = stated; len(r.Header[t.costHdr]) == 0 {
		cost = min(max(1, chat.Most, chat.OldMost), maxCost)
	}
	u = usage{told: cost, stream: chat.Stream}
	if n, err := strconv.ParseInt(r.Header.Get("X-Usage"), 10, 64); err == nil && n >= 0 && n <= maxCost {
		u.told = n
	}
	return cost, u
}

// serves returns how long an admitted request is served before its answer begins, 0 for a denied one.
func (t *Target) serves(ruling Ruling, u usage) time.Duration {
	switch {
	case !ruling.Allow, u.stream:
		return 0
	case t.opts.Tokens == 0:
		return t.facts.hold
	}
	return max(t.facts.hold, answerTime)
}

// bill is what an answer is charged by.
type bill struct {
	// told is what the answer tells, stated what the request asked for. reserve and quota are those of the
	// least policy that settles.
	told, stated, reserve, quota int64
	stream                       bool
}

// settling returns the function that charges a request when it is complete. Its second call does nothing.
func (t *Target) settling(ruling Ruling, cost int64, u usage) func() {
	done := ruling.Complete == nil
	return func() {
		if done {
			return
		}
		done = true
		b := bill{told: u.told, stated: cost, stream: u.stream}
		for _, p := range t.opts.Limit {
			if p.Charge == spec.ChargeCompletion && (b.quota == 0 || p.Full() < b.quota) {
				b.reserve, b.quota = p.Reserve, p.Full()
			}
		}
		units := u.told
		switch {
		case !ruling.Allow:
			units = cost + b.reserve // it reserved nothing
		case t.fault.settles != nil:
			units = t.fault.settles(b)
		}
		ruling.Complete(units)
	}
}

// complete writes the answer to an admitted request. The request is charged when all of it is known, just
// before the end is sent.
func (a *answer) complete(w http.ResponseWriter, r *http.Request, u usage, settle func()) {
	tells := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, u.told/4,
		u.told-u.told/4, u.told)
	if !u.stream {
		a.header["X-Tokens"] = []string{strconv.FormatInt(u.told, 10)}
		a.typ, a.body = jsonType, `{"object":"chat.completion","choices":[{"index":0,"message":`+
			`{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],`+tells+"}\n"
		settle()
		a.write(w, r)
		return
	}
	a.header["Content-Type"] = []string{"text/event-stream"}
	w.WriteHeader(a.status)
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello."}}],"usage":null}`, "\n\n")
	_ = http.NewResponseController(w).Flush() // a client that left is noticed next
	if !a.target.clock.SleepUntil(r.Context(), a.ruling.At+max(a.target.facts.hold, a.target.opts.Tokens)) {
		return
	}
	settle()
	fmt.Fprint(w, `data: {"choices":[],`, tells, "}\n\ndata: [DONE]\n\n")
}

// setBudgets sets the fields that state the policies by what they count: of several, the one that has least.
func (a *answer) setBudgets() {
	t, tightest := a.target, map[string]int{}
	for i, v := range a.ruling.Views {
		counts := "Tokens"
		if t.opts.Limit[i].Unit == spec.UnitRequest {
			counts = "Requests"
		}
		if k, seen := tightest[counts]; !seen || v.Remaining < a.ruling.Views[k].Remaining {
			tightest[counts] = i
		}
	}
	for counts, i := range tightest {
		v, p := a.ruling.Views[i], t.opts.Limit[i]
		reset := time.Duration(ceilMS(v.Reset-(a.now-a.ruling.At))) * time.Millisecond
		limit, left := strconv.FormatInt(p.Full(), 10), strconv.FormatInt(max(0, v.Remaining), 10)
		if t.speaks(OpenAI) {
			a.header["X-Ratelimit-Limit-"+counts] = []string{limit}
			a.header["X-Ratelimit-Remaining-"+counts] = []string{left}
			a.header["X-Ratelimit-Reset-"+counts] = []string{reset.String()}
		}
		if t.speaks(Anthropic) {
			at := time.Unix(ceilSeconds(a.now+reset), 0).UTC().Format(time.RFC3339)
			a.header["Anthropic-Ratelimit-"+counts+"-Limit"] = []string{limit}
			a.header["Anthropic-Ratelimit-"+counts+"-Remaining"] = []string{left}
			a.header["Anthropic-Ratelimit-"+counts+"-Reset"] = []string{at}
		}
	}
}

// retryInfo returns the body of a denial with a google.rpc.RetryInfo.
func (a *answer) retryInfo() string {
	return fmt.Sprintf(`{"error":{"code":%d,"status":"RESOURCE_EXHAUSTED","message":%q,"details":[`+
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ds"}]}}`+"\n", a.status,
		a.detail(), max(1, ceilSeconds(a.wait())))
}

// ceilMS returns d in whole milliseconds, rounded up, or 0 for a negative d.
func ceilMS(d time.Duration) int64 {
	return int64((max(0, d) + time.Millisecond - 1) / time.Millisecond)
}

// otherBudget makes an answer state what is left of the budget that has most, for all of them.
func otherBudget(a *answer) {
	most := int64(-1)
	for _, v := range a.ruling.Views {
		most = max(most, v.Remaining)
	}
	for name := range a.header {
		if most >= 0 && strings.Contains(name, "Remaining") {
			a.header[name] = []string{strconv.FormatInt(most, 10)}
		}
	}
}

// tokenFaults are faults of gateways that learn the cost of a request from its answer (Options.Tokens).
var tokenFaults = []Fault{
	{Name: "tokens-one-each", fits: settles, settles: func(bill) int64 { return 1 }},
	{Name: "budget-off-by-one", fits: settlesWindows, policy: func(p spec.Policy) spec.Policy {
		if p.Unit == spec.UnitRequest {
			return p
		}
		return p.WithFull(p.Full() + 1)
	}},
	{Name: "estimate-never-settled", fits: reserves, settles: func(b bill) int64 { return b.reserve }},
	{Name: "reserve-never-released", fits: reserves,
		settles: func(b bill) int64 { return max(b.told, b.reserve) }},
	{Name: "stream-uncharged", fits: settles, settles: ofStreams(0)},
	{Name: "last-chunk-charged", fits: settles, settles: ofStreams(1)},
	{Name: "free-answers-charged", fits: settles, settles: func(b bill) int64 {
		if b.told == 0 {
			return b.stated
		}
		return b.told
	}},
	{Name: "huge-answer-free", fits: settlesHuge, settles: func(b bill) int64 {
		if b.told > b.quota {
			return b.reserve
		}
		return b.told
	}},
	{Name: "reserve-unchecked", fits: reserves, policy: func(p spec.Policy) spec.Policy {
		p.Reserve = 0
		return p
	}},
	{Name: "denied-tokens-charged", fits: paysLater, paysDenied: true,
		settles: func(b bill) int64 { return b.told }},
	{Name: "other-budget-stated", fits: wrong.SeveralPolicies, settles: func(b bill) int64 { return b.told },
		answer: otherBudget},
}

// ofStreams returns the hook that charges each streamed answer alike.
func ofStreams(units int64) func(bill) int64 {
	return func(b bill) int64 {
		if b.stream {
			return units
		}
		return b.told
	}
}

// settles demands a policy that settles the cost of a request when it is complete.
var settles = wrong.Some(func(p spec.Policy) bool { return p.Charge == spec.ChargeCompletion },
	"it needs a limit with charge=completion or reserve=N")

// settlesHuge demands that of policies whose reserve alone does not leave as little as a huge answer does.
var settlesHuge = wrong.All(wrong.Never(func(p spec.Policy) bool { return 2*p.Reserve > p.Full() },
	"it needs a reserve of at most half of the budget"), settles)

// settlesWindows demands a policy that is full when exactly its quota is charged, and stays so.
var settlesWindows = wrong.Some(func(p spec.Policy) bool {
	return p.Charge == spec.ChargeCompletion && p.Reserve == 0 && p.Unit != spec.UnitRequest && p.HasWindow()
}, "it needs a window with charge=completion and without a reserve")

// reserves demands a policy that reserves an estimate.
var reserves = wrong.Some(func(p spec.Policy) bool { return p.Reserve > 0 },
	"it needs a limit with reserve=N")

// paysLater demands a policy that settles, and for which it matters within seconds whether denied requests
// count: a full fixed window stays full, and what was spent is given back.
func paysLater(l spec.Limit) string {
	for _, p := range l {
		soon := p.Bucketed() && p.UntilBack(p.Full()/60+p.Reserve) <= time.Second ||
			!p.Fixed() && p.Rate.Per <= time.Second
		shorter := len(l) > 1 && l[0].Unit == spec.UnitRequest && l[0].Rate.Per <= time.Second &&
			p.Rate.Per > l[0].Rate.Per
		if p.Charge == spec.ChargeCompletion && (soon || shorter) {
			return ""
		}
	}
	return "it needs a bucket that fills in a minute, a log or a counter of a second, or requests a " +
		"second beside a longer window of tokens, with charge=completion or reserve=N"
}
