package scenario

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Plan returns the schedule of one run. Partitions are named RUN-N, or RUN-NAME-N for those that phases keep
// for themselves. Without fresh partitions the names leave out the run. Arrivals are numbered from 0, first
// those of open-loop phases and then those of boundary phases. The seed decides in which order partitions
// take turns, and the same seed gives the same schedule. If something exceeds a ceiling of Safety, nothing is
// planned, and the error is of type Errors, without lines.
func (s *Scenario) Plan(run string, seed uint64) (*timeline.Schedule, error) {
	if over := s.Excesses(); len(over) > 0 {
		return nil, over
	}
	if !s.Partition.Fresh {
		run = "rlcheck"
	}
	return s.plan(run, seed, longPlan), nil
}

// plan is Plan. A phase lists its arrivals if it has at most `list`.
func (s *Scenario) plan(run string, seed uint64, list int) *timeline.Schedule {
	pl := planner{scenario: s, run: run, random: rand.New(rand.NewPCG(seed, 0)), list: list}
	out := &timeline.Schedule{Phases: make([]timeline.Phase, 0, len(s.Phases))}
	for i := range s.Phases {
		out.Phases = append(out.Phases, pl.phase(&s.Phases[i]))
	}
	number(out)
	return out
}

// number gives every arrival a number. Open-loop phases come first, since the generator numbers the others
// again as they are sent.
func number(s *timeline.Schedule) {
	next := 0
	for _, boundary := range []bool{false, true} {
		for i := range s.Phases {
			if (s.Phases[i].Shape == timeline.Boundary) != boundary {
				continue
			}
			p := &s.Phases[i]
			for j := range p.Arrivals {
				p.Arrivals[j].Seq = next + j
			}
			if each, first := p.Arrive, next; each != nil {
				p.Arrive = func(i int) timeline.Arrival {
					a := each(i)
					a.Seq = first + i
					return a
				}
			}
			next += p.Count()
		}
	}
}

// planner plans the phases of one run.
type planner struct {
	scenario *Scenario
	run      string
	random   *rand.Rand
	list     int
}

// partitions returns the first n partitions of a phase in the order in which they take turns.
func (pl *planner) partitions(own string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = pl.partition(own, i)
	}
	pl.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// sides returns the partitions of a phase. If it has two sides, the partition of the other side follows each.
func (pl *planner) sides(p *Phase) []string {
	names := pl.partitions(p.Partition, p.among(pl.scenario.Partition.Count))
	if p.Vary == "" {
		return names
	}
	var out []string
	for _, name := range names {
		out = append(out, name, timeline.OtherSide(name))
	}
	return out
}

// partition returns the name of partition i: of those that phases keep for themselves (own), or of the common
// ones.
func (pl *planner) partition(own string, i int) string {
	if pl.scenario.Partition.Kind == ByNone {
		return pl.run
	}
	if own == "" {
		return fmt.Sprintf("%s-%d", pl.run, i+1)
	}
	return fmt.Sprintf("%s-%s-%d", pl.run, own, i+1)
}

func (pl *planner) phase(p *Phase) timeline.Phase {
	out := timeline.Phase{Name: p.Name, Shape: p.Shape, Origin: p.Origin, Duration: p.Duration,
		Forge: p.Forge}
	if p.Quiet() {
		out.Event = p.Event
		return out
	}
	names := pl.sides(p)
	out.Request = p.request(pl)
	switch p.Shape {
	case timeline.Closed, timeline.HonorRetryAfter, timeline.Backoff:
		if out.Retry = p.Retry; p.Shape == timeline.Backoff {
			out.Retry.Seed = pl.random.Uint64()
		}
		out.Partitions, out.Clients, out.Cost = names, p.Clients, p.Cost
		out.Requests = int(p.total(pl.scenario.Partition.Count))
	case timeline.Boundary:
		out.Aim, out.Window, out.ProbeRequests = p.Aim, p.Window, p.probes()
		out.Requests = int(p.total(pl.scenario.Partition.Count)) - out.ProbeRequests
		out.Arrivals = p.around(names)
	default:
		n, each := p.Requests*len(names), p.open(names, p.times(pl))
		if n > pl.list && p.Shape != timeline.AtOnce {
			out.Partitions, out.Requests, out.Arrive = names, n, each
			break
		}
		out.Arrivals = make([]timeline.Arrival, n)
		for i := range out.Arrivals {
			out.Arrivals[i] = each(i)
		}
	}
	return out
}

