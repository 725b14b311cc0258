package identity

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/identify/clients"
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
