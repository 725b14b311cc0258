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
target: {url: URL}
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

// TestTwoSidesAreOneClient: a phase with vary has twice its requests, in two partitions with one key.
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

// TestWhatCannotDifferIsMoot: a row that would send the same twice, or the key of another client, says why it
// is moot.
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
		{"builtin", "body: user", "chunked", "its requests have a body already"},
		{"builtin", "header: user-agent", "googlebot", "clients are told apart by it"},
		{"builtin", "header: authorization", "authorization", "clients are told apart by it"},
		{"builtin, header: {authorization: a b}", "header: X-Api-Key", "authorization",
			"its requests have this field already"},
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

// TestWhatIsExpectedOfAttributes: the default is one quota unless something else is declared. Whether KEY
// belongs to another client is known only for issued keys.
func TestWhatIsExpectedOfAttributes(t *testing.T) {
	for _, tt := range []struct {
		vary, more string
		keys       []string
		want       claim.Sharing
	}{
		{"user-agent", "", nil, claim.OneQuota},
		{"user-agent", ", attributes: {user-agent: separate}", nil, claim.TwoQuotas},
		{"idempotency-key", "", nil, claim.Either},
		{"googlebot", "", nil, claim.OneQuota}, // the embedded target sells nothing
		{"key-case", "", nil, claim.TwoQuotas}, // the embedded target folds no key
		{"key-case", "", []string{"issued-one"}, claim.OneQuota},
		{"key-twice", "", nil, claim.OneQuota}, // the embedded target takes the first
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
	for want, keys := range map[claim.Sharing][]string{claim.Either: nil, claim.OneQuota: {"issued-one"}} {
		for _, vary := range []string{"key-twice", "key-case"} {
			s, err := varying(t, "http://127.0.0.1:80/", "header: X-Api-Key", vary, "", keys...)
			if err != nil || s.Expect.Attributes[0].Sharing != want {
				t.Errorf("%s at another target, keys %q: got %v, want %s", vary, keys, err, want)
			}
		}
	}
	for vary, want := range map[string]claim.Sharing{"options": claim.Either, "kube-probe": claim.Either,
		"range": claim.OneQuota} {
		s, err := varying(t, "http://127.0.0.1:80/", "header: X-Api-Key", vary, "")
		if err != nil || s.Expect.Attributes[0].Sharing != want {
			t.Errorf("%s at another target: got %v, want %s", vary, err, want)
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

// TestALimitMayBeAPartOfAnother: a part of a number of units is rounded up to a whole one. A bucket refills
// as exactly as its rate can be written.
func TestALimitMayBeAPartOfAnother(t *testing.T) {
	for _, tt := range []struct{ limit, times, want string }{
		{"token-bucket,rate=100/s,burst=20", "0.1x", "token-bucket,rate=10/s,burst=2"},
		{"token-bucket,rate=5/s,burst=5", "0.5x", "token-bucket,rate=5/2s,burst=3"},
		{"fixed-window,rate=5/1m", "0.5x", "fixed-window,rate=3/1m"},
		{"fixed-window,rate=5/1m", "1.5x", "fixed-window,rate=8/1m"},
		{"leaky-bucket-queue,rate=10/s,queue=9", "0.5x", "leaky-bucket-queue,rate=5/s,queue=4"},
		{"fixed-window,rate=5/1m", "3x", "fixed-window,rate=15/1m"},
		{"concurrency,limit=8", "0.25x", "concurrency,limit=2"},
	} {
		src := "id: x\ntitle: x\nkind: required\nlimit: '" + tt.limit +
			"'\nphases:\n  - {name: a, shape: at-once, requests: 1, limit: " + tt.times + "}\n"
		s, err := Parse([]byte(src), "x.yaml", ParseOptions{})
		if err != nil {
			t.Errorf("%s of %s: %v", tt.times, tt.limit, err)
			continue
		}
		if got := s.Phases[0].Limit.String(); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.times, tt.limit, got, tt.want)
		}
	}
	src := "id: x\ntitle: x\nkind: required\nlimit: 'fixed-window,rate=5/1m'\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 1, limit: 0.0x}\n"
	_, err := Parse([]byte(src), "x.yaml", ParseOptions{})
	if err == nil || !strings.Contains(err.Error(), `a multiple of a limit is over 0 (write "zero"`) {
		t.Errorf("got %v, want that a multiple is over 0", err)
	}
}

// TestWhoNamesManyClientsNeedsToBeKnown: tokens belong to one owner only if somebody says so.
func TestWhoNamesManyClientsNeedsToBeKnown(t *testing.T) {
	for _, tt := range []struct {
		url, mint, example, partition string
		keys                          []string
		want                          string
	}{
		{"builtin", "tokens", "true", "header: K", nil, ""},
		{"http://127.0.0.1:1/", "tokens", "true", "header: K", []string{"token-1", "token-2"},
			"example=false"},
		{"http://127.0.0.1:1/", "tokens", "false", "header: K", nil, "--api-keys FILE"},
		{"http://127.0.0.1:1/", "tokens", "false", "header: K", []string{"token-1", "token-2"}, ""},
		{"http://127.0.0.1:1/", "users", "false", "header: K", nil, ""},
		{"http://127.0.0.1:1/", "users", "false", "none: true", nil,
			"each request has another client (a)"},
	} {
		src := "id: x\ntitle: x\nkind: required\nlimit: 'fixed-window,rate=5/1m'\nexample: " + tt.example +
			"\ntarget: {url: '" + tt.url + "'}\npartition: {" + tt.partition + "}\nphases:\n" +
			"  - {name: a, shape: at-once, requests: 2x, mint: " + tt.mint + "}\n"
		s, err := Parse([]byte(src), "x.yaml", ParseOptions{Keys: tt.keys})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Unmet(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s at %s, example %s: got %q, want %q", tt.mint, tt.url, tt.example, got, tt.want)
		}
	}
}

// TestALimitOfAddressesIsSaid: somebody has to say that a target other than the embedded one limits
// addresses.
func TestALimitOfAddressesIsSaid(t *testing.T) {
	src := "id: x\ntitle: x\nkind: required\nlimit: 'fixed-window,rate=5/1m'\n" +
		"target: {url: \"${TARGET:-builtin}\"}\npartition: {address: true}\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 2x, forge: [X-Id]}\n"
	for target, partitions := range map[string]map[string]bool{
		"builtin":              {"": true, "address": true},
		"http://127.0.0.1:80/": {"": false, "address": true, "header:X-Key": true},
	} {
		for partition, asked := range partitions {
			s, err := Parse([]byte(src), "x.yaml", ParseOptions{Target: target, Partition: partition,
				Limit: "fixed-window,rate=5/1m", Env: func(string) (string, bool) { return "", false }})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Unmet(); (got == "") != asked {
				t.Errorf("%s, --partition %q: got %q, want that it is asked: %t", target, partition, got,
					asked)
			}
		}
	}
}
