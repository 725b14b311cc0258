package history

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Observation is what a judgement needs of a timeline.Observation. Its members mean the same. A large
// partition is judged whole, so an Observation is small.
type Observation struct {
	Sent, FirstByte, Done time.Duration
	// Cost is 1 or more where a target counts the request.
	Cost     int64
	Seq      int
	Outcome  timeline.Outcome
	Answered bool
}

// ObservationOf returns what a judgement needs of o.
func ObservationOf(o *timeline.Observation) Observation {
	return Observation{Sent: o.Sent, FirstByte: o.FirstByte, Done: o.Done, Cost: o.Cost, Seq: o.Seq,
		Outcome: o.Outcome, Answered: o.Answered}
}

// Observations returns what a judgement needs of obs.
func Observations(obs []timeline.Observation) []Observation {
	out := make([]Observation, len(obs))
	for i := range obs {
		out[i] = ObservationOf(&obs[i])
	}
	return out
}
