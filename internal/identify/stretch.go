package identify

import (
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// stretches returns tl and p such that what comes after a silence in which p recovers is another client. The
// judge then needs not ask whether it recovered, and a request whose answer was lost was decided in its
// stretch. The windows of all stretches go on where they began.
func stretches(tl *timeline.Timeline, p spec.Policy) (*timeline.Timeline, spec.Policy) {
	if several(tl) {
		return tl, p
	}
	if p.Align == spec.AlignUnknown {
		if tl.Counts().Unknown == 0 {
			return tl, p
		}
		p.Align = spec.AlignShared
	}
	out, begin, end := *tl, 0, time.Duration(0)
	silence, late := p.Recovery()+tl.Header.Tick+time.Millisecond, lateness(tl)
	out.Observations = make([]timeline.Observation, len(tl.Observations))
	for i, o := range tl.Observations {
		if i > 0 && o.Sent-end >= silence {
			begin = i
		}
		if o.Answered {
			end = max(end, o.FirstByte)
		} else {
			end = max(end, o.Sent+late)
		}
		o.Partition = strconv.Itoa(begin)
		out.Observations[i] = o
	}
	out.Header.Ended = max(tl.Header.Ended, tl.End())
	return &out, p
}

// slowest is the most time from a request to its answer.
func slowest(tl *timeline.Timeline) (out time.Duration) {
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			out = max(out, o.FirstByte-o.Sent)
		}
	}
	return out
}
