package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const twoSides = `id: x
title: x
kind: required
target: {url: "URL"}
partition: {PARTITION}
limit: token-bucket,rate=1/s,burst=4
phases:
  - {name: sides, shape: at-once, requests: 1.5x, vary: VARY, partition: p}
expect: {conformance: noneMORE}
`

func varying(t *testing.T, url, partition, vary, more string, keys ...string) (*Scenario, error) {
	t.Helper()
	src := strings.NewReplacer("URL", url, "PARTITION", partition, "VARY", vary, "MORE",
		more).Replace(twoSides)
	return Parse([]byte(src), "x.yaml", ParseOptions{Keys: keys})
}

// TestTwoSidesAreOneClient: a phase with vary has twice its requests, of two partitions with one key.
func TestTwoSidesAreOneClient(t *testing.T) {
	for _, partition := range []string{"header: X-Api-Key", "none: true"} {
		s, err := varying(t, "builtin", partition, "user-agent", "")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan("run", 1)
		if err != nil {
			t.Fatal(err)
		}
		p := plan.Phases[len(plan.Phases)-1]
		one, other := p.Arrivals[0].Partition, p.Arrivals[1].Partition
		if other != timeline.OtherSide(one) || p.Request.Key(one) != p.Request.Key(other) {
			t.Errorf("%s: got %q with key %q and %q with key %q, want two partitions with one key", partition,
				one, p.Request.Key(one), other, p.Request.Key(other))
		}
		if n := s.Summary().Requests; len(p.Arrivals) != 12 || n != 12 {
			t.Errorf("%s: got %d arrivals, %d in the summary, want 6 of each side", partition,
				len(p.Arrivals), n)
		}
	}
}

// TestWhatCannotDifferIsMoot: a row that would send the same two times, or another client's key, says why.
func TestWhatCannotDifferIsMoot(t *testing.T) {
	for _, tt := range []struct{ url, partition, vary, want string }{
		{"builtin", "header: X-Api-Key", "path-case", ""},
		{"http://127.0.0.1:8080/", "header: X-Api-Key", "path-case", "the path / has no letters to write so"},
		{"http://127.0.0.1:80/A", "header: X-Api-Key", "path-case", "the path /A has no letters to write so"},
		{"http://127.0.0.1:8080/A", "header: X-Api-Key", "path-encoding", ""},
		{"http://127.0.0.1:8080/a/", "header: X-Api-Key", "path-extension", "the path ends with a slash"},
		{"builtin", "path: true", "path-dot-segment", "the path tells clients apart"},
		{"builtin", "query: key", "key-spaces", "no field tells clients apart"},
		{"builtin", "query: key", "key-twice", ""},
		{"builtin", "address: true", "key-case", "clients do not name themselves"},
		{"builtin", "header: user-agent", "user-agent", "clients are told apart by it"},
		{"builtin", "header: x-real-ip", "real-ip", "clients are told apart by it"},
	} {
		s, err := varying(t, tt.url, tt.partition, tt.vary, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Expect.Attributes[0].Moot; got != tt.want {
			t.Errorf("%s at %s by %s: got %q, want %q", tt.vary, tt.url, tt.partition, got, tt.want)
		}
	}
}

// TestWhatIsExpectedOfAttributes: shared, unless it is declared; whose key KEY is, is known of issued ones.
func TestWhatIsExpectedOfAttributes(t *testing.T) {
	for _, tt := range []struct {
		vary, more string
		keys       []string
		want       claim.Sharing
	}{
		{"user-agent", "", nil, claim.OneQuota},
		{"user-agent", ", attributes: {user-agent: separate}", nil, claim.TwoQuotas},
		{"idempotency-key", "", nil, claim.Either},
		{"key-case", "", nil, claim.Either},
		{"key-case", "", []string{"issued-one"}, claim.OneQuota},
		{"key-case", ", attributes: {key-case: either}", []string{"issued-one"}, claim.Either},
	} {
		s, err := varying(t, "builtin", "header: X-Api-Key", tt.vary, tt.more, tt.keys...)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Expect.Attributes[0].Sharing; got != tt.want {
			t.Errorf("%s%s: got %s, want %s", tt.vary, tt.more, got, tt.want)
		}
	}
	_, err := varying(t, "builtin", "header: X-Api-Key", "host", ", attributes: {accept: either}")
	if err == nil || !strings.Contains(err.Error(), `no phase has vary: accept`) {
		t.Errorf("got %v, want that no phase varies it", err)
	}
	if _, err := varying(t, "builtin", "header: X-Api-Key, count: 2", "host", ""); err == nil {
		t.Error("two clients have two sides each: no error")
	}
	if all := attributes(); slices.Contains(all, "") || len(all) != len(timeline.Attributes()) {
		t.Errorf("got %q", all)
	}
}
