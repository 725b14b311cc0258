package load

import (
	"runtime/debug"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// audit is what the process had used at one moment.
type audit struct {
	cpu time.Duration
	gc  debug.GCStats
}

func takeAudit() audit {
	a := audit{cpu: cpuTime()}
	debug.ReadGCStats(&a.gc)
	return a
}

// until returns what was used between two moments that are wall apart. Of more than 256 collections only the
// last 256 are looked at for the longest pause.
func (a audit) until(b audit, wall time.Duration, connections int) timeline.Audit {
	out := timeline.Audit{Collections: int(b.gc.NumGC - a.gc.NumGC), Connections: connections}
	if wall > 0 {
		out.CPUShare = float64(b.cpu-a.cpu) / float64(wall)
	}
	for i := 0; i < min(out.Collections, len(b.gc.Pause)); i++ {
		out.LongestGC = max(out.LongestGC, b.gc.Pause[i])
	}
	return out
}
