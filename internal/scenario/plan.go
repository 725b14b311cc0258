package scenario

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Plan returns the schedule of one run. Partitions are named RUN-N, or RUN-NAME-N for those that phases keep for
// themselves; without fresh partitions the run is left out of their names. Arrivals are numbered from 0 through all
// phases. The seed decides in which order partitions take their turns; the same seed gives the same schedule.
func (s *Scenario) Plan(run string, seed uint64) (*timeline.Schedule, error) {
	d := &decoder{file: s.File}
	s.checkCeilings(d, &node{})
	if len(d.problems) > 0 {
		return nil, d.problems.err()
	}
	if !s.Partition.Fresh {
		run = "rlcheck"
	}
	pl := planner{scenario: s, run: run, random: rand.New(rand.NewPCG(seed, 0))}
	out := &timeline.Schedule{Phases: make([]timeline.Phase, 0, len(s.Phases))}
	for i := range s.Phases {
		out.Phases = append(out.Phases, pl.phase(&s.Phases[i]))
	}
	return out, nil
}

// planner numbers the arrivals of one plan.
type planner struct {
	scenario *Scenario
	run      string
	random   *rand.Rand
	next     int
}

// partitions returns the partitions of a phase, in the order in which they take their turns.
func (pl *planner) partitions(own string) []string {
	prefix := pl.run
	if own != "" {
		prefix += "-" + own
	}
	names := make([]string, pl.scenario.Partition.Count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	pl.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// phase plans one phase.
func (pl *planner) phase(p *Phase) timeline.Phase {
	out := timeline.Phase{Name: p.Name, Shape: p.Shape, Origin: p.Origin, Duration: p.Duration, Forge: p.Forge}
	if p.Shape == timeline.Silence {
		return out
	}
	names := pl.partitions(p.Partition)
	switch p.Shape {
	case timeline.Closed, timeline.HonorRetryAfter:
		out.Partitions, out.Clients, out.Cost = names, p.Clients, p.Cost
		out.Requests = int(p.total(len(names)))
	case timeline.Boundary:
		out.Aim, out.Window, out.ProbeRequests = p.Aim, p.Window, p.probes()
		out.Requests = int(p.total(len(names))) - out.ProbeRequests
		if p.Aim == timeline.AimProbe {
			out.Partitions = []string{pl.run + "-" + p.Name + "-probe"}
		}
		out.Arrivals = pl.around(p, names)
	default:
		out.Arrivals = pl.open(p, names)
	}
	return out
}

// arrival is the next request.
func (pl *planner) arrival(p *Phase, name string, at time.Duration) timeline.Arrival {
	pl.next++
	return timeline.Arrival{Seq: pl.next - 1, Partition: name, Phase: p.Name, At: at, Cost: p.Cost, Origin: p.Origin}
}

// open plans a phase whose requests have planned times: the partitions take turns, evenly between two requests of one.
func (pl *planner) open(p *Phase, names []string) []timeline.Arrival {
	all := make([]timeline.Arrival, 0, p.Requests*len(names))
	for k := range p.Requests {
		due, next := p.due(k), p.due(k+1)
		for i, name := range names {
			shift := time.Duration(mulDiv(int64(next-due), int64(i), int64(len(names)), false))
			all = append(all, pl.arrival(p, name, due+shift))
		}
	}
	return all
}

// due returns when request k of a partition is due.
func (p *Phase) due(k int) time.Duration {
	switch p.Shape {
	case timeline.Constant:
		return time.Duration(mulDiv(int64(k), int64(p.Rate.Per), p.Rate.N, false))
	case timeline.Ramp:
		return rampAt(p.From, p.To, p.Duration, k)
	default:
		return 0
	}
}

// around plans a boundary phase: with AimFirst a request a window before that opens it, then one half of the requests
// before the boundary and the other half after it.
func (pl *planner) around(p *Phase, names []string) []timeline.Arrival {
	var all []timeline.Arrival
	add := func(at time.Duration, n int) {
		for range n {
			for _, name := range names {
				all = append(all, pl.arrival(p, name, at))
			}
		}
	}
	if p.Aim == timeline.AimFirst {
		add(-p.Window, 1)
	}
	half := p.Requests / 2
	add(-p.Lead, p.Requests-half)
	add(p.Lead, half)
	return all
}

// Summary is what a run of a scenario would do.
type Summary struct {
	// Phases are in the order of the scenario.
	Phases []PhaseSummary
	// Requests is the most that are sent, Duration the least time it takes, Connections the most that are open at once.
	Requests    int
	Duration    time.Duration
	Connections int
	// Hosts are where requests go, each once: HOST:PORT, or Builtin.
	Hosts []string
}

// PhaseSummary is what one phase of a run would do, over all partitions.
type PhaseSummary struct {
	Name     string
	Shape    timeline.Shape
	Requests int
	// Duration is zero where the phase ends with its last answer.
	Duration time.Duration
	// Peak is the highest planned rate; N is 0 where none is planned.
	Peak reference.Rate
	// Partitions is how many partitions take part, 0 for none.
	Partitions int
	// Text says it in one line.
	Text string
}

// Summary adds up what a run would do. It sends nothing.
func (s *Scenario) Summary() Summary {
	var out Summary
	count := s.Partition.Count
	for i := range s.Phases {
		p := &s.Phases[i]
		ps := PhaseSummary{Name: p.Name, Shape: p.Shape, Requests: int(p.total(count)), Duration: p.lasts(), Peak: p.peak(count), Text: p.size()}
		if p.Shape != timeline.Silence {
			ps.Partitions = count
			out.addHost(s, p)
		}
		out.Phases = append(out.Phases, ps)
		out.Requests += ps.Requests
		out.Duration += ps.Duration
		out.Connections = max(out.Connections, int(p.connections(count)))
	}
	return out
}

// addHost adds where a phase goes.
func (sum *Summary) addHost(s *Scenario, p *Phase) {
	host := s.Target.URL
	if p.Origin {
		host = s.Target.Origin
	}
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		host = u.Host
	}
	if !slices.Contains(sum.Hosts, host) {
		sum.Hosts = append(sum.Hosts, host)
	}
}

// Unmet says what this scenario needs and its target lacks; empty where nothing is missing. A run of it would say nothing
// about the target: that is Inconclusive (needs-failed), not a mistake of the file.
func (s *Scenario) Unmet() string {
	if s.Target.Origin == "" || (s.Target.Origin == Builtin) == (s.Target.URL == Builtin) {
		return ""
	}
	return fmt.Sprintf("target.origin is %q and target.url is %q: they are a proxy and what stands behind it (set target.origin too)",
		s.Target.Origin, s.Target.URL)
}
