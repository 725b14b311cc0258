package trial

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestCostsOverHTTP2: a body, a field and the last event tell the cost over HTTP/2, in clear text and over
// TLS, with one and with eight streams of a client at once.
func TestCostsOverHTTP2(t *testing.T) {
	limit, err := spec.Parse("fixed-window,rate=10000/1h,charge=completion,linger=1s")
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := lab.New(lab.Options{Tokens: 20 * time.Millisecond, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(gateway)
		srv.Config.Protocols, srv.EnableHTTP2 = new(http.Protocols), true
		srv.Config.Protocols.SetHTTP2(true)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		start := srv.Start
		if secure {
			start = srv.StartTLS
		}
		start()
		defer srv.Close()
		for where, cost := range map[string]string{"body": "{body: usage.total_tokens}",
			"field": "{header: x-tokens}", "event": "{event: usage.total_tokens}"} {
			text := fmt.Sprintf("id: tokens\ntitle: A budget of tokens is kept\nkind: required\n"+
				"source: https://e.org/\ntarget: {url: %q, protocol: h2, insecure: true, method: POST, "+
				"body: '{\"max_tokens\":30,\"stream\":%t}'}\npartition: {header: X-Api-Key, fresh: true}\n"+
				"limit: \"fixed-window,rate=10000/1h,charge=completion,linger=1s\"\ncost: %s\n"+
				"phases:\n  - {name: one, shape: closed, clients: 1, requests: 3}\n"+
				"  - {name: many, shape: at-once, requests: 8}\n"+
				"expect: {conformance: exact, resolution: {burst: none, rate: none}}\n",
				srv.URL, where == "event", cost)
			s, err := scenario.Parse([]byte(text), "tokens.yaml", scenario.ParseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			told := 0
			out := Scenario(context.Background(), s, Options{ID: "m", Seed: 1,
				Pacer: transport.SleepingPacer(), Recorded: func(tl *timeline.Timeline) {
					for _, o := range tl.Observations {
						if o.Outcome == timeline.Allowed && o.Cost == 30 {
							told++
						}
					}
				}})
			if told != 11 {
				t.Errorf("%s, TLS %t: got %d of 11 costs: %s %s", where, secure, told, out.Verdict,
					strings.TrimSpace(out.Detail))
			}
		}
	}
}
