package live

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/spec"
	product "github.com/rlcheck/rlcheck/internal/trial"
)

// named is an endpoint, its recipe, and the SPEC that it implements.
type named struct{ recipe, url, spec string }

// asking bounds how many endpoints are asked at a time. The judge uses all processors meanwhile, and requests
// that wait for a processor show less.
var asking = make(chan struct{}, 4)

// askedFor is how long a recipe is asked again on a machine that stands still each time.
const askedFor = 2 * time.Minute

// Seven recipes are named from their URL alone. The one that takes longest comes first. None is below another
// subtest, since those wait until the subtests of all other tests have begun.
func TestRecipesAreNamedFromTheirURL(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some minutes")
	}
	t.Parallel()
	for _, n := range slices.Concat(expressRecipes(t), nginxRecipes(t), haproxyRecipes(t)) {
		t.Run(n.recipe, func(t *testing.T) {
			t.Parallel()
			n.identified(t)
		})
	}
}

func nginxRecipes(t *testing.T) []named {
	urls := nginx(t,
		zone{Name: "nodelay", Rate: "10r/s", Args: "burst=9 nodelay", Status: http.StatusTooManyRequests},
		zone{Name: "noburst", Rate: "5r/s"},
		zone{Name: "queue", Rate: "10r/s", Args: "burst=7", Status: http.StatusTooManyRequests})
	return []named{
		{"nginx, a burst without delay", urls["nodelay"], "leaky-bucket,rate=10/s,burst=10"},
		{"nginx, no burst", urls["noburst"], "leaky-bucket,rate=5/s,burst=1"},
		{"nginx, a queue", urls["queue"], "leaky-bucket-queue,rate=10/s,queue=7"},
	}
}

func haproxyRecipes(t *testing.T) []named {
	const counter = "sliding-window-counter,rate=6/600ms,align=first"
	return []named{
		{"haproxy, http_req_rate", haproxy(t, table{store: "http_req_rate(600ms)",
			denyIf: "sc_http_req_rate(0) gt 6", expire: "60s"}), counter + ",count=all"},
		{"haproxy, gpc0_rate", haproxy(t, table{store: "gpc0,gpc0_rate(600ms)", denyIf: "sc0_gpc0_rate ge 6",
			expire: "60s", after: []string{"sc-inc-gpc0(0)"}}), counter},
	}
}

func expressRecipes(t *testing.T) []named {
	const express = "express-rate-limit"
	return []named{
		{"express, 10 a second", node(t, express, 10, time.Second), "fixed-window,rate=10/1s,align=first"},
		{"express, 6 in 600 ms", node(t, express, 6, 600*time.Millisecond),
			"fixed-window,rate=6/600ms,align=first"},
	}
}

// identified fails the test if another limit is named. A machine that stands still may leave the question
// open, or spoil a recording. Then the endpoint is asked again.
func (n named) identified(t *testing.T) {
	limit, err := spec.Parse(n.spec)
	if err != nil {
		t.Fatal(err)
	}
	asking <- struct{}{}
	defer func() { <-asking }()
	always := true
	for p := (patience{}); p.left() && !(always && time.Since(p.began) > askedFor); {
		still := watch(t)
		res := n.ask(t)
		stood := still() >= stoodStill
		always = always && stood
		t.Logf("%s after %d requests, %s", res.Verdict, len(res.Timeline.Observations), res.Stopped)
		if strings.HasPrefix(res.Stopped, ";") {
			t.Errorf("got the reason %q, want one that begins with a word", res.Stopped)
		}
		for _, c := range res.Found {
			t.Logf("  %s, measured %v of %v", c.Limit, c.Measured, c.Text)
		}
		if res.Verdict != identify.Identified {
			continue
		}
		if same(res.Found[0], limit[0]) {
			return
		}
		if !stood {
			t.Fatalf("got %s, want %s", res.Found[0].Limit, limit)
		}
	}
	if always {
		t.Skipf("%s: the machine stood still each time, and the question stayed open", n.spec)
	}
	t.Errorf("%s was never named", n.spec)
}

// same tells whether the found limit is the wanted one, with a rate to 2 %.
func same(found identify.Candidate, want spec.Policy) bool {
	got := found.Limit[0]
	ratio := float64(got.Rate.N) / got.Rate.Per.Seconds() / float64(want.Rate.N) * want.Rate.Per.Seconds()
	return slices.Contains(found.Class, want.Algorithm) && got.Full() == want.Full() && ratio > 0.98 &&
		ratio < 1.02 && got.Count == want.Count && got.Align == want.Align && got.Refresh == want.Refresh
}

// ask does with a URL what rlcheck identify does.
func (n named) ask(t *testing.T) *identify.Result {
	ctx, cancel := context.WithTimeout(context.Background(), longestTrial)
	defer cancel()
	s := read(t, "burst", n.url, n.spec)
	s.Denied.Status = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
	opts, drift, stop, err := product.Sending(ctx, s, product.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	opts.Partition = load.Partition{}
	return identify.Identify(ctx, &identify.Endpoint{Load: opts, DriftPPM: drift}, identify.Options{
		Think: 10 * time.Second, Alike: true,
		Budget: identify.Budget{MaxRequests: 400, Every: 20 * time.Millisecond, MaxTime: 5 * time.Minute}})
}
