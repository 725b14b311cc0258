package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// busyFrom is the least delay of this machine that puts the clock of a server on it in doubt.
	busyFrom = 2 * time.Millisecond
	// busyNear is how long before a witness a delay still counts.
	busyNear = 100 * time.Millisecond
	// busyShare times our own delay is how long a server on this machine may have stood still meanwhile.
	busyShare = 2
	// lostFrom is the shortest stall that a server may take for a jump of the clock, and leave out of its own
	// time. HAProxy does (clock_update_local_date).
	lostFrom = 100 * time.Millisecond
)

// oldClock excuses a server on this machine that reads its clock only once a turn of its event loop, as nginx
// does. If this machine stood still, it may have decided with an old time:
//
//	the clock is read    the server stands still    requests come    they are decided
//	|--------------------- so old may its time be ----------------------------------|
func oldClock(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, ends *endpoints) *excuse {
	late := lateNear(tl, out)
	if !ends.local || late < busyFrom { // the embedded target reads its clock when it decides
		return nil
	}
	return ticking(s, tl, busyShare*late, fmt.Sprintf("this machine stood still for %s, and a server on it "+
		"may have decided by an old clock", text.Brief(late)))
}

// lostTime excuses a server on this machine whose clock leaves out each long stall, as HAProxy's does. Its
// time then lags for ever by their sum, and units come back late.
func lostTime(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline, ends *endpoints) *excuse {
	lost := lostBefore(tl, out)
	if !ends.local || lost <= lateNear(tl, out) {
		return nil
	}
	return ticking(s, tl, busyShare*lost, fmt.Sprintf("this machine stood still for %s in all, and the "+
		"clock of a server on it may have left out that time", text.Brief(lost)))
}

// ticking is the excuse of a clock that ticks so coarsely. The scenario may then be recorded again.
func ticking(s *scenario.Scenario, tl *timeline.Timeline, tick time.Duration, why string) *excuse {
	x := &excuse{header: tl.Header, as: coarser(s, tick), reason: result.ScheduleMissed,
		why: why + ": one that is up to " + text.Brief(tick) + " late explains all failures"}
	x.header.Tick, x.header.Judged = max(x.header.Tick, tick), terms(x.as, tl)
	return x
}

// coarser returns s with clocks that tick every tick or less often, where its limits name one.
func coarser(s *scenario.Scenario, tick time.Duration) *scenario.Scenario {
	coarse := func(l spec.Limit) spec.Limit {
		l = slices.Clone(l)
		for i := range l {
			if l[i].TickSet {
				l[i].Tick = max(l[i].Tick, tick)
			}
		}
		return l
	}
	c := *s
	c.Limit, c.Phases = coarse(s.Limit), slices.Clone(s.Phases)
	for i := range c.Phases {
		c.Phases[i].Limit = coarse(c.Phases[i].Limit)
	}
	return &c
}

// lostBefore returns the sum of the long stalls before the last finding on conformance. It returns 0 if there
// is none, or if one is an over-admission: a clock that lags gives back less.
func lostBefore(tl *timeline.Timeline, out *result.Scenario) (lost time.Duration) {
	var last time.Duration
	for _, f := range findings(out) {
		if f.Kind == result.OverAdmission {
			return 0
		}
		last = max(last, f.To)
	}
	for _, x := range tl.Header.Stalls {
		if long := x.To - x.From; x.From < last && busyShare*long >= lostFrom {
			lost += long
		}
	}
	return lost
}

func findings(out *result.Scenario) (all []result.Finding) {
	if out.Judgement == nil {
		return nil
	}
	for _, p := range out.Judgement.Partitions {
		all = append(all, p.Findings...)
	}
	return all
}

// lateNear returns the longest delay near the findings on conformance: a request sent late, or a stall of the
// recorder. It returns 0 if there are no findings.
func lateNear(tl *timeline.Timeline, out *result.Scenario) (late time.Duration) {
	var near []timeline.Stall
	for _, f := range findings(out) {
		near = append(near, timeline.Stall{From: f.From - busyNear, To: f.To})
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
