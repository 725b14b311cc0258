package trial

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestNumbersAddUpUnderEveryFault: whatever our target does wrong, each planned request is one that was sent
// or one that was not, each that was sent has one outcome, and clients, phases and statuses count the same.
func TestNumbersAddUpUnderEveryFault(t *testing.T) {
	s, err := scenario.Parse([]byte(`id: sums
title: Numbers add up
kind: required
target: {url: builtin}
partition: {header: X-Api-Key, count: 2, fresh: true}
limit: "token-bucket,rate=10/s,burst=5"
phases:
  - {name: burst, shape: at-once, requests: 10}
  - {name: flow, shape: constant, rate: 2x, duration: 1s}
  - {name: clients, shape: closed, clients: 2, requests: 10}
`), "sums.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const planned = 2 * (10 + 20 + 10)
	faults := lab.Faults()
	for i, f := range faults {
		if testing.Short() && i%8 != 0 {
			continue
		}
		out := against(t, s, f.Name)
		c := out.Counts
		if out.Timeline == nil {
			t.Logf("%s: not run: %s", f.Name, out.Detail)
			continue
		}
		if c.Planned != planned || c.Sent+c.Unsent != c.Planned || c.Allowed+c.Denied+c.Unknown != c.Sent {
			t.Errorf("%s: got %+v, want %d planned: %s", f.Name, c, planned, out.Detail)
		}
		clients, phases, statuses, answered := 0, 0, 0, 0
		for _, x := range out.Clients {
			clients += x.Sent
		}
		for _, x := range out.Header.Phases {
			phases += x.Sent + x.Unsent
		}
		for _, x := range out.Statuses {
			statuses += x.Answers
		}
		for o := range out.Timeline.All() {
			if o.Answered {
				answered++
			}
		}
		if clients != c.Sent || phases != c.Planned || statuses != answered {
			t.Errorf("%s: %d of clients, %d of phases, %d statuses of %d answers, want %+v", f.Name, clients,
				phases, statuses, answered, c)
		}
	}
	if len(faults) < 100 {
		t.Errorf("got %d faults, want those of the list", len(faults))
	}
}
