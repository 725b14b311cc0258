package rlchecktest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// see tests a handler without failing the test. It returns what each scenario showed.
func see(t *testing.T, outside bool, build func() http.Handler, spec string, options ...Option) []shown {
	t.Helper()
	c := newConfig(t, spec, options)
	if outside {
		h := build()
		build = func() http.Handler { return h }
	}
	return c.inBubble(t, outside, build)
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

// TestAllScenariosPassARightHandler is the first test of a stranger: no scenario was chosen, and none may be
// INCONCLUSIVE. RLCHECK_SOAK tries more limits.
func TestAllScenariosPassARightHandler(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	limits := []string{"fixed-window,rate=100/1h,align=first", "token-bucket,rate=10/s,burst=20",
		"sliding-window-log,rate=100/1h", "fixed-window,rate=1000/1h,align=first",
		"sliding-window-counter,rate=60/1m", "token-bucket,rate=100/1h,burst=10", "gcra,rate=5/s,burst=1",
		"fixed-window,rate=5/1m,align=first", "sliding-window-log,rate=5/15m", "fixed-window,rate=20/24h",
		"token-bucket,rate=1000/1h,burst=100", "token-bucket,rate=1/1m,burst=5"}
	if os.Getenv("RLCHECK_SOAK") == "" {
		limits = limits[:1]
	}
	for _, text := range limits {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		right := func() http.Handler {
			h, err := lab.New(lab.Options{Limit: limit, PartitionHeader: "X-Api-Key", Seed: 1})
			if err != nil {
				t.Error(err)
			}
			return h
		}
		for _, x := range see(t, false, right, text, Key("X-Api-Key")) {
			if x.verdict >= open {
				t.Errorf("%s: %s: %s", text, x.id, x.text)
			}
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

// TestAWrongKeyIsNoWrongQuota: a handler that tells clients apart by something else denies the next client.
// One of another quota does not.
func TestAWrongKeyIsNoWrongQuota(t *testing.T) {
	const spec = "fixed-window,rate=20/1h,align=first"
	const alike = "does not tell clients apart by header X-Tenant"
	for _, outside := range []bool{true, false} {
		x := worst(see(t, outside, func() http.Handler { return newWindow(20, time.Hour) }, spec,
			Key("X-Tenant"), Only("race")))
		if x.verdict != failed || !strings.Contains(x.text, alike) || strings.Contains(x.text, "perhaps") ||
			!strings.Contains(x.text, "denied at") {
			t.Errorf("built before: %v: %v: %s", outside, x.verdict, x.text)
		}
		x = worst(see(t, outside, func() http.Handler { return newWindow(19, time.Hour) }, spec,
			Only("race")))
		if x.verdict != failed || strings.Contains(x.text, "tell clients apart") {
			t.Errorf("built before: %v: %v: %s", outside, x.verdict, x.text)
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
	if testing.Short() {
		t.Skip("some seconds")
	}
	server := httptest.NewServer(newWindow(21, time.Second))
	defer server.Close()
	c := newConfig(t, "fixed-window,rate=20/1s,align=first", []Option{Only("burst")})
	all := c.overTheWire(t, server.URL)
	if len(all) != 1 || all[0].verdict != failed || !strings.Contains(all[0].text, "21 requests allowed") {
		t.Error(all)
	}
	right := httptest.NewServer(newWindow(20, time.Second))
	defer right.Close()
	URL(t, right.URL, "fixed-window,rate=20/1s,align=first", Only("burst"))
}

// TestAnyKindOfLimitWillDo: a handler keeps a number if one kind of limit explains what it does. One that
// admits too much has no such kind, and the proof has all of them.
func TestAnyKindOfLimitWillDo(t *testing.T) {
	const spec = "any:rate=20/1s"
	run := func(quota int, play func(c *config, h http.Handler) []shown) shown {
		c := newConfig(t, spec, []Option{Only("burst", "quota-window")})
		h := newWindow(quota, time.Second)
		return worst(c.chosen(t, func(c *config) []shown { return play(c, h) }))
	}
	for name, play := range map[string]func(*config, http.Handler) []shown{
		"built before": func(c *config, h http.Handler) []shown {
			return c.inBubble(t, true, func() http.Handler { return h })
		},
		"built in the bubble": func(c *config, _ http.Handler) []shown {
			return c.inBubble(t, false, func() http.Handler { return newWindow(20, time.Second) })
		},
		"over the wire": func(c *config, h http.Handler) []shown {
			server := httptest.NewServer(h)
			defer server.Close()
			return c.overTheWire(t, server.URL)
		},
	} {
		if name == "over the wire" && testing.Short() {
			continue
		}
		if x := run(20, play); x.verdict != passed {
			t.Errorf("%s: %v: %s", name, x.verdict, x.text)
		}
	}
	x := run(30, func(c *config, h http.Handler) []shown {
		return c.inBubble(t, true, func() http.Handler { return h })
	})
	if x.verdict != failed || strings.Count(x.text, "\n  as ") < 10 ||
		!strings.Contains(x.text, "requests allowed within") {
		t.Errorf("%v: %s", x.verdict, x.text)
	}
}

// TestAHandlerMayBeTestedTwice: its clients are new each time, and its clock does not go back.
func TestAHandlerMayBeTestedTwice(t *testing.T) {
	day, all := newWindow(20, 24*time.Hour), newWindow(20, time.Second)
	for range 2 {
		Handler(t, day, "fixed-window,rate=20/24h,align=first", Only("burst", "race"))
		Handler(t, all, "fixed-window,rate=20/1s,align=first", Only("burst"), Partition("none"))
	}
}

// holder is a network that keeps the handlers that are to listen. The last is the proxy, if there is one.
type holder struct {
	lab.PipeNetwork
	all []http.Handler
}

func (k *holder) Listen(h http.Handler) (string, func() error, error) {
	k.all = append(k.all, h)
	return k.PipeNetwork.Listen(h)
}

// TestEveryFaultOfAHandlerFails: each fault of the laboratory is caught in a handler by a scenario that
// claims it, at the limit of that scenario. A short run tries one in twenty.
func TestEveryFaultOfAHandlerFails(t *testing.T) {
	all, err := lab.AllScenarios(nil)
	if err != nil {
		t.Fatal(err)
	}
	caught, of := 0, 0
	for i, f := range lab.Faults() {
		if testing.Short() && i%20 > 0 {
			continue
		}
		claimed := slices.DeleteFunc(slices.Clone(all), func(s *scenario.Scenario) bool {
			return !slices.Contains(s.Catches, f.Name)
		})
		slices.SortStableFunc(claimed, func(a, b *scenario.Scenario) int {
			return int(a.Summary().Duration - b.Summary().Duration)
		})
		of++
		t.Run(f.Name, func(t *testing.T) {
			if x := faulty(t, claimed[0], f); x.verdict != failed {
				t.Errorf("%s: %v: %s", x.id, x.verdict, x.text)
				return
			}
			caught++
		})
	}
	t.Logf("%d of %d faults are caught", caught, of)
}

// faulty plays the scenario against a handler with a fault.
func faulty(t *testing.T, s *scenario.Scenario, f lab.Fault) shown {
	t.Helper()
	wrong := *s
	wrong.Target.Fault = f.Name
	var at *holder
	var target *lab.Embedded
	options := []Option{Only(s.ID), Strict(), Set("example", "false"),
		Denials(func() int64 { return target.Denials() }),
		func(c *config) { c.network = func() trial.Network { return new(lab.PipeNetwork) } }}
	for _, p := range []string{f.Promise, "cost", "methods"} {
		if p != "" {
			options = append(options, Promise(p))
		}
	}
	if key, value, ok := strings.Cut(f.Declared, "="); ok {
		options = append(options, Set(key, value))
	}
	if s.Kind == scenario.Informative {
		options = append(options, Set("kind", "required"))
	}
	if s.Partition.Kind == scenario.ByAddress {
		options = append(options, Partition("address"))
	}
	if slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool { return p.Mint == scenario.MintTokens }) {
		for i := range 100 {
			options = append(options, Keys(fmt.Sprintf("owner.%d", i)))
		}
	}
	for _, action := range timeline.Actions() {
		if action != timeline.Count {
			options = append(options, On(string(action), func(spec string) error {
				return target.Do(timeline.Event{Action: action, Limit: spec})
			}))
		}
	}
	if slices.Contains(s.Tags, "proxy") {
		options = append(options, Origin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at.all[0].ServeHTTP(w, r)
		})))
	}
	return worst(see(t, false, func() (_ http.Handler) {
		at = &holder{}
		var err error
		if target, err = lab.Embed(&wrong, 1, "", at); err != nil {
			panic(err)
		}
		return at.all[len(at.all)-1]
	}, s.Limit.String(), options...))
}

// TestADenialIsWhatTheOptionsSay: the race reads denials as the scenarios do, and accuses nobody for what a
// cache answered.
func TestADenialIsWhatTheOptionsSay(t *testing.T) {
	const spec = "fixed-window,rate=20/1s,align=first"
	with := func(deny func(w http.ResponseWriter)) func() http.Handler {
		return func() http.Handler {
			inner := newWindow(20, time.Second)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := httptest.NewRecorder()
				if inner.ServeHTTP(answer, r); answer.Code == http.StatusTooManyRequests {
					deny(w)
				}
			})
		}
	}
	forbidden := with(func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
	named := with(func(w http.ResponseWriter) { w.Header().Set("X-Denied", "yes") })
	cached := with(func(w http.ResponseWriter) { w.Header().Set("X-Cache", "HIT") })
	for name, x := range map[string]struct {
		build   func() http.Handler
		options []Option
		want    verdict
	}{
		"403":           {forbidden, []Option{Only("race", "burst"), Set("denied.status", "[403]")}, passed},
		"403, not told": {forbidden, []Option{Only("burst")}, open},
		"a field": {named, []Option{Only("race", "burst"), Set("denied.header", "X-Denied: yes")},
			passed},
		"a cache": {cached, []Option{Only("race")}, open},
	} {
		if got := worst(see(t, false, x.build, spec, x.options...)); got.verdict != x.want {
			t.Errorf("%s: %s: %v: %s", name, got.id, got.verdict, got.text)
		}
	}
}

// TestTheRaceSendsWhatTheOptionsSay: fields, the method and the body are those of the scenarios, and a panic
// of the handler fails the race alone, with its stack.
func TestTheRaceSendsWhatTheOptionsSay(t *testing.T) {
	inner := newWindow(20, time.Second)
	strict := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Header.Get("X-Tenant") != "a" || string(body) != "hello" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	const spec = "fixed-window,rate=20/1s,align=first"
	if x := worst(see(t, false, func() http.Handler { return strict }, spec, Only("race", "burst"),
		Set("target.method", "POST"), Set("target.header.X-Tenant", "a"), Set("target.body", "hello"),
	)); x.verdict != passed {
		t.Errorf("%s: %v: %s", x.id, x.verdict, x.text)
	}
	x := worst(see(t, false, func() http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no store") })
	}, spec, Only("race")))
	if x.verdict != failed || !strings.Contains(x.text, "panics: no store") ||
		!strings.Contains(x.text, "rlchecktest_test.go:") {
		t.Errorf("%v: %s", x.verdict, x.text)
	}
}
