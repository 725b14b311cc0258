package history

import (
	"cmp"
	"slices"

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