// longPlan is how many arrivals of a phase are listed at most, in 64 bytes each. More are made when they are
// due. A Poisson phase then keeps only their times.
const longPlan = 200_000

// arrival returns a request of a phase, without its number.
func (p *Phase) arrival(name string, at time.Duration) timeline.Arrival {
	return timeline.Arrival{Partition: name, Phase: p.Name, At: at, Cost: p.Cost, Origin: p.Origin}
}

// open returns the maker of arrival i of a phase whose requests have planned times. The partitions take
// turns, evenly between two requests of the first.
func (p *Phase) open(names []string, times func(k int) time.Duration) func(i int) timeline.Arrival {
	return func(i int) timeline.Arrival {
		k, turn := i/len(names), i%len(names)
		due := times(k)
		if turn > 0 {
			due += time.Duration(MulDiv(int64(times(k+1)-due), int64(turn), int64(len(names)), false))
		}
		return p.arrival(names[turn], due)
	}
}

// times returns the function that says when request k of a partition is due, for k from 0 to Requests.
func (p *Phase) times(pl *planner) func(k int) time.Duration {
	switch p.Shape {
	case timeline.Poisson:
		return p.randomTimes(pl)
	case timeline.Steps:
		return p.stepTimes()
	case timeline.Constant:
		return func(k int) time.Duration { return spaced(k, p.Rate) }
	case timeline.Ramp:
		return func(k int) time.Duration { return rampAt(p.From, p.To, p.Duration, k) }
	default:
		return func(int) time.Duration { return 0 }
	}
}

// around plans a boundary phase: half of the requests before the boundary, and half after it. The generator
// sends the requests that find the boundary.
func (p *Phase) around(names []string) []timeline.Arrival {
	var all []timeline.Arrival
	add := func(at time.Duration, n int) {
		for range n {
			for _, name := range names {
				all = append(all, p.arrival(name, at))
			}
		}
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
	// Requests is the most requests that are sent, Connections the most connections that are open at once.
	Requests    int
	Connections int
	Span
	// Hosts are the targets of requests, each once: HOST:PORT, or Builtin.
	Hosts []string
}

// PhaseSummary is what one phase of a run would do, over all partitions.
type PhaseSummary struct {
	Name     string
	Shape    timeline.Shape
	Requests int
	// Duration is zero if the phase ends with its last answer.
	Duration time.Duration
	// Peak is the highest planned rate. N is 0 if none is planned.
	Peak spec.Rate
	// Partitions is how many partitions take part, 0 if none does.
	Partitions int
	// Text describes the phase in one line.
	Text string
}

// Summary adds up what a run would do. It is empty for a scenario that is not run (Unmet). It sends nothing.
func (s *Scenario) Summary() Summary {
	if s.Unmet() != "" {
		return Summary{}
	}
	var out Summary
	count := s.Partition.Count
	for i := range s.Phases {
		p := &s.Phases[i]
		ps := PhaseSummary{Name: p.Name, Shape: p.Shape, Requests: int(p.total(count)), Duration: p.lasts(),
			Peak: p.peak(count), Text: p.size()}
		if !p.Quiet() {
			ps.Partitions = p.among(count)
			out.addHost(s, p)
		}
		out.Phases = append(out.Phases, ps)
		out.Requests += ps.Requests
		out.Duration += ps.Duration
		if !p.Shape.EndsEarly(i == len(s.Phases)-1) {
			out.Least += ps.Duration
		}
		out.Connections = max(out.Connections, int(p.connections(count)))
	}
	return out
}

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
