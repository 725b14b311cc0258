package scenario

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Named tells whether requests name their client.
func (p Partition) Named() bool { return p.Kind != ByAddress && p.Kind != ByNone }

// MergeClients makes all clients of a scenario one, if they share a quota, or if nothing in their requests
// tells them apart. Partition is then ByNone, with one partition that is not fresh. Lacks says what the
// scenario needs several clients for.
func (s *Scenario) MergeClients() {
	if s.Partition.Kind == ByBody && s.Target.Method == "GET" {
		s.Target.Method = "POST" // it has a body
	}
	shared := ", and all clients share one quota (partition none)"
	if s.Partition.Kind == ByAddress && !manyAddresses(s.Target.URL) {
		s.Partition.Kind = ByNone
		shared = ", and only a target on 127.0.0.0/8 sees many addresses (partition address)"
	}
	if s.Partition.Kind == ByNone {
		if why := s.needsClients(); why != "" {
			s.Lacks = why + shared
		}
		s.Partition.Fresh, s.Partition.Count = false, 1
	}
}

// manyAddresses tells whether requests to a target can come from many addresses. They can to a loopback
// address.
func manyAddresses(target string) bool {
	u, err := url.Parse(target)
	if err != nil || target == Builtin || u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.Is4() && a.IsLoopback()
}

// needsClients says why a scenario needs several clients, each with a quota of its own. Empty: it does not.
func (s *Scenario) needsClients() string {
	if s.Partition.Count > 1 {
		return fmt.Sprintf("it needs %d clients", s.Partition.Count)
	}
	if i := slices.IndexFunc(s.Phases, func(p Phase) bool { return p.Mint != "" }); i >= 0 {
		return "each request has another client (" + s.Phases[i].Name + ")"
	}
	var apart []string
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Unnamed {
			apart = append(apart, p.Name)
		}
	}
	if len(apart) > 0 {
		return "it leaves out the key of a client (" + strings.Join(apart, ", ") + ")"
	}
	return ""
}

// Clients lists the names that the clients of a schedule have on the wire, each once. Clients without a name
// are left out.
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

// Issued gives each client of a schedule an issued key. It skips the first SkipKeys of them, so that
// scenarios of one run use different keys if there are enough. nil: no keys were issued. The scenario must
// not be Unmet.
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

// fewKeys says that s has more clients than keys were issued. Empty: it has not.
func (s *Scenario) fewKeys() string {
	if len(s.Keys) == 0 {
		return ""
	}
	plan, err := s.Plan("", 1)
	if err != nil {
		return "" // it is reported where the scenario is planned
	}
	if n := len(Clients(plan)); n > len(s.Keys) {
		return fmt.Sprintf("it has %s, but %s issued (--api-keys)", text.Plural(n, "client"),
			text.Plural(len(s.Keys), "key")+map[bool]string{true: " was", false: " were"}[len(s.Keys) == 1])
	}
	return ""
}
