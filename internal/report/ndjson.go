package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// errNoRecording is returned by the formats that print recordings.
var errNoRecording = errors.New("no recording: this report has verdicts and numbers only (give the run's folder with its timeline.ndjson)")

// writeNDJSON writes the recording of the run as a timeline file. A timeline file holds one recording, so a run of several
// scenarios is refused.
func writeNDJSON(w io.Writer, r *Run, _ Options) error {
	recorded := recordings(r)
	switch len(recorded) {
	case 0:
		return errNoRecording
	case 1:
		return timeline.Write(w, recorded[0].Timeline)
	default:
		return fmt.Errorf("%d recordings: a timeline file holds one (choose a scenario with --only)", len(recorded))
	}
}

// recordings returns the scenarios that have a timeline.
func recordings(r *Run) []*Scenario {
	var out []*Scenario
	for i := range r.Scenarios {
		if r.Scenarios[i].Timeline != nil {
			out = append(out, &r.Scenarios[i])
		}
	}
	return out
}
