package rlchecktest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// see tests a handler without failing the test. It returns what each scenario showed.
func see(t *testing.T, outside bool, build func() http.Handler, spec string, options ...Option) []shown {
	t.Helper()
	c := newConfig(t, spec, options)
	if !outside {
		return slices.Collect(c.inBubble(t, time.Time{}, build))
	}
	h := build()
	return slices.Collect(c.inBubble(t, time.Now(), func() http.Handler { return h }))
}

// worst returns the worst of what was shown.
func worst(all []shown) (out shown) {
	for _, x := range all {
		if x.verdict >= out.verdict {
			out = x
		}
	}
	return out
}

// few are scenarios that take little time together. RLCHECK_SOAK tries all.
func few() Option {
	if os.Getenv("RLCHECK_SOAK") != "" {
		return Skip()
	}
	return Only("burst", "quota-window", "boundary-*", "concurrent-race", "head-and-methods", "race")
}

// TestRightHandlersPass: hours pass, and 64 goroutines race, in no time.
func TestRightHandlersPass(t *testing.T) {
	for name, outside := range map[string]bool{"built before": true, "built in the bubble": false} {
		all := see(t, outside, func() http.Handler { return newWindow(100, time.Hour) },
			"fixed-window,rate=100/1h,align=first", few())
		if x := worst(all); x.verdict != passed {
			t.Errorf("%s: %s: %s", name, x.id, x.text)
		}
		if all[0].id != "race" || all[0].verdict != passed {
			t.Errorf("%s: got %v, want a race first", name, all[0])
		}
	}
}

// TestWrongHandlersFail: each fails at once, with the requests that prove it, and the rest is not run.
func TestWrongHandlersFail(t *testing.T) {
	for name, x := range map[string]struct {
		build func() http.Handler
		want  string
	}{
		"one too many": {func() http.Handler { return newWindow(101, time.Hour) },
			"101 requests allowed within"},
		"one too few":    {func() http.Handler { return newWindow(99, time.Hour) }, "denied at"},
		"too short":      {func() http.Handler { return newWindow(100, 50*time.Minute) }, "allowed"},
		"check-then-act": {newRacing, ""},
		"no limiter":     {http.NotFoundHandler, "unclassified-status"},
	} {
		if testing.Short() && name != "one too many" {
			continue
		}
		all := see(t, false, x.build, "fixed-window,rate=100/1h,align=first", few())
		if got := worst(all); got.verdict != failed && name != "no limiter" || got.verdict < open ||
			!strings.Contains(got.text, x.want) {
			t.Errorf("%s: %s: %v: %s", name, got.id, got.verdict, got.text)
		}
	}
}

// TestARaceIsFound: a limiter that looks before it counts fails in the race alone.
func TestARaceIsFound(t *testing.T) {
	for range 5 {
		all := see(t, false, newRacing,
			"fixed-window,rate=100/1h,align=first", Only("race"))
		if len(all) != 1 || all[0].verdict != failed {
			t.Error(all)
		}
	}
}

// TestWhatKeepsRealTimeIsNotAccused: a window that a goroutine ends never ends in a bubble that it is not
// in. Built in the bubble, it is right.
func TestWhatKeepsRealTimeIsNotAccused(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	build := func() http.Handler { return newSwept(20, time.Second, stop) }
	inside := func() http.Handler { return newSwept(20, time.Second, nil) }
	const spec = "fixed-window,rate=20/1s,align=shared"
	x := worst(see(t, true, build, spec, Only("quota-window")))
	if x.verdict != open || !strings.Contains(x.text, "newSwept") || !strings.Contains(x.text, "Make") {
		t.Errorf("built before: %v: %s", x.verdict, x.text)
	}
	if x := worst(see(t, false, inside, spec, Only("quota-window"))); x.verdict != passed {
		t.Errorf("built in the bubble: %v: %s", x.verdict, x.text)
	}
	over := func() http.Handler { return newSwept(50, time.Second, stop) }
	if x := worst(see(t, true, over, spec, Only("burst"))); x.verdict != failed {
		t.Errorf("what admits too much: %v: %s", x.verdict, x.text)
	}
}

