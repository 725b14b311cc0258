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
	// busyFrom is the least delay of this machine that puts the clock of a server on it in doubt.
	busyFrom = 2 * time.Millisecond
	// busyNear is how long before a witness a delay still counts.
	busyNear = 100 * time.Millisecond
	// busyShare times our own delay is how long a server on this machine may have stood still.
	busyShare = 2
)

// doubtTick judges a failing recording again if this machine stood still near the witness. A server on this
// machine may read its clock only once a turn of its event loop, as nginx does. It may then have decided with
// an old time:
//
//	the clock is read    the server stands still    requests come    they are decided
//	|--------------------- so old may its time be ----------------------------------|
//
// If the recording still fails with such a coarse clock, the verdict stays. Otherwise it becomes Inconclusive
// (schedule-missed), and the scenario may be recorded again.
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

// lateNear returns the longest delay near the findings on conformance: a request sent late, or a stall of the
// recorder. It returns 0 if there are no findings.
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
