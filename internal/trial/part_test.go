package trial

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/fleet"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestPartsMakeTheWhole: whatever the number of agents and the deal, the parts of every bundled scenario have
// each arrival once, each client once and the requests of all, and their phases are those of the whole.
func TestPartsMakeTheWhole(t *testing.T) {
	for _, s := range bundled(t, scenario.ParseOptions{}) {
		name := s.ID
		whole, err := s.Plan("run", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, deal := range fleet.Deals() {
			for _, of := range []int{1, 2, 3, 7} {
				dealt(t, name, whole, of, deal)
			}
		}
	}
}

// TestAgentsKeepTheirDoorsShut: an order names no Unix socket that the agent's user did not name, and no name
// to look up that has a value of the agent's environment in it.
func TestAgentsKeepTheirDoorsShut(t *testing.T) {
	const file = `{id: evil, title: t, kind: required, target: {url: "http://127.0.0.1/", %s},
limit: {algorithm: token-bucket, rate: 1/s, burst: 2}, phases: [{name: p, shape: at-once, requests: 3}]}`
	env := func(string) (string, bool) { return "hush", true }
	for _, c := range []struct {
		target, socket, refused string
	}{
		{`unix_socket: /run/docker.sock`, "", "only a file names it"},
		{`unix_socket: /run/docker.sock`, "/run/other.sock", "only a file names it"},
		{`unix_socket: /run/docker.sock`, "/run/docker.sock", ""},
		{`proxy: "http://${SECRET}.invalid:80"`, "", "a variable of the environment is in the name"},
	} {
		order, err := json.Marshal(Order{File: "evil.yaml", Text: fmt.Sprintf(file, c.target), ID: "run",
			Deal: fleet.ByRequests, URL: "http://127.0.0.1/"})
		if err != nil {
			t.Fatal(err)
		}
		a := &Agent{Env: env, Socket: c.socket}
		_, _, _, err = a.Prepare(t.Context(), fleet.Work{Order: order, Of: 1})
		if c.refused == "" && err != nil || c.refused != "" && !strings.Contains(fmt.Sprint(err), c.refused) {
			t.Errorf("%s, --unix-socket %q: got %v, want %q", c.target, c.socket, err, c.refused)
		}
	}
}

func dealt(t *testing.T, name string, whole *timeline.Schedule, of int, deal fleet.Deal) {
	t.Helper()
	seen, clients, requests := map[int]int{}, make([]int, len(whole.Phases)), make([]int, len(whole.Phases))
	owner, planned := map[string]int{}, fleet.Planned(whole, of, deal)
	for part := range of {
		mine := fleet.Slice(whole, part, of, deal)
		if len(mine.Phases) != len(whole.Phases) {
			t.Fatalf("%s: %d phases of %d", name, len(mine.Phases), len(whole.Phases))
		}
		n := 0
		for i := range mine.Phases {
			p := &mine.Phases[i]
			for _, a := range p.Arrivals {
				seen[a.Seq]++
				if was, ok := owner[a.Partition]; ok && was != part && deal == fleet.ByClients &&
					p.Shape != timeline.Boundary && whole.Phases[i].Shape != timeline.Boundary {
					t.Fatalf("%s: client %s is sent by agents %d and %d", name, a.Partition, was, part)
				}
				if p.Shape != timeline.Boundary {
					owner[a.Partition] = part
				}
			}
			clients[i], requests[i] = clients[i]+p.Clients, requests[i]+p.Requests
			n += len(p.Arrivals)
			if p.Clients > 0 {
				n += p.Requests
			}
		}
		if n != planned[part] {
			t.Errorf("%s: agent %d of %d plans %d requests, and %d are counted", name, part, of, n,
				planned[part])
		}
	}
	for i := range whole.Phases {
		p := &whole.Phases[i]
		for _, a := range p.Arrivals {
			if seen[a.Seq] != 1 {
				t.Fatalf("%s: %d agents by %s: arrival %d is sent %d times", name, of, deal, a.Seq,
					seen[a.Seq])
			}
		}
		if clients[i] != p.Clients || requests[i] != p.Requests {
			t.Errorf("%s: phase %s: %d agents by %s: %d clients of %d, %d requests of %d", name, p.Name, of,
				deal, clients[i], p.Clients, requests[i], p.Requests)
		}
	}
}

const orderText = `id: one
title: Admissions follow the limit
kind: required
target: {url: "${WHERE}", header: {Authorization: "Bearer ${TOKEN}"}}
partition: {header: X-Api-Key, fresh: true}
limit: {algorithm: token-bucket, rate: 10/s, burst: 5}
phases: [{name: p, shape: at-once, requests: 10}]
expect: {conformance: exact}
`

// TestAnAgentReadsTheSame: an agent with the same secret in its environment comes to the digest of the
// coordinator, and with another one it does not. The order has no secret.
func TestAnAgentReadsTheSame(t *testing.T) {
	env := func(token string) func(string) (string, bool) {
		all := map[string]string{"WHERE": "http://127.0.0.1:1/", "TOKEN": token}
		return func(name string) (string, bool) { v, ok := all[name]; return v, ok }
	}
	s, err := scenario.Parse([]byte(orderText), "one.yaml", scenario.ParseOptions{Env: env("hunter2")})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{ID: "run", Seed: 7, Version: "v"}
	whole, err := s.Plan(o.ID, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := connect(s, o)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := loadOptions(t.Context(), s, o, ends)
	if err != nil {
		t.Fatal(err)
	}
	want, err := digestOf(s, whole, opts)
	if err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(Order{File: s.File, Text: orderText, ID: o.ID, Seed: o.Seed,
		Deal: fleet.ByRequests, URL: opts.URL.String(),
		Env: map[string]string{"WHERE": "http://127.0.0.1:1/"}})
	if err != nil || strings.Contains(string(order), "hunter2") {
		t.Fatalf("%s, %v", order, err)
	}
	for token, same := range map[string]bool{"hunter2": true, "hunter3": false} {
		a := &Agent{Version: "v", Env: env(token)}
		w := fleet.Work{Order: order, Part: 1, Of: 2, Turns: &fleet.Turns{}}
		_, got, _, err := a.Prepare(t.Context(), w)
		if err != nil || (got == want) != same {
			t.Errorf("%s: got %s, %v, want %s: %v", token, got, err, want, same)
		}
	}
}

// TestMissingRequestsAccuseNobody: where an agent is lost, a denial proves nothing, and there is no verdict
// but INCONCLUSIVE with the name of the agent.
func TestMissingRequestsAccuseNobody(t *testing.T) {
	s := &scenario.Scenario{Partition: scenario.Partition{Exclusive: true}}
	d := doubtful(s)
	if !d.Shared() || !d.Expect.Shared || s.Shared() || s.Expect.Shared {
		t.Errorf("got %v and %v, of a scenario %v and %v", d.Shared(), d.Expect.Shared, s.Shared(),
			s.Expect.Shared)
	}
	lost, stopped := fate{missing: "agent a: gone"}, fate{stopped: "agent a: late"}
	for v, want := range map[result.Verdict]result.Verdict{result.Fail: result.Fail,
		result.Pass: result.Inconclusive} {
		if got := lost.tell(result.Scenario{Verdict: v}); got.Verdict != result.Inconclusive ||
			got.Detail != lost.missing {
			t.Errorf("%v: got %v: %s", v, got.Verdict, got.Detail)
		}
		if got := stopped.tell(result.Scenario{Verdict: v}); got.Verdict != want {
			t.Errorf("%v of a whole recording: got %v, want %v", v, got.Verdict, want)
		}
	}
	claims := func(kind result.ClaimKind) []result.Claim {
		return []result.Claim{{Kind: kind, Verdict: result.Fail}}
	}
	if got := lost.tell(result.Scenario{Verdict: result.Fail,
		Claims: claims(result.ClaimConformance)}); got.Verdict != result.Fail {
		t.Errorf("what the others were admitted is too much: got %v, want a FAIL", got.Verdict)
	}
	if got := lost.tell(result.Scenario{Verdict: result.Fail,
		Claims: claims(result.ClaimRetryAfterHonored)}); got.Verdict != result.Inconclusive ||
		got.Claims[0].Verdict != result.Inconclusive {
		t.Errorf("what missing requests may explain: got %v with %v", got.Verdict, got.Claims)
	}
	for _, r := range []result.Reason{result.Interrupted, result.TooFew} {
		cut := stopped.tell(result.Scenario{Claims: []result.Claim{{Reason: r, Text: "no client waited",
			Verdict: result.Inconclusive}}})
		if c := cut.Claims[0]; c.Reason != result.ScheduleMissed || c.Text != "" {
			t.Errorf("a claim that the agents cut short: got %s: %s, want %s alone, which is told once",
				c.Reason, c.Text, result.ScheduleMissed)
		}
	}
}

// FuzzOrder: whoever writes to the Redis, an agent refuses an order or knows what it would send.
func FuzzOrder(f *testing.F) {
	const file = `{id: x, title: t, kind: required, target: {url: "http://127.0.0.1/"},
limit: {algorithm: token-bucket, rate: 1/s, burst: 2}, phases: [{name: p, shape: at-once, requests: 3}]}`
	for _, deal := range fleet.Deals() {
		order, err := json.Marshal(Order{File: "x.yaml", Text: file, ID: "run", Deal: deal,
			URL: "http://127.0.0.1/", Limit: "gcra,rate=2/s,burst=1"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(order, 0, 2)
	}
	f.Add([]byte(`{"deal":"requests","url":"://","skip_keys":-1,"set":[{"Path":"","Value":"["}]}`), -1, 0)
	f.Fuzz(func(t *testing.T, order []byte, part, of int) {
		if of < 1 || of > 100 || part < 0 || part >= of {
			return // such a part is no shard
		}
		a := &Agent{Env: func(string) (string, bool) { return "", false }}
		s, digest, send, err := a.Prepare(t.Context(), fleet.Work{Order: order, Part: part, Of: of})
		if err == nil && (s == nil || digest == "" || send == nil) {
			t.Errorf("got %v, %q and no error of %s", s, digest, order)
		}
	})
}
