package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ErrNone is the error of formats of recordings for a report that has none.
var ErrNone = errors.New("no recording: this report has only verdicts and numbers (give the run's " +
	"folder with its timeline.ndjson)")

// NDJSON writes the recording of the run as a timeline file. A timeline file holds one recording, so it
// refuses a run of several scenarios.
func NDJSON(w io.Writer, r *result.Run) error {
	recorded, err := recordings(r)
	switch {
	case err != nil:
		return err
	case len(recorded) == 1:
		return timeline.Write(w, recorded[0].Timeline)
	default:
		return fmt.Errorf("%d recordings: a timeline file holds only one (choose a scenario with --only)",
			len(recorded))
	}
}

// recordings returns the scenarios that have a timeline. The error says that there is none, or that one is
// only a part.
func recordings(r *result.Run) ([]*result.Scenario, error) {
	var out []*result.Scenario
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Excerpt != "" && (s.Timeline == nil || s.Timeline.Spool == nil) {
			return nil, fmt.Errorf("no whole recording: %s", s.Excerpt)
		}
		if s.Timeline == nil {
			continue
		}
		if t := s.Timeline.Spool; t != nil && t.Err() != nil {
			return nil, t.Err()
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, ErrNone
	}
	return out, nil
}
