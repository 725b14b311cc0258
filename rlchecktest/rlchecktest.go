package rlchecktest

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/scenarios"
)

// Handler tests that h keeps the limit of a SPEC ([rlcheck.ParseLimit]), in virtual time. h starts no
// goroutines; if it does, use [Make]. Under any:RATE, h keeps it as at least one kind of limit.
//
// It runs the scenarios that need nothing but a handler, and a race of 64 goroutines, each as a subtest.
// The test fails if a required scenario fails or cannot tell, if more was admitted than the limit can
// admit, or if nothing was judged. It ends at the first scenario that fails it. With -short it leaves out
// large loads.
func Handler(t *testing.T, h http.Handler, spec string, options ...Option) {
	t.Helper()
	c := newConfig(t, spec, options)
	c.tell(t, c.chosen(t, func(c *config) []shown {
		return c.inBubble(t, true, func() http.Handler { return h })
	}))
}

// Make is [Handler] for a handler that starts goroutines or timers: build is called in the bubble, once for
// each scenario and once before. What it started may go on when the scenario is over.
func Make(t *testing.T, build func() http.Handler, spec string, options ...Option) {
	t.Helper()
	c := newConfig(t, spec, options)
	c.tell(t, c.chosen(t, func(c *config) []shown { return c.inBubble(t, false, build) }))
}

// URL tests that the endpoint keeps the limit of a SPEC, over the wire and in real time. All scenarios
// together take about a minute at limits of a second, and are fewer at limits of an hour. It sends to
// loopback and private addresses freely, and to other hosts with [Allow].
func URL(t *testing.T, endpoint, spec string, options ...Option) {
	t.Helper()
	c := newConfig(t, spec, options)
	c.tell(t, c.chosen(t, func(c *config) []shown { return c.overTheWire(t, endpoint) }))
}

// shortly is how long a scenario may last in real time, unless Set("safety.max_duration", ...) says
// otherwise.
const shortly = "1m"

// atOnce is how long an event may take that the test itself does.
const atOnce = 50 * time.Millisecond

// overTheWire runs the scenarios against an endpoint, until one fails the test.
func (c *config) overTheWire(t *testing.T, endpoint string) (out []shown) {
	t.Helper()
	all, err := c.scenarios(endpoint, shortly)
	if err != nil {
		t.Fatal(err)
	}
	run := "test-" + time.Now().UTC().Format("150405.000000000") // its clients are new to the endpoint
	for _, s := range all {
		if over(out) {
			break
		}
		one := result.Scenario{ID: s.ID, Reason: result.NeedsFailed, Detail: s.Unmet()}
		if s.Unmet() == "" {
			one = trial.Scenario(t.Context(), s, trial.Options{ID: run + "-" + s.ID, Seed: 1,
				Version: "test", Allow: c.allow, Events: c.events})
		}
		x := c.weigh(&one, "")
		if word, _, _ := strings.Cut(x.text, "  "); x.verdict != skipped {
			t.Logf("%s: %s", s.ID, word)
		}
		out = append(out, x)
	}
	return c.together(out)
}

// over tells whether the latest scenario fails the test, which ends it.
func over(all []shown) bool { return len(all) > 0 && all[len(all)-1].verdict == failed }

// together lets scenarios pass that lack a measurement which the others have, as the command does. One of
// several limits denies requests before they reach another, so few scenarios alone measure all limits. Two
// that no value of a declared range explains fail.
func (c *config) together(all []shown) []shown {
	var run result.Run
	for _, x := range all {
		if x.of != nil {
			run.Scenarios = append(run.Scenarios, *x.of)
		}
	}
	run.Policy, run.Scenarios = trial.Together(run.Scenarios)
	of := run.Scenarios
	for i := range all {
		if all[i].of == nil {
			continue
		}
		if trial.Unresolved(all[i].of) {
			all[i] = c.weigh(&of[0], "")
		}
		of = of[1:]
	}
	if run.Contradicted(c.strict) {
		text := "FAIL  " + run.Policy.Contradiction.Text
		all = append(all, shown{id: "together", verdict: failed, text: text})
	}
	return all
}

// shown is what one scenario, or the race, showed.
type shown struct {
	id      string
	verdict verdict
	text    string
	of      *result.Scenario // nil: it is no scenario, or was not run
}

// verdict is what a scenario means for the test.
type verdict int

const (
	skipped verdict = iota // nothing was judged
	noted                  // it is only logged
	passed
	open // it cannot tell
	failed
)

// chosen returns what play shows of the limit, or of the first of its kinds under which the test passes. If
// each kind fails, no kind explains the handler.
func (c *config) chosen(t *testing.T, play func(*config) []shown) []shown {
	t.Helper()
	if len(c.kinds) == 0 {
		return play(c)
	}
	var left []shown
	proof := "FAIL  no kind of limit explains all of this:"
	for _, kind := range c.kinds {
		one := *c
		one.limit = kind
		all := play(&one)
		x := worst(all)
		if x.verdict < open {
			t.Logf("%s: %s explains what the scenarios show", c.limit, kind)
			return all
		}
		if x.verdict == open && left == nil {
			left = all
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(x.text, "FAIL  "), "\n")
		proof += fmt.Sprintf("\n  as %s: %s: %s", kind, x.id, first)
	}
	if left == nil {
		left = []shown{{id: "any", verdict: failed, text: proof}}
	}
	return left
}

