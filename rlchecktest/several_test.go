package rlchecktest

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// keeps returns what builds a handler that keeps a limit as its reference does.
func keeps(t *testing.T, limit spec.Limit) func() http.Handler {
	t.Helper()
	l, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	return func() http.Handler {
		var mu sync.Mutex
		states := map[string]reference.State{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			key := r.Header.Get("X-Api-Key")
			state, ok := states[key]
			if !ok {
				state = l.Init()
			}
			var d reference.Decision
			state, d = l.Step(state, time.Duration(time.Now().UnixNano()), 1)
			if states[key] = state; !d.Allow {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
	}
}

// wrongs returns limits that differ from several right ones in one thing each.
func wrongs(right spec.Limit) map[string]spec.Limit {
	out := map[string]spec.Limit{}
	for i, p := range right {
		with := func(what string, p spec.Policy) {
			l := slices.Clone(right)
			l[i] = p
			out[what+p.String()] = l
		}
		with("one more: ", p.WithFull(p.Full()+1))
		with("one less: ", p.WithFull(p.Full()-1))
		slow, fast := p, p
		slow.Rate.Per += p.Rate.Per / 4
		fast.Rate.Per -= p.Rate.Per / 4
		with("slower: ", slow)
		with("faster: ", fast)
		out["only "+p.String()] = spec.Limit{p}
	}
	return out
}

// TestSeveralLimits: the limit that denies first hides the others from a scenario, and the scenarios together
// tell a right handler from each wrong one. RLCHECK_SOAK takes all scenarios and pairs of limits.
func TestSeveralLimits(t *testing.T) {
	pairs := []string{
		"fixed-window,rate=10/1s,align=first + fixed-window,rate=60/1m,align=first",
		"sliding-window-log,rate=5/1s + fixed-window,rate=100/1h",
		"token-bucket,rate=10/1s,burst=20 + fixed-window,rate=100/1m",
		"sliding-window-counter,rate=20/1s + token-bucket,rate=10/1s,burst=30",
		"token-bucket,rate=10/1s,burst=20 + fixed-window,rate=1000/24h,align=first",
	}
	some := Only("race", "burst", "clock-skew", "quota-window", "retry-after", "several-limits", "sustained")
	switch {
	case os.Getenv("RLCHECK_SOAK") != "":
		some = Skip()
	case testing.Short():
		pairs = pairs[:1]
	default:
		pairs = pairs[:2]
	}
	for _, text := range pairs {
		right, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if x := worst(see(t, false, keeps(t, right), text, some)); x.verdict != passed {
			t.Errorf("%s: %s: %s", text, x.id, x.text)
		}
		for name, wrong := range wrongs(right) {
			x := worst(see(t, false, keeps(t, wrong), text, some))
			if x.verdict != failed || strings.Contains(x.text, "share one quota") {
				t.Errorf("%s, %s: %s: %v: %s", text, name, x.id, x.verdict, x.text)
			}
		}
	}
}

// TestOneScenarioOfSeveralLimits: alone, a scenario that does not reach a limit says which ones do.
func TestOneScenarioOfSeveralLimits(t *testing.T) {
	const text = "token-bucket,rate=10/1s,burst=20 + fixed-window,rate=100/1m,align=first"
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	x := worst(see(t, false, keeps(t, limit), text, Only("burst")))
	if x.verdict != open || !strings.Contains(x.text, "together with sustained") {
		t.Errorf("%v: %s", x.verdict, x.text)
	}
}

// TestScenariosThatContradictEachOther: each value of a range is right, and no limiter has two of them.
func TestScenariosThatContradictEachOther(t *testing.T) {
	parts := map[bool]func() http.Handler{}
	for first, text := range map[bool]string{true: "token-bucket,rate=10/s,burst=18",
		false: "token-bucket,rate=10/s,burst=22"} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		parts[first] = keeps(t, limit)
	}
	all := see(t, false, func() http.Handler {
		small, large := parts[true](), parts[false]()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("X-Api-Key"), "test-burst") {
				small.ServeHTTP(w, r)
				return
			}
			large.ServeHTTP(w, r)
		})
	}, "token-bucket,rate=10/s,burst=18..22", Only("burst", "concurrent-race"))
	if x := worst(all); x.id != "together" || x.verdict != failed ||
		!strings.Contains(x.text, "no burst explains both") {
		t.Errorf("%s: %v: %s", x.id, x.verdict, x.text)
	}
}
