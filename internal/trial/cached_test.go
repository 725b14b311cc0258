package trial

import (
	"context"
	"net/http"
	"net/url"
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

// behindCache runs a scenario at a right target behind a cache that keeps admissions for a second.
func behindCache(t *testing.T, id string, header map[string]string) (out result.Scenario,
	kept *timeline.Timeline) {
	t.Helper()
	const limit = "token-bucket,rate=100/s,burst=20"
	synctest.Test(t, func(t *testing.T) {
		n := new(lab.PipeNetwork)
		l, err := spec.Parse(limit)
		if err != nil {
			t.Fatal(err)
		}
		h, err := lab.New(lab.Options{Limit: l})
		if err != nil {
			t.Fatal(err)
		}
		origin, stop, err := n.Listen(h)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		up, _ := url.Parse(origin)
		transportOf := &http.Transport{DialContext: n.Dial}
		defer transportOf.CloseIdleConnections()
		proxy, err := lab.NewProxy("", lab.ProxyOptions{Upstream: up, Cache: time.Second,
			Transport: transportOf})
		if err != nil {
			t.Fatal(err)
		}
		front, stopFront, err := n.Listen(proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer stopFront()
		s := bundled(t, scenario.ParseOptions{Target: front, Limit: limit}, id)[0]
		s.Target.Header = header
		out = Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Embed: embedded, Network: n,
			Pacer:    transport.SleepingPacer(),
			Recorded: func(tl *timeline.Timeline) { kept = tl }})
	})
	return out, kept
}

// TestRightTargetsBehindACacheAreNotAccused: what a cache answers is no decision of the limiter behind it.
// It is said first, and the rest is judged; who asks past the cache is answered by the limiter.
func TestRightTargetsBehindACacheAreNotAccused(t *testing.T) {
	named := 0
	for _, id := range []string{"burst", "overload-10x", "concurrent-race", "header-contract",
		"denial-response", "tiers"} {
		out, kept := behindCache(t, id, nil)
		if out.Verdict == result.Fail {
			t.Errorf("%s: FAIL: %s", id, explain(out))
		}
		if out.FromCache() {
			named++
		}
		cause := strings.Contains(out.Detail, "came from a cache") || out.Reason == result.NeedsFailed
		if out.Verdict == result.Inconclusive && !cause {
			t.Errorf("%s: got %s: %s, want that the cache is named", id, out.Verdict, out.Detail)
		}
		for i := 0; kept != nil && i < len(kept.Observations); i++ {
			o := &kept.Observations[i]
			if _, aged := o.Fields.Get("Age"); aged && o.Outcome != timeline.Unknown {
				t.Fatalf("%s: #%d is kept as %s", id, i, o.Outcome)
			}
		}
	}
	if named < 3 {
		t.Errorf("%d scenarios met the cache, want at least 3", named)
	}
	if out, _ := behindCache(t, "burst",
		map[string]string{"Cache-Control": "no-cache"}); out.Verdict != result.Pass {
		t.Errorf("past the cache: got %s: %s, want pass", out.Verdict, explain(out))
	}
}

// TestNothingPassesWhereACacheHidesAllDenials: the cache is named, where a run has no denial.
func TestNothingPassesWhereACacheHidesAllDenials(t *testing.T) {
	cached := timeline.Header{Notes: []string{result.FromCaches + ": 29 of 45 (#1 has Age: \"1\")"}}
	for _, x := range []struct {
		header timeline.Header
		denied int
		want   result.Verdict
	}{{cached, 0, result.Inconclusive}, {cached, 1, result.Pass}, {timeline.Header{}, 0, result.Pass}} {
		out := result.Scenario{Verdict: result.Pass, Header: x.header}
		out.Counts.Denied = x.denied
		if blameCache(&out); out.Verdict != x.want {
			t.Errorf("%d denied, notes %q: got %s, want %s", x.denied, x.header.Notes, out.Verdict, x.want)
		}
		if named := strings.Contains(out.Detail, "29 of 45"); named != (x.want == result.Inconclusive) {
			t.Errorf("%d denied: got detail %q", x.denied, out.Detail)
		}
	}
}
