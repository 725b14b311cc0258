package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// stretches returns tl and l with a new client after each silence in which l recovers. The judge then need
// not ask whether l recovered, and a lost request was decided in its stretch. The windows of all stretches
// have one phase.
func stretches(tl *timeline.Timeline, l spec.Limit) (*timeline.Timeline, spec.Limit) {
	if Several(tl) {
		return tl, l
	}
	all := slices.Clone(l)
	for i := range all {
		if p := &all[i]; p.Align == spec.AlignUnknown {
			if tl.Counts().Unknown == 0 {
				return tl, l
			}
			p.Align = spec.AlignShared
		}
	}
	return Anew(tl, Silence(tl, all)), all
}

// Silence is the time without requests after which a limit has surely recovered.
func Silence(tl *timeline.Timeline, l spec.Limit) (out time.Duration) {
	for i := range l {
		out = max(out, l[i].Recovery()+tl.Header.Tick+time.Millisecond)
	}
	return out
}

// stretch names a stretch by its first request, so that names ascend as the stretches do.
const stretch = "%09d"

// Anew returns the recording of one client with a new client after each silence.
func Anew(tl *timeline.Timeline, silence time.Duration) *timeline.Timeline {
	out, name, end, late := *tl, fmt.Sprintf(stretch, 0), time.Duration(0), Lateness(tl)
	out.Observations = make([]timeline.Observation, len(tl.Observations))
	for i, o := range tl.Observations {
		if i > 0 && o.Sent-end >= silence {
			name = fmt.Sprintf(stretch, i)
		}
		if o.Answered {
			end = max(end, o.FirstByte)
		} else {
			end = max(end, o.Sent+late)
		}
		o.Partition = name
		out.Observations[i] = o
	}
	out.Header.Ended = max(tl.Header.Ended, tl.End())
	return &out
}

// Parted returns the recording of each client, where the requests of a client follow one another.
func Parted(tl *timeline.Timeline) (out []*timeline.Timeline) {
	for all := tl.Observations; len(all) > 0; {
		n := 1
		for n < len(all) && all[n].Partition == all[0].Partition {
			n++
		}
		part := *tl
		part.Observations = all[:n]
		out, all = append(out, &part), all[n:]
	}
	return out
}
