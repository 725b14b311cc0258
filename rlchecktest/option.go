package rlchecktest

import (
	"net/http"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// Option changes what is tested, or how.
type Option func(*config)

type config struct {
	// limit is what scenarios run with. kinds are those of which one must explain the handler.
	limit rlcheck.Limit
	kinds []rlcheck.Limit
	// run is how the names of its clients begin.
	run        string
	partition  string
	only, skip []string
	set        []scenario.Setting
	allow      []string
	promises   []result.Promise
	path       string
	keys       []string
	target     scenario.Target // of the race
	denial     denial
	events     map[timeline.Action]func(timeline.Event) (int64, error)
	origin     http.Handler
	strict     bool
	short      bool
	// network returns a network in the process.
	network func() trial.Network
	// before tells that the handler was built before the bubble.
	before bool
	// real waits in real time, also in a bubble.
	real func(time.Duration)
}

// newConfig reads the arguments of a test, and ends the test if they are wrong.
func newConfig(t *testing.T, limit string, options []Option) *config {
	t.Helper()
	c := &config{run: "test", short: testing.Short(),
		network: func() trial.Network { return new(transport.Pipes) }}
	for _, o := range options {
		o(c)
	}
	var err error
	if c.limit, err = rlcheck.ParseLimit(limit); err != nil {
		t.Fatal(err)
	}
	if c.target, c.denial, err = c.read(); err != nil {
		t.Fatal(err)
	}
	any, _, _ := spec.Any(limit) // it was parsed before
	for _, kind := range any {
		one, err := rlcheck.ParseLimit(kind.String())
		if err != nil {
			t.Fatal(err)
		}
		c.kinds = append(c.kinds, one)
	}
	if c.strict {
		c.promises = append(c.promises, result.RecommendedPromises()...)
	}
	for action := range c.events {
		if !slices.Contains(timeline.Actions(), action) {
			t.Fatalf("rlchecktest: event %q: the events are %v", action, timeline.Actions())
		}
	}
	for _, p := range c.promises {
		if !slices.Contains(result.Promises(), p) {
			t.Fatalf("rlchecktest: promise %q: the promises are %v", p, result.Promises())
		}
	}
	return c
}

// without are the tags of the scenarios that need more than a handler and a limit.
func (c *config) without() []string {
	out := []string{"rules"}
	if c.origin == nil {
		out = append(out, "proxy")
	}
	if c.events == nil {
		out = append(out, "events")
	}
	if c.short {
		out = append(out, "load")
	}
	return out
}

// Key names the request header by which the limiter tells clients apart. Without it, it is X-Api-Key.
func Key(header string) Option { return Partition("header:" + header) }

// Partition says by what the limiter tells clients apart: header:NAME, query:NAME, cookie:NAME, body:NAME,
// path, address (that of the connection), or none if all clients share one quota.
func Partition(by string) Option { return func(c *config) { c.partition = by } }

// Path is the path of the requests to a handler. Without it they ask /api/items, or / if the handler admits
// nobody there.
func Path(path string) Option { return func(c *config) { c.path = path } }

// Keys are the keys of clients if the limiter knows no others. There is no race then. The scenario
// minted-tokens takes them as those of one owner, if Only names it and Set("example", "false") is given.
func Keys(keys ...string) Option { return func(c *config) { c.keys = append(c.keys, keys...) } }

// On says how the test does to the limiter what scenarios need between their requests, and runs these: an
// event is restart, reload (spec is the new limit, or empty: it stays), store-down or store-up.
func On(event string, do func(spec string) error) Option {
	return on(event, func(e timeline.Event) (int64, error) { return 0, do(e.Limit) })
}

// Denials says how many requests the limiter has denied by its own count, and runs the scenario that compares
// it with the answers.
func Denials(count func() int64) Option {
	return on(string(timeline.Count), func(timeline.Event) (int64, error) { return count(), nil })
}

func on(event string, do func(timeline.Event) (int64, error)) Option {
	return func(c *config) {
		if c.events == nil {
			c.events = map[timeline.Action]func(timeline.Event) (int64, error){}
		}
		c.events[timeline.Action(event)] = do
	}
}

// Origin is the server behind a handler that is a proxy, and runs the scenarios that compare them.
func Origin(h http.Handler) Option { return func(c *config) { c.origin = h } }

// Only runs the scenarios with these ids, patterns of ids (retry-*) or tags. `rlcheck list` shows them. Those
// that need more than a handler say what they need; those of routes need Set("example", "false"), and the
// routes if they are not those of the scenario.
func Only(scenarios ...string) Option {
	return func(c *config) { c.only = append(c.only, scenarios...) }
}

// Skip leaves out scenarios by their ids, patterns of ids or tags.
func Skip(scenarios ...string) Option {
	return func(c *config) { c.skip = append(c.skip, scenarios...) }
}

// Set overrides a value of every scenario, as --set of the command: Set("target.method", "POST"),
// Set("denied.status", "[403]"). docs/scenarios.md has the keys.
func Set(key, value string) Option {
	return func(c *config) { c.set = append(c.set, scenario.Setting{Path: key, Value: value}) }
}

// Promise says what the limiter promises, so that a lack of it is a fault: retry-after, ratelimit (fields
// that state the quota), problem (application/problem+json), cost (X-Cost is how many units a request
// takes) or methods (the route answers every method).
func Promise(words ...string) Option {
	return func(c *config) {
		for _, w := range words {
			c.promises = append(c.promises, result.Promise(w))
		}
	}
}

// Strict lets the recommended scenarios fail the test too, and takes retry-after, ratelimit and problem as
// promised. Without it a recommended scenario fails the test only if more was admitted than the limit can
// admit, and is logged otherwise.
func Strict() Option { return func(c *config) { c.strict = true } }

// Allow lets [URL] send to a host with a public address.
func Allow(host string) Option { return func(c *config) { c.allow = append(c.allow, host) } }

// runs tells whether the options select a scenario.
func (c *config) runs(s *scenario.Scenario) bool {
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			ok, _ := path.Match(w, s.ID) // a bad pattern matches nothing, which is reported
			return ok || slices.Contains(s.Tags, w)
		})
	}
	if len(c.only) > 0 {
		return has(c.only) && !has(c.skip)
	}
	return !has(c.without()) && !has(c.skip)
}
