package timeline

import (
	"iter"
	"time"
)

// Shape names how the requests of a phase are timed.
type Shape string

// The shapes. The first four, Steps and Poisson are open loop: each request has a planned time. The times of
// the others depend on the target's answers.
const (
	// AtOnce releases all requests of the phase together, through a gate. All but the last bytes of every
	// header block are on the wire before.
	AtOnce Shape = "at-once"
	// Constant spaces requests evenly; Ramp from one rate to another.
	Constant Shape = "constant"
	Ramp     Shape = "ramp"
	// Silence sends nothing.
	Silence Shape = "silence"
	// Boundary releases one half of the requests just before a window boundary and the other half just after
	// it. The boundary is found while recording.
	Boundary Shape = "boundary"
	// Closed runs Clients clients. Each sends its next request when its last one is answered.
	Closed Shape = "closed"
	// HonorRetryAfter runs Clients clients. After a denial, each waits exactly as long as its Retry-After
	// says.
	HonorRetryAfter Shape = "honor-retry-after"
	// Backoff runs Clients clients that retry by Phase.Retry until one request of each is admitted.
	Backoff Shape = "backoff"
	// Steps sends evenly, at one rate after the other. Poisson sends at random instants of a mean rate, as
	// many independent clients do. Both are open loop.
	Steps   Shape = "steps"
	Poisson Shape = "poisson"
	// Hook sends nothing and does Phase.Hook: it makes something happen to the target.
	Hook Shape = "hook"
)

// AimPhase returns the name of the phase of the requests by which a Boundary phase finds its boundary.
func AimPhase(name string) string { return name + "-aim" }

// Aim says how a Boundary phase finds the window boundary.
type Aim string

// The aims.
const (
	// AimClock takes the multiples of the window since the Unix epoch on the target's clock, whose offset
	// from ours is read from its Date fields.
	AimClock Aim = "clock"
	// AimReset takes the instant that the target announces (RateLimit t, RateLimit-Reset, X-RateLimit-Reset,
	// Retry-After).
	AimReset Aim = "reset"
	// AimProbe drains a partition of its own and asks until it is admitted again.
	AimProbe Aim = "probe"
	// AimFirst takes one window after the partition's first request of the phase.
	AimFirst Aim = "first"
)

// Phase is one stage of a schedule. Which members matter depends on Shape.
type Phase struct {
	Name  string `json:"phase"`
	Shape Shape  `json:"shape"`
	// Origin sends the phase to the origin instead of the target (proxy comparisons).
	Origin bool `json:"origin,omitempty"`
	// Arrivals are the requests of an open-loop or boundary phase, ascending by At. At counts from the
	// beginning of the phase, or for Boundary from the boundary (negative before it).
	Arrivals []Arrival `json:"-"`
	// Arrive makes the arrivals of a constant, ramp, steps or poisson phase that has too many to list: number
	// i, for i from 0 to Requests. Arrivals is then nil, and Partitions are those of the phase. Arrive is nil
	// for other phases, and if such a plan was read from a file, which has only the number.
	Arrive func(i int) Arrival `json:"-"`
	// Duration is how long the phase lasts from its beginning. Zero: until its last request is answered.
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Partitions are the partitions of a closed or honoring phase, where client i uses Partitions[i%len], and
	// those of a phase with Arrive.
	Partitions []string `json:"partitions,omitempty"`
	// Clients is the number of clients of a closed or honoring phase.
	Clients int `json:"clients,omitempty"`
	// Requests is the ceiling of requests of a closed, honoring or boundary phase. For a phase that does not
	// list its arrivals, it is their number.
	Requests int `json:"requests,omitempty"`
	// Cost is the cost of each request of a closed or honoring phase.
	Cost int64 `json:"cost,omitempty"`
	// Aim and Window tell a Boundary phase where its boundary is.
	Aim    Aim           `json:"aim,omitempty"`
	Window time.Duration `json:"window_ns,omitempty"`
	// ProbeRequests is how many requests drain the partition of an AimProbe. It is also the ceiling of the
	// requests that ask when it admits again.
	ProbeRequests int `json:"probe_requests,omitempty"`
	// Forge names header fields (X-Forwarded-For, ...) that carry an invented client address, another one in
	// each request of the phase. A limiter that trusts them sees many clients instead of one. Empty: none is
	// sent.
	Forge []string `json:"forge,omitempty"`
	// Request is how the requests of the phase differ from those of other phases.
	Request Request `json:"request,omitzero"`
	// Retry is how the clients of a Backoff phase retry. Event is what happens in a Hook phase.
	Retry Retry `json:"retry,omitzero"`
	Event Event `json:"event,omitzero"`
}

// Quiet tells whether the phase sends nothing.
func (p *Phase) Quiet() bool { return p.Shape.Quiet() }

// Quiet tells whether phases of the shape send nothing.
func (s Shape) Quiet() bool { return s == Silence || s == Hook }

// EndsEarly tells whether a phase is over once its clients have sent all that they may, whatever its
// duration. That holds for retries, and for a closed loop that is the last phase.
func (s Shape) EndsEarly(last bool) bool { return s == Backoff || s == Closed && last }

// Count returns the number of arrivals of the phase.
func (p *Phase) Count() int {
	switch p.Shape {
	case Constant, Ramp, Steps, Poisson:
		return max(len(p.Arrivals), p.Requests)
	default:
		return len(p.Arrivals)
	}
}

// Arrival returns arrival i of the phase, for i from 0 to Count. It must not be called if the arrivals are
// not known (Listed).
func (p *Phase) Arrival(i int) Arrival {
	if p.Arrive != nil {
		return p.Arrive(i)
	}
	return p.Arrivals[i]
}

// Listed tells whether the arrivals of the phase are known, and not only their number.
func (p *Phase) Listed() bool { return p.Arrive != nil || p.Count() == len(p.Arrivals) }

// All yields the arrivals of the phase, each with its index; none if they are not known.
func (p *Phase) All() iter.Seq2[int, Arrival] {
	return func(yield func(int, Arrival) bool) {
		for i := range p.Count() {
			if !p.Listed() || !yield(i, p.Arrival(i)) {
				return
			}
		}
	}
}

// Free returns the least number above those of the arrivals, which ascend.
func (p *Phase) Free() (free int) {
	if p.Arrive != nil && p.Requests > 0 {
		return p.Arrive(p.Requests-1).Seq + 1
	}
	for i := range p.Arrivals {
		free = max(free, p.Arrivals[i].Seq+1)
	}
	return free
}

// Schedule is the plan of one run: its phases one after the other. The requests of open-loop phases are
// numbered from 0 in order; those of the other shapes are numbered as they are sent.
type Schedule struct {
	Phases []Phase
}

// Planned returns the most requests that the schedule may send, and the least time that it takes.
func (s *Schedule) Planned() (requests int, duration time.Duration) {
	for i := range s.Phases {
		p := &s.Phases[i]
		requests += max(len(p.Arrivals), p.Requests) + p.ProbeRequests
		switch {
		case p.Duration > 0:
			duration += p.Duration
		case p.Shape == Boundary:
			duration += 2 * p.Window
		case p.Count() > 0 && p.Listed():
			duration += p.Arrival(p.Count() - 1).At
		}
	}
	return requests, duration
}