// TestTheWireShowsTheSame: a URL is tested in real time, and fails for the same reason.
func TestTheWireShowsTheSame(t *testing.T) {
	server := httptest.NewServer(newWindow(21, time.Second))
	defer server.Close()
	c := newConfig(t, "fixed-window,rate=20/1s,align=first", []Option{Only("burst")})
	all := slices.Collect(c.overTheWire(t, server.URL))
	if len(all) != 1 || all[0].verdict != failed || !strings.Contains(all[0].text, "21 requests allowed") {
		t.Error(all)
	}
	right := httptest.NewServer(newWindow(20, time.Second))
	defer right.Close()
	URL(t, right.URL, "fixed-window,rate=20/1s,align=first", Only("burst"))
}

// holder is a network that keeps the handler that is to listen.
type holder struct{ h http.Handler }

func (k *holder) Listen(h http.Handler) (string, func() error, error) {
	k.h = h
	return anywhere, func() error { return nil }, nil
}

func (k *holder) Dial(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }

// notShown are faults that a handler can have and that Make does not show, with the reason.
var notShown = map[string]string{
	"client-id-trusted":     "it needs a limit for each address, and here all clients have one",
	"key-by-token":          "it needs several tokens of one owner, which only their issuer knows",
	"key-by-encoding":       "the path of the requests is /, which has no letters",
	"key-by-extension":      "the path of the requests is /, which has no name",
	"key-by-path-case":      "the path of the requests is /, which has no letters",
	"replays-free":          "products sell it as a feature, so it fails only where it is declared",
	"retry-after-skewed":    "the clients come back at the instant of their denial, which is no wait",
	"retry-after-too-short": "the clients come back at the instant of their denial, which is no wait",
	"retry-after-zero":      "the clients come back at the instant of their denial, which is no wait",
}

// TestEveryFaultOfAHandlerFails: each fault of the laboratory that a handler can have is caught by a
// scenario that Make runs, at the limit of that scenario. The right handler passes it. A short run tries
// one in five.
func TestEveryFaultOfAHandlerFails(t *testing.T) {
	all, err := lab.BundledScenarios()
	if err != nil {
		t.Fatal(err)
	}
	caught, of := 0, 0
	for i, f := range lab.Faults() {
		if testing.Short() && i%5 > 0 || f.Proxy {
			continue
		}
		claimed := slices.DeleteFunc(slices.Clone(all), func(s *scenario.Scenario) bool {
			return !slices.Contains(s.Catches, f.Name) || !new(config).runs(s)
		})
		if len(claimed) == 0 {
			continue // it shows at events, behind a proxy or at routes
		}
		slices.SortStableFunc(claimed, func(a, b *scenario.Scenario) int {
			return int(a.Summary().Duration - b.Summary().Duration)
		})
		of++
		t.Run(f.Name, func(t *testing.T) {
			x, why := faulty(t, claimed[0], f), notShown[f.Name]
			if shown := x.verdict == failed; shown != (why == "") {
				t.Errorf("%s: %v: %s (not shown: %q)", x.id, x.verdict, x.text, why)
			}
			if why == "" {
				caught++
			}
		})
	}
	t.Logf("%d of %d faults are caught", caught, of)
}

// faulty plays the scenario against a handler with a fault.
func faulty(t *testing.T, s *scenario.Scenario, f lab.Fault) shown {
	t.Helper()
	options := []Option{Only(s.ID), Strict()}
	for _, p := range []string{f.Promise, "cost", "methods"} {
		if p != "" {
			options = append(options, Promise(p))
		}
	}
	if key, value, ok := strings.Cut(f.Declared, "="); ok {
		options = append(options, Set(key, value))
	}
	wrong := *s
	wrong.Target.Fault = f.Name
	return worst(see(t, false, func() http.Handler {
		at := &holder{}
		if _, err := lab.Embed(&wrong, 1, "", at); err != nil {
			panic(err)
		}
		return at.h
	}, s.Limit.String(), options...))
}
