package trial

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestCostsThatAnswersTell runs right gateways and faults of public reports in virtual time.
func TestCostsThatAnswersTell(t *testing.T) {
	const settles = "sliding-window-log,rate=100/20s,charge=completion,linger=10ms"
	const reserves = "token-bucket,rate=1/20s,burst=100,reserve=40,linger=10ms"
	told := map[string]string{"body": "{body: usage.total_tokens}", "header": "{header: x-tokens}",
		"event": "{event: usage.total_tokens}", "nowhere": "{header: x-none}"}
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
		"charges one unit a request (wso2/api-platform#2932)": {settles, "body", "tokens-one-each",
			1, result.Fail, "at least 120 of 100 units were charged before it"},
		"a stream is not charged (envoyproxy/ai-gateway#2394)": {settles, "event", "stream-uncharged", 1,
			result.Fail, "at least 120 of 100 units were charged before it"},
		"concurrent requests pass one check (BerriAI/litellm#18730)": {reserves, "body",
			"reserve-unchecked", 8, result.Fail, "of 100 units were charged or reserved before it"},
		"a reserve is never released (Kuadrant/kuadrant-operator#2263)": {reserves, "body",
			"reserve-never-released", 1, result.Fail, "of 100 units could have been charged or reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			out, tl := atGateway(t, c.limit, c.fault, told[c.where], c.clients, c.where == "event")
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

// atGateway sends 128 requests of some clients to a gateway, each of which costs 30 tokens.
func atGateway(t *testing.T, limit, fault, cost string, clients int, stream bool) (out result.Scenario,
	kept *timeline.Timeline) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, err := spec.Parse(limit)
		if err != nil {
			t.Fatal(err)
		}
		gateway, err := lab.New(lab.Options{Limit: l, Fault: fault, Tokens: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		n := new(lab.PipeNetwork)
		url, stop, err := n.Listen(gateway)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		text := fmt.Sprintf("id: tokens\ntitle: A budget of tokens is kept\nkind: required\n"+
			"source: https://e.org/\n"+
			"target: {url: %q, method: POST, body: '{\"max_tokens\":30,\"stream\":%t}'}\n"+
			"partition: {header: X-Api-Key, fresh: true}\nlimit: %q\ncost: %s\n"+
			"phases:\n  - {name: spend, shape: closed, clients: %[5]d, requests: 64}\n"+
			"  - {name: rest, shape: silence, duration: 100ms}\n"+
			"  - {name: after, shape: closed, clients: %[5]d, requests: 64}\n"+
			"expect: {conformance: exact, resolution: {burst: none, rate: none}}\n",
			url, stream, limit, cost, clients)
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
