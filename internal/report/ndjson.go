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

// writeNDJSON writes the recording of a run of one scenario as a timeline file.
func writeNDJSON(w io.Writer, r *result.Run, _ Options) error {
	s, err := oneRecording(r, "a timeline file")
	if err != nil {
		return err
	}
	return timeline.Write(w, s.Timeline)
}

// writeHlog writes an HdrHistogram log of the recording of a run of one scenario, as a log has one base time.
func writeHlog(w io.Writer, r *result.Run, _ Options) error {
	s, err := oneRecording(r, "a histogram log")
	switch {
	case err != nil:
		return err
	case s.Target == "" && !s.Timed():
		return errors.New("no latencies: the recording does not say how long its requests took")
	}
	return WriteHistogram(w, s.Timeline, s.Header.Started)
}

// oneRecording returns the scenario of a run that has only one. what says what holds no more.
func oneRecording(r *result.Run, what string) (*result.Scenario, error) {
	recorded, err := recordings(r)
	if err == nil && len(recorded) > 1 {
		err = fmt.Errorf("%d recordings: %s holds only one (choose a scenario with --only)",
			len(recorded), what)
	}
	if err != nil {
		return nil, err
	}
	return recorded[0], nil
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
