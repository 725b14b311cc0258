package history

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
	why := f.why
	if why == "" {
		why = "no answer"
	}
	return result.Unreachable, fmt.Sprintf("none of %s was answered: %s", text.Plural(f.sent, "request"), why)
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
