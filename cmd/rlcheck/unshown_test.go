package main

import (
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/lab"
)

// TestAFaultThatCannotShowIsTold: each of these faults needs something from the flags. serve says so if it is
// missing, and is silent otherwise.
func TestAFaultThatCannotShowIsTold(t *testing.T) {
	for _, x := range []struct {
		with   serveFlags
		faults []string
	}{
		{serveFlags{Options: lab.Options{ClientHeader: "X-Forwarded-For"}}, []string{"ipv6-per-address",
			"mapped-address-apart"}},
		{serveFlags{rules: []string{"/login none"}}, []string{"route-limit-ignored", "zero-means-unlimited",
			"exempt-for-all", "exempt-counted"}},
		{serveFlags{control: "127.0.0.1:0"}, []string{"restart-forgets", "reload-ignored", "outage-denies"}},
		{serveFlags{redis: "embedded"}, []string{"outage-hangs"}},
		{serveFlags{}, []string{"burst-off-by-one", "status-503", "key-by-path", "keys-shared"}},
	} {
		for _, name := range x.faults {
			fault, err := lab.FindFault(name, false)
			if err != nil {
				t.Fatal(err)
			}
			silent, plain := x.with.unshown(fault.Wants()) == "", serveFlags{}.unshown(fault.Wants()) == ""
			needs := x.with.ClientHeader+x.with.control+x.with.redis != "" || x.with.rules != nil
			if !silent || plain == needs {
				t.Errorf("%s: got silent %t with what it needs and %t without", name, silent, plain)
			}
		}
	}
	var embedded []string
	for _, f := range lab.Faults() {
		if f.Wants() == lab.WantEmbedded {
			embedded = append(embedded, f.Name)
		}
	}
	want := []string{"global-cap-ignored", "key-by-token", "login-by-account-only", "route-cap-ignored"}
	if !slices.Equal(embedded, want) {
		t.Errorf("got %v that only the target of a run shows, want %v", embedded, want)
	}
}
