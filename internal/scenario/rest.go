package scenario

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// oneQuota takes the clients of a scenario for one where they share a quota, or where requests have no other
// way to be told apart.
func (s *Scenario) oneQuota() {
	if s.Partition.Kind == ByBody && s.Target.Method == "GET" {
		s.Target.Method = "POST" // which has a body
	}
	if s.Partition.Kind == ByAddress && !manyAddresses(s.Target.URL) {
		s.Partition.Kind = ByNone
	}
	if s.Partition.Kind == ByNone {
		s.lacks = s.needsClients()
		s.Partition.Fresh, s.Partition.Count = false, 1
	}
}

// mostRest is how long a scenario waits at most until issued keys are as good as new: perhaps nobody used
// them.
const mostRest = time.Minute

// rest puts silences into a scenario whose clients are not new, if none lasts longer than most: one before
// everything else, in which the limiter forgets an earlier scenario, and, where all clients share one quota,
// one before each phase that would have clients of its own.
//
//	declared:     first (clients A)      second (clients B)
//	one quota:    silence  first  silence  second          each silence lasts as long as the limit recovers
func (s *Scenario) rest(most time.Duration) {
	if s.Partition.Fresh {
		return
	}
	recovery := s.recovery()
	if recovery > most {
		return // nobody waits so long: what was before is not known
	}
	used := map[string]bool{}
	quiet := time.Duration(0) // how long nothing was sent
	if s.Target.URL == Builtin {
		quiet = recovery // it is new in each scenario
	}
	var out []Phase
	for _, p := range s.Phases {
		switch {
		case p.Shape == timeline.Silence:
			quiet += p.Duration
		case p.Quiet():
		case quiet < recovery && (len(used) == 0 || s.Partition.Kind == ByNone && !used[p.Partition]):
			s.rests += recovery
			out = append(out, Phase{Name: "forget-before-" + p.Name, Shape: timeline.Silence,
				Duration: recovery, Limit: p.Limit})
			fallthrough
		default:
			quiet, used[p.Partition] = 0, true
		}
		out = append(out, p)
	}
	s.Phases = out
}

// Rests is for how long the scenario is silent so that the limiter forgets what was before.
func (s *Scenario) Rests() time.Duration { return s.rests }

// recovery is a silence after which the limits of all phases are as good as new. It is longer by a tenth or
// two units: a bucket that is larger by one has then surely forgotten all, and shows that it is larger.
func (s *Scenario) recovery() time.Duration {
	var d time.Duration
	for i := range s.Phases {
		p := &s.Phases[i]
		if !p.Counted() {
			continue
		}
		for _, one := range p.Limit {
			full, unit := one.Recovery(), one.LongestWindow()/time.Duration(max(one.Rate.N, 1))
			d = max(d, full+max(full/10, 2*unit))
		}
	}
	return d + s.Target.Tick + time.Millisecond
}

// manyAddresses tells whether requests to a target can come from many addresses: those of loopback.
func manyAddresses(target string) bool {
	u, err := url.Parse(target)
	if err != nil || target == Builtin || u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.Is4() && a.IsLoopback()
}

// needsClients says for what a scenario needs several clients, each with a quota of its own; empty for
// nothing.
func (s *Scenario) needsClients() string {
	const shared = ", and all clients share one quota (partition none)"
	if s.Partition.Count > 1 {
		return fmt.Sprintf("it needs %d clients", s.Partition.Count) + shared
	}
	if i := slices.IndexFunc(s.Phases, func(p Phase) bool { return p.Mint != "" }); i >= 0 {
		return "each request names another client (" + s.Phases[i].Name + ")" + shared
	}
	var apart []string
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Unnamed {
			apart = append(apart, p.Name)
		}
	}
	if len(apart) > 0 {
		return "it leaves out the key of a client (" + strings.Join(apart, ", ") + ")" + shared
	}
	return ""
}