// worst returns the worst of what was shown, the last of several.
func worst(all []shown) (out shown) {
	for _, x := range all {
		if x.verdict >= out.verdict {
			out = x
		}
	}
	return out
}

// weigh says what the result of a scenario means. doubt says why a failure may be no fault of the handler.
func (c *config) weigh(out *result.Scenario, doubt string) shown {
	var lines []string
	for _, f := range result.FirstFailures(out.Failures()) {
		lines = append(lines, f.Lines()...)
	}
	proof := strings.Join(lines, "\n  ")
	why := text.Clean(fmt.Sprintf("INCONCLUSIVE  %s: %s%s", out.Reason, out.Detail, mends[out.Reason]))
	x := shown{id: out.ID, verdict: noted, of: out}
	switch counts := out.Weighs(c.strict); {
	case out.Verdict == result.Pass:
		x.verdict, x.text = passed, "PASS  "+strings.Join(append(out.Worth(), bases(out)...), ", ")
	case out.Reason == result.NeedsFailed:
		x.verdict, x.text = skipped, text.Clean(out.Detail)
	case out.Verdict != result.Fail && counts:
		x.verdict, x.text = open, why
	case out.Verdict != result.Fail:
		x.text = why
	case doubt != "" && counts:
		x.verdict, x.text = open, "INCONCLUSIVE  "+doubt+"\n  without that it would be a FAIL: "+proof
	case counts:
		x.verdict, x.text = failed, "FAIL  "+proof
	case out.Kind == result.Recommended:
		x.text = "FAIL  (recommended, with Strict it fails the test)  " + proof
	default:
		x.text = "FAIL  (informative)  " + proof
	}
	x.text = inTest(x.text)
	return x
}

// mends are the options that help against a reason.
var mends = map[result.Reason]string{
	result.UnclassifiedStatus: `; here: Set("denied.status", "[403]") or Set("allowed.status", "[404]")`,
	result.Unreachable:        `; a slow handler needs Set("target.timeout", "30s")`,
}

// bases says what the claims of a Pass rest on, each once.
func bases(out *result.Scenario) (all []string) {
	for i := range out.Claims {
		if b := out.Claims[i].Basis(); b != "" && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	return all
}

// tell makes subtests of what is shown, until one fails.
func (c *config) tell(t *testing.T, all []shown) {
	t.Helper()
	judged := 0
	for _, x := range all {
		if x.verdict != skipped {
			judged++
		}
		t.Run(x.id, func(t *testing.T) {
			t.Helper()
			switch x.verdict {
			case skipped:
				t.Skip(x.text)
			case noted, passed:
				t.Log(x.text)
			default:
				t.Error(x.text)
			}
		})
		if x.verdict == failed {
			t.Log("the other scenarios were not run")
			return
		}
	}
	if judged == 0 && !t.Failed() {
		t.Errorf("rlchecktest: no scenario was judged: none that was chosen suits a limit of %s", c.limit)
	}
}

// scenarios returns the bundled scenarios that the options choose, at the limit and a URL. patience is how
// long one may last; empty: as long as it is planned to.
func (c *config) scenarios(endpoint, patience string) (out []*scenario.Scenario, err error) {
	if _, err := url.Parse(endpoint); err != nil {
		return nil, fmt.Errorf("rlchecktest: %w", err)
	}
	set := c.set
	if patience != "" {
		set = append([]scenario.Setting{{Path: "safety.max_duration", Value: patience}}, set...)
	}
	all, err := bundled()
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if !c.runs(b.plain) || strings.Contains(b.name, "/") && !slices.Contains(c.only, b.plain.ID) {
			continue
		}
		set := set
		if c.origin != nil && slices.Contains(b.plain.Tags, "proxy") {
			set = append(set, scenario.Setting{Path: "target.origin", Value: c.where(beyond)})
		}
		s, err := scenario.Parse(b.src, b.name, scenario.ParseOptions{Env: nothing, Limit: c.limit.String(),
			Target: endpoint, Partition: c.partition, Set: set, Promises: c.promises, Keys: c.keys})
		if err != nil {
			return nil, fmt.Errorf("rlchecktest: %w", err)
		}
		for i := range s.Phases {
			if e := &s.Phases[i].Event; c.events[e.Action] != nil {
				e.Command, e.Timeout = "(given to rlchecktest)", atOnce
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// bundle is a bundled scenario: its file, and what it says without options.
type bundle struct {
	name  string
	src   []byte
	plain *scenario.Scenario
}

// nothing is an empty environment.
func nothing(string) (string, bool) { return "", false }

// bundled returns the bundled scenarios. They are read once.
var bundled = sync.OnceValues(func() (all []bundle, err error) {
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	if err != nil {
		return nil, err
	}
	more, _ := fs.Glob(scenarios.FS, "more/*.yaml") // the pattern is good
	for _, name := range append(names, more...) {
		src, err := fs.ReadFile(scenarios.FS, name)
		if err != nil {
			return nil, err
		}
		plain, err := scenario.Parse(src, name, scenario.ParseOptions{Env: nothing})
		if err != nil {
			return nil, err
		}
		all = append(all, bundle{name, src, plain})
	}
	return all, nil
})
