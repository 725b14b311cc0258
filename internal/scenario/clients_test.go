package scenario_test

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestIssuedKeys: each client has a key of its own, and scenarios take turns in using the keys. Keys are
// secrets, and not new to the target. A scenario with more clients than keys is not judged.
func TestIssuedKeys(t *testing.T) {
	keys := []string{"alpha", "bravo", "charlie"}
	parse := func(count string) *scenario.Scenario {
		return read(t, "burst.yaml", scenario.ParseOptions{Keys: keys,
			Set: []scenario.Setting{{Path: "partition.count", Value: count}}})
	}
	s := parse("2")
	s.SkipKeys = 2
	plan, err := s.Plan("run", 1)
	if err != nil {
		t.Fatal(err)
	}
	issued := s.Issued(plan)
	var got []string
	for _, name := range scenario.Clients(plan) {
		got = append(got, issued[name])
	}
	if !slices.Equal(got, []string{"charlie", "alpha"}) || s.Unmet() != "" {
		t.Errorf("got keys %q, unmet %q, want the third and the first", got, s.Unmet())
	}
	if s.Partition.Fresh || !slices.Contains(s.Secrets, "bravo") {
		t.Errorf("got fresh %t, secrets %q, want keys that are secret and not new",
			s.Partition.Fresh, s.Secrets)
	}
	if got, want := parse("4").Unmet(), "it has 4 clients, but 3 keys were issued (--api-keys)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestIssuedKeysAreForgottenFirst: a scenario with issued keys begins with a silence, if a short one is
// enough.
func TestIssuedKeysAreForgottenFirst(t *testing.T) {
	for limit, want := range map[string]timeline.Shape{
		"token-bucket,rate=10/s,burst=20": timeline.Silence,
		"fixed-window,rate=20/5m":         timeline.AtOnce,
	} {
		s := read(t, "burst.yaml",
			scenario.ParseOptions{Keys: []string{"alpha"}, Target: "http://127.0.0.1:80/",
				Limit: limit})
		if got := s.Phases[0].Shape; got != want || want == timeline.Silence != (s.Rests() > 0) {
			t.Errorf("%s: got %s first and %s of rests, want %s", limit, got, s.Rests(), want)
		}
	}
}

// TestWhySeveralClientsAreLacking: a target that sees one address is not one whose clients share a quota.
func TestWhySeveralClientsAreLacking(t *testing.T) {
	for _, x := range []struct{ partition, target, want string }{
		{"none", "http://127.0.0.1:80/", "it needs 3 clients, and all clients share one quota " +
			"(partition none)"},
		{"address", "http://127.0.0.1:80/", ""},
		{"address", "http://[::1]:80/", "it needs 3 clients, and only a target on 127.0.0.0/8 sees many " +
			"addresses (partition address)"},
	} {
		s := read(t, "burst.yaml", scenario.ParseOptions{Partition: x.partition, Target: x.target,
			Limit: "token-bucket,rate=10/s,burst=20",
			Set:   []scenario.Setting{{Path: "partition.count", Value: "3"}}})
		if s.Lacks != x.want {
			t.Errorf("%s, %s: got %q, want %q", x.partition, x.target, s.Lacks, x.want)
		}
	}
}
