package load

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// progressEvery is the time between two reports of progress.
const progressEvery = 100 * time.Millisecond

// tell calls Options.Progress every progressEvery, and once more at the end.
func (r *recorder) tell(ctx context.Context) {
	planned, _ := r.s.Planned()
	for {
		more := transport.Rest(ctx, progressEvery, nil)
		sent, over := r.net.Counts()
		p := Progress{
			Allowed: over[timeline.Allowed], Denied: over[timeline.Denied], Unknown: over[timeline.Unknown],
			Sent: sent, Planned: planned, Late: time.Duration(r.latest.Load()),
		}
		if name := r.name.Load(); name != nil {
			p.Phase = *name
		}
		r.o.Progress(p)
		if !more {
			return
		}
	}
}
