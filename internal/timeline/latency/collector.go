package latency

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Summarize measures tl. An empty timeline gives the zero Summary.
func Summarize(tl *timeline.Timeline) timeline.LatencySummary {
	var c Collector
	for o := range tl.All() {
		c.Add(o)
	}
	return c.Summary()
}

// Collector measures a recording one observation at a time. The zero value is empty. It uses the
// memory of at most seven histograms (270 KiB each) and a number for each phase.
type Collector struct {
	corrected, service [timeline.Denied + 1]recorder
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
func (c *Collector) Add(o *timeline.Observation) {
	c.addLateness(o.Phase, max(o.Sent-o.At, 0)) // answered before complete: Sent may precede At
	if !o.Answered {
		c.unanswered++
		return
	}
	c.corrected[o.Outcome].record(o.FirstByte-o.At, 1)
	c.service[o.Outcome].record(o.FirstByte-o.Sent, 1)
}

func (c *Collector) addLateness(name string, late time.Duration) {
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
func (c *Collector) Summary() timeline.LatencySummary {
	s := timeline.LatencySummary{Unanswered: c.unanswered, Lateness: c.lateness.distribution()}
	for o := timeline.Unknown; o <= timeline.Denied; o++ {
		*s.Of(o) = timeline.Latencies{Corrected: c.corrected[o].distribution(),
			Service: c.service[o].distribution()}
	}
	return s
}
