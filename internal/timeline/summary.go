package timeline

import (
	"time"
)

// Latencies are the two measures of the answers of one outcome.
type Latencies struct {
	// Corrected is the latency, FirstByte - At. It counts from the plan, so a request that was sent late
	// counts as slow. For requests without a plan (closed loop) it is the service time.
	Corrected Distribution `json:"corrected"`
	// Service is the service time, FirstByte - Sent.
	Service Distribution `json:"service"`
}

// LatencySummary is what one recording says about latency. Allowed.Service.Count + Denied.Service.Count +
// Unknown.Service.Count + Unanswered is the number of observations.
type LatencySummary struct {
	Allowed Latencies `json:"allowed"`
	Denied  Latencies `json:"denied"`
	// Unknown are the answers whose status is not classified.
	Unknown Latencies `json:"unknown"`
	// Unanswered counts the observations without a first byte, which have no latency.
	Unanswered int64 `json:"unanswered"`
	// Lateness is Sent - At of the requests with a plan. A phase has a plan if at least one of its requests
	// was not sent at the very nanosecond of its At. Count is 0 for a recording of closed loops, or in
	// virtual time.
	Lateness Distribution `json:"lateness"`
}

// Of returns the latencies of one outcome.
func (s *LatencySummary) Of(o Outcome) *Latencies {
	switch o {
	case Allowed:
		return &s.Allowed
	case Denied:
		return &s.Denied
	default:
		return &s.Unknown
	}
}

// SummarizeLatency measures tl. An empty timeline gives the zero Summary.
func SummarizeLatency(tl *Timeline) LatencySummary {
	var c LatencyCollector
	for o := range tl.All() {
		c.Add(o)
	}
	return c.Summary()
}

// LatencyCollector measures a recording one observation at a time. The zero value is empty. It uses the
// memory of at most seven histograms (270 KiB each) and a number for each phase.
type LatencyCollector struct {
	corrected, service [Denied + 1]recorder
	unanswered         int64
	lateness           recorder
	phases             map[string]*phase
	// last is the phase of the last observation, and lastName its name.
	last     *phase
	lastName string
}

// phase tells whether a phase has a plan.
type phase struct {
	planned bool
	// onTime counts the requests with Sent = At, until the phase is known to have a plan.
	onTime int64
}

// Add takes in one observation. Their order does not matter.
func (c *LatencyCollector) Add(o *Observation) {
	c.addLateness(o.Phase, max(o.Sent-o.At, 0)) // answered before complete: Sent may precede At
	if !o.Answered {
		c.unanswered++
		return
	}
	c.corrected[o.Outcome].record(o.FirstByte-o.At, 1)
	c.service[o.Outcome].record(o.FirstByte-o.Sent, 1)
}

func (c *LatencyCollector) addLateness(name string, late time.Duration) {
	if c.last == nil || c.lastName != name {
		if c.phases == nil {
			c.phases = make(map[string]*phase)
		}
		if c.phases[name] == nil {
			c.phases[name] = &phase{}
		}
		c.last, c.lastName = c.phases[name], name
	}
	p := c.last
	if late == 0 && !p.planned {
		p.onTime++
		return
	}
	if !p.planned {
		p.planned = true
		c.lateness.record(0, p.onTime)
	}
	c.lateness.record(late, 1)
}

// Summary returns what was collected so far.
func (c *LatencyCollector) Summary() LatencySummary {
	s := LatencySummary{Unanswered: c.unanswered, Lateness: c.lateness.distribution()}
	for o := Unknown; o <= Denied; o++ {
		*s.Of(o) = Latencies{Corrected: c.corrected[o].distribution(), Service: c.service[o].distribution()}
	}
	return s
}
