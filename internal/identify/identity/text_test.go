package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/clients"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestARunHasTheKeysThatWereSeen: if no key was given and another key was seen to have a limit of its own,
// the clients of a run differ in it. If a key was given, the target may refuse another one.
func TestARunHasTheKeysThatWereSeen(t *testing.T) {
	row := func(plain, observed string) *clients.Found {
		return &clients.Found{Rows: []verdict.Comparison{{Attribute: "address", Plain: clients.NoKey,
			Observed: clients.Separate},
			{Attribute: "header X-Api-Key", Plain: plain, Observed: observed}}}
	}
	for _, tt := range []struct {
		told            *clients.Found
		partition, want string
	}{
		{nil, "none", "none"},
		{row(clients.NoKey, clients.Separate), "none", "header:X-Api-Key"},
		{row(clients.NoKey, clients.Shared), "none", "none"},
		{row("its own", clients.Separate), "none", "none"},
		{row(clients.NoKey, clients.Separate), "address", "address"},
	} {
		r := &Result{Clients: tt.told}
		if got := r.partition(About{Partition: tt.partition}); got != tt.want {
			t.Errorf("%+v of %s: got %s, want %s", tt.told, tt.partition, got, tt.want)
		}
	}
}

// TestANameSaysHowLongAClientWasKnown: where the quota takes much longer than the longest silence that was
// tried, a limiter may forget its clients in between.
func TestANameSaysHowLongAClientWasKnown(t *testing.T) {
	limit, err := spec.Parse("token-bucket,rate=5/2s,burst=5")
	if err != nil {
		t.Fatal(err)
	}
	for remembered, want := range map[time.Duration]string{
		0: "whether a client that is idle is forgotten before its quota is back (ttl) was not seen",
		1020 * time.Millisecond: "was not forgotten (no shorter ttl); " +
			"whether one is that was idle for up to 2.00 s was not seen",
		1600 * time.Millisecond: "a client that was idle for 1.60 s was not forgotten (no shorter ttl)",
	} {
		r := &Result{Remembered: remembered, Found: []Candidate{{Limit: limit}}}
		if got := r.idle(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q, want %q", remembered, got, want)
		}
	}
}
