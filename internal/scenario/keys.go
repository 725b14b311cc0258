package scenario

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// issue gives the clients of s keys that the target has issued, one a client. They are secrets, and not
// new: what was used of them before is not known.
func (s *Scenario) issue(keys []string) {
	if len(keys) == 0 || !s.namesClients() {
		return
	}
	s.Keys = keys
	s.Secrets = append(s.Secrets, keys...)
	for i := range s.Expect.Attributes { // who is known by KEY, or by key two times, is the client of key
		x := &s.Expect.Attributes[i]
		key := x.Attribute == timeline.KeyCase || x.Attribute == timeline.KeyTwice
		if key && s.Expect.sharing[x.Attribute] == "" {
			x.Sharing = claim.OneQuota
		}
	}
}

// namesClients tells whether requests name their client.
func (s *Scenario) namesClients() bool {
	return s.Partition.Kind != ByAddress && s.Partition.Kind != ByNone
}

// Clients lists the names that the clients of a schedule have on the wire, each once; those that name
// themselves by nothing are left out.
func Clients(plan *timeline.Schedule) (names []string) {
	for i := range plan.Phases {
		p := &plan.Phases[i]
		add := func(partition string) {
			if k := p.Request.Key(partition); k != "" && !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
		for j := range p.Arrivals {
			add(p.Arrivals[j].Partition)
		}
		for _, partition := range p.Partitions {
			add(partition)
		}
		if p.Shape == timeline.Boundary && p.Aim == timeline.AimProbe && len(p.Arrivals) > 0 {
			add(p.Arrivals[0].Partition + "-probe")
		}
	}
	return names
}

// Issued gives each client of a schedule a key, beginning with that after the first skip of them, so that
// scenarios of one run use others where there are enough. Nil where no keys were issued. It must be asked
// only of a scenario that is not Unmet.
func (s *Scenario) Issued(plan *timeline.Schedule) map[string]string {
	if len(s.Keys) == 0 {
		return nil
	}
	out := map[string]string{}
	for i, name := range Clients(plan) {
		out[name] = s.Keys[(s.SkipKeys+i)%len(s.Keys)]
	}
	return out
}

// fewKeys says that s has more clients than keys were issued; empty where it has not.
func (s *Scenario) fewKeys() string {
	if len(s.Keys) == 0 {
		return ""
	}
	plan, err := s.Plan("", 1)
	if err != nil {
		return "" // told where it is planned
	}
	if n := len(Clients(plan)); n > len(s.Keys) {
		return fmt.Sprintf("it has %s, and %s issued (--keys)", quantity.Plural(n, "client"),
			quantity.Plural(len(s.Keys), "key")+map[bool]string{true: " was",
				false: " were"}[len(s.Keys) == 1])
	}
	return ""
}
