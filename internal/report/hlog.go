package report

import (
	"fmt"
	"io"

	"github.com/rlcheck/rlcheck/internal/latency"
)

// writeHlog writes an HdrHistogram log of the recording of the run. A log has one base time, so a run of several scenarios
// is refused.
func writeHlog(w io.Writer, r *Run, _ Options) error {
	recorded := recordings(r)
	switch len(recorded) {
	case 0:
		return errNoRecording
	case 1:
		return latency.WriteLog(w, recorded[0].Timeline, recorded[0].Header.Started)
	default:
		return fmt.Errorf("%d recordings: a histogram log holds one (choose a scenario with --only)", len(recorded))
	}
}
