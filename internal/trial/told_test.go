package trial

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gateway is a limiter in front of a language model. It knows what a request cost when the answer is
// complete.
type gateway struct {
	mu      sync.Mutex
	limiter reference.Limiter
	state   reference.State
	began   time.Time
	cost    int64
	// where says where answers tell their cost: body, header, event, or nowhere. fault is the defect.
	where, fault string
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	before := g.state
	state, d := g.limiter.Step(g.state, time.Since(g.began), 1)
	if g.state = state; g.fault == "checks without reserving" {
		g.state = before
	}
	g.mu.Unlock()
	if !d.Allow {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	defer g.settle()
	time.Sleep(50 * time.Millisecond)
	switch g.where {
	case "header":
		w.Header().Set("X-Tokens", fmt.Sprint(g.cost))
	case "body":
		fmt.Fprintf(w, `{"usage":{"total_tokens":%d}}`, g.cost)
	case "event":
		fmt.Fprint(w, "data: {\"choices\":[{}],\"usage\":null}\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(2 * time.Second)
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", g.cost)
	}
}

func (g *gateway) settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.fault {
	case "charges one unit a request":
		g.state = reference.Complete(g.limiter, g.state, time.Since(g.began), 1)
	case "never charges", "never releases a reserve":
	default:
		g.state = reference.Complete(g.limiter, g.state, time.Since(g.began), g.cost)
	}
}

// TestCostsThatAnswersTell runs right gateways and faults of public reports in virtual time.
func TestCostsThatAnswersTell(t *testing.T) {
	const settles = "sliding-window-log,rate=100/20s,charge=completion,linger=10ms"
	const reserves = "token-bucket,rate=1/20s,burst=100,reserve=40,linger=10ms"
	told := map[string]string{"body": "{body: usage.total_tokens}", "header": "{header: x-tokens}",
		"event": "{event: usage.total_tokens}", "nowhere": "{body: usage.total_tokens}"}
	for name, c := range map[string]struct {
		limit, where, fault string
		clients             int
		want                result.Verdict
		says                string
	}{
		"settles by the body":       {settles, "body", "", 1, result.Pass, ""},
		"settles by a field":        {settles, "header", "", 1, result.Pass, ""},
		"settles by the last event": {settles, "event", "", 1, result.Pass, ""},
		"settles, 8 in flight":      {settles, "body", "", 8, result.Pass, ""},
		"settles, 64 streams":       {settles, "event", "", 64, result.Pass, ""},
		"reserves":                  {reserves, "body", "", 1, result.Pass, ""},
		"reserves, 8 in flight":     {reserves, "body", "", 8, result.Pass, ""},
		"no answer tells its cost":  {settles, "nowhere", "", 1, result.Inconclusive, ""},
		"charges one unit a request (wso2/api-platform#2932)": {settles, "body", "charges one unit a request",
			1, result.Fail, "at least 120 of 100 units were charged before it"},
		"a stream is not charged (envoyproxy/ai-gateway#2394)": {settles, "event", "never charges", 1,
			result.Fail, "at least 120 of 100 units were charged before it"},
		"concurrent requests pass one check (BerriAI/litellm#18730)": {reserves, "body",
			"checks without reserving", 8, result.Fail, "of 100 units were charged or reserved before it"},
		"a reserve is never released (Kuadrant/kuadrant-operator#2263)": {reserves, "body",
			"never releases a reserve", 1, result.Fail, "of 100 units could have been charged or reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			out, tl := atGateway(t, c.limit, told[c.where], c.clients, &gateway{cost: 30, where: c.where,
				fault: c.fault})
			if out.Verdict != c.want {
				t.Fatalf("got %s, want %s: %s %s", out.Verdict, c.want, out.Detail, explain(out))
			}
			if c.says != "" && !strings.Contains(explain(out), c.says) {
				t.Errorf("got %q, want %q", explain(out), c.says)
			}
			for _, o := range tl.Observations {
				want := int64(30)
				if c.where == "nowhere" {
					want = timeline.CostUnknown
				}
				if o.Outcome == timeline.Allowed && o.Cost != want {
					t.Fatalf("request #%d has cost %d in the recording, want %d", o.Seq, o.Cost, want)
				}
			}
		})
	}
}

// atGateway sends 128 requests of some clients to a gateway.
func atGateway(t *testing.T, limit, cost string, clients int, g *gateway) (out result.Scenario,
	kept *timeline.Timeline) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, err := spec.Parse(limit)
		if err != nil {
			t.Fatal(err)
		}
		if g.limiter, err = reference.NewLimit(l); err != nil {
			t.Fatal(err)
		}
		g.state, g.began = g.limiter.Init(), time.Now()
		n := new(lab.PipeNetwork)
		url, stop, err := n.Listen(g)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		text := fmt.Sprintf("id: tokens\ntitle: A budget of tokens is kept\nkind: required\n"+
			"source: https://e.org/\n"+
			"target: {url: %q}\npartition: {header: X-Api-Key, fresh: true}\nlimit: %q\ncost: %s\n"+
			"phases:\n  - {name: spend, shape: closed, clients: %[4]d, requests: 64}\n"+
			"  - {name: rest, shape: silence, duration: 100ms}\n"+
			"  - {name: after, shape: closed, clients: %[4]d, requests: 64}\n"+
			"expect: {conformance: exact, resolution: {burst: none, rate: none}}\n",
			url, limit, cost, clients)
		s, err := scenario.Parse([]byte(text), "tokens.yaml", scenario.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out = Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Embed: embedded, Network: n,
			Pacer:    transport.SleepingPacer(),
			Recorded: func(tl *timeline.Timeline) { kept = tl }})
	})
	return out, kept
}
