package trial

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

const (
	// busyFrom is how late this machine must have been for its servers to be in doubt.
	busyFrom = 2 * time.Millisecond
	// busyNear is how long before a witness lateness still counts.
	busyNear = 100 * time.Millisecond
	// busyShare is how many times our own lateness a server on this machine may have stood still.
	busyShare = 2
)

// doubtTick judges a recording again that fails, where this machine stood still near the witness. A server on
// it that reads its clock once a turn of its event loop, as nginx does, may then have decided by an old time:
//
//	the clock is read    the server stands still    requests come    they are decided
//	|--------------------- so old may its time be ----------------------------------|
//
// What fails by an older clock too stays as it was. The rest is Inconclusive (schedule-missed): it may be
// recorded again.
func doubtTick(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, judge judgement) {
	late := lateNear(tl, out)
	if out.Verdict != verdict.Fail || late < busyFrom || busyShare*late <= tl.Header.Tick {
		return
	}
	first, tick := *out, tl.Header.Tick
	tl.Header.Tick, out.Claims = busyShare*late, nil
	judge(out, s, tl)
	if out.Verdict == verdict.Fail {
		*out, tl.Header.Tick = first, tick
		return
	}
	detail := fmt.Sprintf("this machine stood still for %s, and a server on it may have decided by an "+
		"old clock: the failures with a clock that ticks every %s are none with a tick of %s",
		quantity.Brief(late), tick,
		quantity.Brief(tl.Header.Tick))
	tl.Header.Notes = append(tl.Header.Notes, detail)
	out.Header = tl.Header
	*out = inconclusive(*out, verdict.ScheduleMissed, detail)
}

// lateNear is the most that requests were late, or that the recorder stood still, near the witnesses of the
// findings on conformance; 0 where there are none.
func lateNear(tl *timeline.Timeline, out *result.Scenario) (late time.Duration) {
	if out.Judgement == nil {
		return 0
	}
	var near []timeline.Stall
	for _, p := range out.Judgement.Partitions {
		for _, f := range p.Findings {
			near = append(near, timeline.Stall{From: f.From - busyNear, To: f.To})
		}
	}
	if len(near) == 0 {
		return 0
	}
	for o := range tl.All() {
		for _, n := range near {
			if o.Sent >= n.From && o.Sent <= n.To {
				late = max(late, o.Sent-o.At)
			}
		}
	}
	for _, x := range tl.Header.Stalls {
		for _, n := range near {
			if x.To >= n.From && x.From <= n.To {
				late = max(late, x.To-x.From)
			}
		}
	}
	return late
}
