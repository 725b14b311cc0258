package transport

import (
	"runtime/debug"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Usage is what the process had used up to one moment.
type Usage struct {
	cpu time.Duration
	gc  debug.GCStats
}

// UsageNow returns what the process has used up to now.
func UsageNow() Usage {
	u := Usage{cpu: CPUTime()}
	debug.ReadGCStats(&u.gc)
	return u
}

// Until returns what was used between two moments that are wall apart. The longest pause is taken from the
// last 256 collections only.
func (u Usage) Until(later Usage, wall time.Duration) timeline.Audit {
	out := timeline.Audit{Collections: int(later.gc.NumGC - u.gc.NumGC)}
	if wall > 0 {
		out.CPUShare = float64(later.cpu-u.cpu) / float64(wall)
	}
	for i := 0; i < min(out.Collections, len(later.gc.Pause)); i++ {
		out.LongestGC = max(out.LongestGC, later.gc.Pause[i])
	}
	return out
}
