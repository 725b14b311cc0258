package fleet

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Deal says what the agents share out.
type Deal string

// The deals. ByRequests: the agents take turns with the requests of every client. Only this shows a limiter
// with a counter for each replica, or a race between two edges. ByClients: one agent sends all requests of a
// client.
const (
	ByRequests Deal = "requests"
	ByClients  Deal = "clients"
)

// Deals returns all deals.
func Deals() []Deal { return []Deal{ByRequests, ByClients} }

// CheckDeal refuses a word that is no deal.
func CheckDeal(d Deal) error {
	if !slices.Contains(Deals(), d) {
		return fmt.Errorf("deal %q: agents share out requests or clients", string(d))
	}
	return nil
}

// dealer deals one schedule to agents.
type dealer struct {
	of   int
	deal Deal
	// number is the number of each partition, by first appearance.
	number map[string]int
}

func newDealer(s *timeline.Schedule, of int, d Deal) *dealer {
	x := &dealer{of: of, deal: d, number: map[string]int{}}
	if d == ByClients {
		for i, name := range Partitions(s) {
			x.number[name] = i
		}
	}
	return x
}

// Partitions lists the partitions of a schedule in the order of their first appearance.
func Partitions(s *timeline.Schedule) []string {
	var names []string
	seen := map[string]bool{}
	see := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for i := range s.Phases {
		for j := range s.Phases[i].Arrivals {
			see(s.Phases[i].Arrivals[j].Partition)
		}
		for _, name := range s.Phases[i].Partitions {
			see(name)
		}
	}
	return names
}

// part returns the agent that sends request, or client, k of a phase.
func (x *dealer) part(k int, partition string) int {
	if x.deal == ByClients {
		return x.number[partition] % x.of
	}
	return k % x.of
}

// Slice returns the part of s that one of several agents sends. Together they send each arrival once, with
// its number, and each client once. Only the first agent finds and sends a boundary.
func Slice(s *timeline.Schedule, part, of int, d Deal) *timeline.Schedule {
	x := newDealer(s, of, d)
	out := &timeline.Schedule{Phases: slices.Clone(s.Phases)}
	for i := range out.Phases {
		p := &out.Phases[i]
		switch {
		case p.Shape == timeline.Boundary:
			if part > 0 {
				*p = timeline.Phase{Name: p.Name, Shape: timeline.Silence}
			}
		case hasClients(p):
			x.clients(p, part)
		case p.Arrive != nil:
			x.unlisted(p, part)
		default:
			p.Arrivals, p.Partitions, p.Requests = x.arrivals(p, part), nil, 0
		}
	}
	return out
}

func hasClients(p *timeline.Phase) bool {
	return p.Shape == timeline.Closed || p.Shape == timeline.HonorRetryAfter || p.Shape == timeline.Backoff
}

func (x *dealer) arrivals(p *timeline.Phase, part int) []timeline.Arrival {
	out := make([]timeline.Arrival, 0, p.Count()/x.of+1)
	for k, a := range p.All() {
		if x.part(k, a.Partition) == part {
			out = append(out, a)
		}
	}
	return out
}

// unlisted keeps a part of a plan that makes its arrivals when they are due. Partitions take turns in it, so
// the places of each part repeat after a round of so many arrivals.
func (x *dealer) unlisted(p *timeline.Phase, part int) {
	all, turns, n := p.Arrive, p.Partitions, p.Requests
	round := min(len(turns)*x.of, n)
	var mine []int
	p.Partitions = nil
	for k := range round {
		if name := turns[k%len(turns)]; x.part(k, name) == part {
			mine, p.Partitions = append(mine, k), append(p.Partitions, name)
		}
	}
	if len(mine) == 0 {
		p.Arrive, p.Requests = nil, 0
		return
	}
	rest, _ := slices.BinarySearch(mine, n%round)
	p.Requests = n/round*len(mine) + rest
	p.Arrive = func(i int) timeline.Arrival { return all(i/len(mine)*round + mine[i%len(mine)]) }
}

// clients keeps a part of the clients of a phase, and of its ceiling of requests.
func (x *dealer) clients(p *timeline.Phase, part int) {
	mine, before := x.mine(p, part), 0
	if p.Requests > 0 {
		for q := range part {
			before += len(x.mine(p, q))
		}
		p.Requests = share(p.Requests, before+len(mine), p.Clients) - share(p.Requests, before, p.Clients)
	}
	if len(mine) == 0 || p.Requests == 0 && p.Duration == 0 {
		*p = timeline.Phase{Name: p.Name, Shape: timeline.Silence, Duration: p.Duration}
		return
	}
	p.Partitions, p.Clients = mine, len(mine)
	p.Retry.Seed += uint64(part)
}

// mine returns the partitions of the clients of a part, one for each client.
func (x *dealer) mine(p *timeline.Phase, part int) []string {
	var out []string
	for k := range p.Clients {
		if name := p.Partitions[k%len(p.Partitions)]; x.part(k, name) == part {
			out = append(out, name)
		}
	}
	return out
}

// share returns the share of n of all in a total.
func share(total, n, all int) int { return int(float64(total)*float64(n)/float64(all) + 0.5) }

// Planned returns how many requests the schedule plans for each of several agents. A recording misses as many
// if that agent is lost.
func Planned(s *timeline.Schedule, of int, d Deal) []int {
	x := newDealer(s, of, d)
	out := make([]int, of)
	for i := range s.Phases {
		p := &s.Phases[i]
		switch {
		case p.Shape == timeline.Boundary:
			out[0] += len(p.Arrivals)
		case hasClients(p):
			sent := make([]int, of)
			for k := range p.Clients {
				sent[x.part(k, p.Partitions[k%len(p.Partitions)])]++
			}
			before := 0
			for q, n := range sent {
				out[q] += share(p.Requests, before+n, p.Clients) - share(p.Requests, before, p.Clients)
				before += n
			}
		default:
			for k, a := range p.All() {
				out[x.part(k, a.Partition)]++
			}
		}
	}
	return out
}

// meets says for each phase whether its begin is agreed on after all agents have ended the phase before. That
// is so if the phase before ends with its last answer, at no planned time, or if something is done to the
// target first.
func meets(s *timeline.Schedule) []bool {
	out := make([]bool, len(s.Phases))
	for i := 1; i < len(out); i++ {
		before := &s.Phases[i-1]
		out[i] = before.Duration == 0 || before.Shape == timeline.Backoff ||
			s.Phases[i].Shape == timeline.Hook
	}
	return out
}
