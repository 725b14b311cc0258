package scenario_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/scenarios"
)

func TestUnmetTellsAProxyWithoutItsOrigin(t *testing.T) {
	for _, row := range []struct {
		url, origin string
		unmet       bool
	}{{"builtin", "builtin", false}, {"http://p/", "builtin", true}, {"http://p/", "http://o/", false},
		{"builtin", "http://o/", true}} {
		s := read(t, "proxy-header-stripping.yaml", scenario.ParseOptions{Target: row.url,
			Set: []scenario.Setting{{Path: "target.origin", Value: row.origin}}})
		if (s.Unmet() != "") != row.unmet {
			t.Errorf("url %q, origin %q: got %q, want unmet=%v", s.Target.URL, s.Target.Origin, s.Unmet(),
				row.unmet)
		}
	}
}

// TestHooksThatDoTheSameShareACommand: a hook without a command has that of the hook before it with its
// action and its limit, and the time for it.
func TestHooksThatDoTheSameShareACommand(t *testing.T) {
	s := read(t, "hot-reload.yaml", scenario.ParseOptions{Set: []scenario.Setting{
		{Path: "phases.reload-same.command", Value: "reload"},
		{Path: "phases.reload-same.timeout", Value: "3s"},
		{Path: "phases.reload-other.command", Value: "reload 3"}}})
	got := map[string]string{}
	for _, p := range s.Phases {
		if p.Shape == timeline.Hook {
			got[p.Name] = fmt.Sprint(p.Event.Command, ", ", p.Event.Timeout)
		}
	}
	want := map[string]string{"reload-same": "reload, 3s", "reload-again": "reload, 3s",
		"reload-other": "reload 3, 30s", "reload-tighter": ", 30s"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestExamplesAreOfTheEmbeddedTarget: another target is not accused of lacking what the embedded one has.
func TestExamplesAreOfTheEmbeddedTarget(t *testing.T) {
	names, err := fs.Glob(scenarios.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		s := read(t, name, scenario.ParseOptions{})
		if why := s.Unmet(); why != "" {
			t.Errorf("%s: the embedded target needs nothing, got %s", name, why)
		}
		s.Target.URL, s.Target.Origin = "http://127.0.0.1/", ""
		own := slices.ContainsFunc(s.Phases, func(p scenario.Phase) bool {
			return (p.OwnLimit || p.Mint == scenario.MintTokens) && p.Shape != timeline.Hook
		})
		has := func(is func(p scenario.Phase) bool) bool { return slices.ContainsFunc(s.Phases, is) }
		if has(func(p scenario.Phase) bool { return p.Mint == scenario.MintTokens }) {
			s.Keys = []string{"of one", "owner"}
		}
		hooks := has(func(p scenario.Phase) bool { return p.Shape == timeline.Hook })
		if why := s.Unmet(); (own || hooks) != (why != "") || own && !hooks &&
			!strings.Contains(why, "example=false") {
			t.Errorf("%s, with limits of its own: %v, hooks: %v, on another target: got %q", name, own, hooks,
				why)
		}
		if s.Example = false; !hooks && s.Unmet() != "" {
			t.Errorf("%s, on a target that has its limits: got %q", name, s.Unmet())
		}
	}
}
