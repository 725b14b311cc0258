package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Recording is a recording in memory as the judge reads it. Header.Ended is its end. Parts ascend by name.
type Recording struct {
	Header timeline.Header
	Parts  []Partition
}

// Partition has the observations of one partition, ascending by Sent, and what else they tell.
type Partition struct {
	Name string
	Obs  []Observation
	Seen Facts
}

// RecordingOf returns what the judge reads of tl, whose observations ascend by Sent.
func RecordingOf(tl *timeline.Timeline) *Recording {
	r := &Recording{Header: tl.Header}
	r.Header.Ended = tl.End()
	for _, p := range tl.ByPartition() {
		r.Parts = append(r.Parts,
			Partition{p.Partition, Observations(p.Observations), FactsOf(p.Observations)})
	}
	return r
}

// Len returns the number of observations.
func (r *Recording) Len() int {
	n := 0
	for i := range r.Parts {
		n += len(r.Parts[i].Obs)
	}
	return n
}

// AsOne returns the recording with all observations in one partition without a name. Of its facts only Known
// is set.
func (r *Recording) AsOne() *Recording {
	one := Partition{Obs: make([]Observation, 0, r.Len())}
	for _, p := range r.Parts {
		one.Obs = append(one.Obs, p.Obs...)
		one.Seen.Known += p.Seen.Known
	}
	slices.SortStableFunc(one.Obs, func(a, b Observation) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
	})
	return &Recording{Header: r.Header, Parts: []Partition{one}}
}

// Observation is what a judgement needs of a timeline.Observation. Its members mean the same. A large
// partition is judged whole, so an Observation is small.
type Observation struct {
	Sent, FirstByte, Done time.Duration
	// Cost is 1 or more where a target counts the request.
	Cost     int64
	Seq      int
	Outcome  timeline.Outcome
	Answered bool
	// Status is kept where a policy asks for it, and 0 otherwise.
	Status int16
}

// ObservationOf returns what a judgement needs of o.
func ObservationOf(o *timeline.Observation) Observation {
	return Observation{Sent: o.Sent, FirstByte: o.FirstByte, Done: o.Done, Cost: o.Cost, Seq: o.Seq,
		Outcome: o.Outcome, Answered: o.Answered, Status: int16(o.Status)}
}

// Observations returns what a judgement needs of obs.
func Observations(obs []timeline.Observation) []Observation {
	out := make([]Observation, len(obs))
	for i := range obs {
		out[i] = ObservationOf(&obs[i])
	}
	return out
}

// Facts are what the observations of a partition tell apart from their times.
type Facts struct {
	// sent counts the observations, Known those with an outcome. Unclassified counts those with an answer
	// that no rule classifies.
	sent, Known, Unclassified int
	// status is the status of the first answer; answered tells whether there was one.
	status   int
	answered bool
	// why is the error of the last request that got no answer. "interrupted" counts only where there is no
	// other.
	why string
}

// FactsOf returns the facts of obs.
func FactsOf(obs []timeline.Observation) Facts {
	var f Facts
	for i := range obs {
		f.Add(&obs[i])
	}
	return f
}

// Add takes the next observation.
func (f *Facts) Add(o *timeline.Observation) {
	f.sent++
	if o.Answered && !f.answered {
		f.status, f.answered = o.Status, true
	}
	switch {
	case o.Outcome != timeline.Unknown:
		f.Known++
	case o.Answered:
		f.Unclassified++
	case o.Error != "" && (o.Error != stopped || f.why == ""):
		f.why = o.Error
	}
}

// stopped is the error of a request that still waited for its answer when the recording was stopped.
const stopped = "interrupted"

// NothingKnown says why none of the observations has an outcome.
func (f *Facts) NothingKnown() (result.Reason, string) {
	if f.answered {
		return result.UnclassifiedStatus,
			fmt.Sprintf("no rule classifies status %d (name it under denied: or allowed:, for check "+
				"with --denied or --allowed)", f.status)
	}
	if f.why == stopped {
		return result.Interrupted,
			fmt.Sprintf("the recording stopped while %s waited for an answer, and none had come",
				text.Plural(f.sent, "request"))
	}
	return result.Unreachable, fmt.Sprintf("none of %s was answered: %s", text.Plural(f.sent, "request"),
		cmp.Or(f.why, "no answer"))
}

// Known returns how many of the observations have an outcome.
func Known(obs []Observation) int {
	n := 0
	for i := range obs {
		if obs[i].Outcome != timeline.Unknown {
			n++
		}
	}
	return n
}
