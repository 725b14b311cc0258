package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// limiterFaults keep a partition's state wrongly.
var limiterFaults = []Fault{
	{Name: "cap-not-applied", fits: oneBucket, limiter: wrongBucket{Uncapped: true}.serve},
	{Name: "refill-truncated", fits: quickBucket(1), limiter: wrongBucket{Tick: time.Second}.serve},
	{Name: "refill-whole-units", fits: oneBucket, limiter: wrongBucket{WholeUnits: true}.serve},
	{Name: "idle-overflow", fits: oneBucket, limiter: wrongBucket{Narrow: true}.serve},
	{Name: "clock-skew", fits: quickBucket(2), limiter: wrongBucket{Skew: 500 * time.Millisecond}.serve},
	{Name: "denied-counted", fits: countsDenials, policy: func(p spec.Policy) spec.Policy {
		p.Count = spec.CountAll
		return p
	}},
	{Name: "coarse-clock", fits: seesParts, limiter: coarse},
	{Name: "never-recovers", fits: forgivesAsking, limiter: lockedOut},
	{Name: "ban-after-denial",
		fits: func(l spec.Limit) string { return firstOf(otherBan(l), fineClock(l)) },
		policy: func(p spec.Policy) spec.Policy {
			p.Ban = windowOf(p)
			return p
		}},
	{Name: "log-members-collide", limiter: colliding,
		fits: func(l spec.Limit) string { return firstOf(onePolicy(l), quotaTwo(l)) }},
	{Name: "idle-timer", limiter: idleTimer,
		fits: func(l spec.Limit) string { return firstOf(onePolicy(l), notRefreshed(l)) }},
	{Name: "slots-never-turn", fits: oneSlotted, limiter: stuckSlots},
	{Name: "state-expires-early", fits: alone, limiter: forgetful},
	{Name: "counted-twice", fits: quotaTwo, limiter: charged(func(cost int64) int64 { return 2 * cost })},
	{Name: "cost-ignored", Promise: "cost", fits: quotaTwo,
		limiter: charged(func(int64) int64 { return 1 })},
	{Name: "cost-over-limit-free", limiter: generous},
	{Name: "denied-cost-burns-rest", limiter: burning,
		fits: func(l spec.Limit) string { return firstOf(quotaTwo(l), denialsFree(l)) }},
}

// denialsFree demands policies under which a denied request leaves what is left as it is.
func denialsFree(l spec.Limit) string {
	for _, p := range l {
		if p.Count == spec.CountAll || p.Ban > 0 {
			return "under count=all or ban a denial takes what is left, too (declare another)"
		}
	}
	return ""
}

// forgivesAsking demands policies that do not lock a client out for as long as it asks.
func forgivesAsking(l spec.Limit) string {
	for _, p := range l {
		if p.Count == spec.CountAll || p.Refresh == spec.RefreshAll {
			return "under count=all or refresh=all a client that keeps asking is kept out (declare another)"
		}
	}
	return ""
}

// countsDenials demands policies for which it matters whether denied requests count. For a full fixed window,
// an empty bucket that batches or ticks of whole units fill, or a queue, it does not.
func countsDenials(l spec.Limit) string {
	for _, p := range l {
		ticks := p.Tick > 0 && p.Bucketed() && p.Tick >= p.UntilBack(1)
		if p.Fixed() || ticks || p.Refill == spec.RefillInterval || p.Queued() ||
			p.Count == spec.CountAll || p.Ban > 0 || p.Completes() {
			return "it needs a bucket that refills all the time, a sliding-window-log or a " +
				"sliding-window-counter that neither counts denied requests nor bans"
		}
	}
	return ""
}

// seesParts demands a policy for which parts of a second matter. They do not for windows that begin and end
// with whole seconds, for one slow bucket, and where a load of some windows hardly meets the one second in
// which a unit comes back early.
func seesParts(l spec.Limit) string {
	if oneBucket(l) == "" && l[0].Tick < time.Second {
		return quickBucket(1)(l)
	}
	for _, p := range l {
		if p.Tick >= time.Second {
			return "the limit declares a clock of whole seconds (declare it without tick)"
		}
		if p.Rate.N*p.Rate.N < int64(p.Rate.Per/time.Second) {
			return "a quota of so few units in so long a window hides parts of a second (declare another)"
		}
		if !p.Fixed() || p.Align == spec.AlignFirst || p.ShortestWindow()%time.Second != 0 ||
			p.PhaseFrom%time.Second != 0 {
			return ""
		}
	}
	return "fixed windows of whole seconds by the clock hide parts of a second (declare another limit)"
}

// otherBan demands a policy that does not declare the fault's ban.
func otherBan(l spec.Limit) string {
	for _, p := range l {
		if ban := windowOf(p); ban < p.Ban || ban > p.LongestBan() {
			return ""
		}
	}
	return "the limit declares a ban of a window (declare it without ban)"
}

// notRefreshed demands policies that do not declare that requests restart a window.
func notRefreshed(l spec.Limit) string {
	for _, p := range l {
		if p.Refreshes() {
			return "the limit declares that requests restart its window (declare it without refresh)"
		}
	}
	return ""
}

// oneSlotted demands one window that is divided into slots.
func oneSlotted(l spec.Limit) string {
	if len(l) == 1 && l[0].InSlots() {
		return ""
	}
	return "it needs one fixed-window in slots"
}
