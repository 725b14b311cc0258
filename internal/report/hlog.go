package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline/latency"
)

// Hlog writes an HdrHistogram log of the recording of the run. A log has one base time, so it refuses a run
// of several scenarios.
func Hlog(w io.Writer, r *result.Run) error {
	recorded, err := recordings(r)
	switch {
	case err != nil:
		return err
	case recorded[0].Target == "" && !recorded[0].Timed():
		return errors.New("no latencies: the recording does not say how long its requests took")
	case len(recorded) == 1:
		return latency.WriteHistogram(w, recorded[0].Timeline, recorded[0].Header.Started)
	default:
		return fmt.Errorf("%d recordings: a histogram log holds only one (choose a scenario with --only)",
			len(recorded))
	}
}
