package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// policyFaults enforce another policy than the declared one.
var policyFaults = []Fault{
	{Name: "burst-off-by-one", policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() + 1) }},
	{Name: "burst-one-less", fits: quotaTwo,
		policy: func(p spec.Policy) spec.Policy { return p.WithFull(p.Full() - 1) }},
	{Name: "refill-too-fast", fits: timed,
		policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 11) }},
	{Name: "refill-too-slow", fits: timed,
		policy: func(p spec.Policy) spec.Policy { return paced(p, 10, 9) }},
	{Name: "fixed-window-as-sliding", fits: notFixedWindow, policy: asFixedWindow},
	{Name: "bucket-as-window", // a bucket of one unit admits what a log of one does
		fits:   func(l spec.Limit) string { return firstOf(oneWindow(l), quotaTwo(l)) },
		policy: func(p spec.Policy) spec.Policy { return bucketOf(p, p.Rate.N) }},
	{Name: "burst-ignored", fits: func(l spec.Limit) string { return firstOf(onePolicy(l), quotaTwo(l)) },
		policy: func(p spec.Policy) spec.Policy { return bucketOf(p, 1) }},
	{Name: "refused-still-pays", fits: severalPolicies, policy: func(p spec.Policy) spec.Policy {
		p.Count = spec.CountOwn
		return p
	}},
	{Name: "long-window-overflow", fits: longWindow, policy: func(p spec.Policy) spec.Policy {
		if p.Rate.Per > maxTimer {
			p.Rate.Per = time.Millisecond
		}
		return p
	}},
	{Name: "windows-end-together",
		fits: func(l spec.Limit) string { return firstOf(ownWindows(l), fineClock(l)) },
		policy: func(p spec.Policy) spec.Policy {
			if p.Fixed() && p.Align == spec.AlignFirst {
				p.Align = spec.AlignShared
			}
			return p
		}},
	{Name: "starts-empty",
		fits:    func(l spec.Limit) string { return firstOf(onePolicy(l), startsWithSome(l)) },
		limiter: drained},
}

// paced returns p with its time stretched by num/den.
func paced(p spec.Policy, num, den int64) spec.Policy {
	p.Rate.Per = time.Duration(int64(p.Rate.Per) / den * num)
	return p
}

// timed demands policies that count in time.
func timed(l spec.Limit) string {
	for _, p := range l {
		switch {
		case p.InFlight():
			return "it needs a limit with a rate"
		case p.Refresh == spec.RefreshAll:
			return "under refresh=all a client that keeps asking never gets units back (declare another)"
		case p.HasWindow() && !p.Fixed() && p.LongestBan() >= p.Rate.Per:
			return "a ban of a window hides when units of a log come back"
		case p.HasWindow() && p.Align != spec.AlignClock && 10*p.Tick >= p.Rate.Per:
			return "ticks, or slots, of a tenth of a window hide when it ends"
		}
	}
	return ""
}

// notFixedWindow demands policies of which none is a fixed window.
func notFixedWindow(l spec.Limit) string {
	for _, p := range l {
		if p.Fixed() {
			return "a fixed window is not a fault of a fixed window (declare another algorithm)"
		}
	}
	return ""
}

func oneWindow(l spec.Limit) string {
	if len(l) != 1 || !l[0].HasWindow() {
		return "it needs one fixed-window, sliding-window-log or sliding-window-counter"
	}
	return ""
}

// ownWindows demands a fixed window that each partition opens for itself.
func ownWindows(l spec.Limit) string {
	for _, p := range l {
		if p.Fixed() && p.Align == spec.AlignFirst {
			return ""
		}
	}
	return "it needs a fixed-window with align=first"
}

// maxTimer is the longest time of JavaScript's setTimeout: 2^31-1 milliseconds.
const maxTimer = (1<<31 - 1) * time.Millisecond

// longWindow demands a policy with a window that is too long for setTimeout.
func longWindow(l spec.Limit) string {
	for _, p := range l {
		if p.Rate.Per > maxTimer {
			return ""
		}
	}
	return "it needs a rate per more than 24.8 days"
}

// startsWithSome demands policies that promise a new partition some units.
func startsWithSome(l spec.Limit) string {
	for _, p := range l {
		if least, _ := p.StartLevels(); least == 0 {
			return "the limit allows a partition to start with nothing (declare it with start=full)"
		}
	}
	return ""
}

// severalPolicies demands several policies that count what all of them admit.
func severalPolicies(l spec.Limit) string {
	for _, p := range l {
		if p.Count == spec.CountOwn || p.Queued() {
			return "it needs policies that deny rather than delay, and do not count requests that others deny"
		}
	}
	if len(l) < 2 {
		return "it needs several policies"
	}
	return ""
}

// fineClock demands windows of more than three ticks.
func fineClock(l spec.Limit) string {
	for _, p := range l {
		if p.HasWindow() && 3*p.Tick >= p.Rate.Per {
			return "ticks of a third of a window hide when it ends"
		}
	}
	return ""
}

// alone demands one policy: a faster one keeps a client from using up what a slower one forgets.
func alone(l spec.Limit) string {
	switch {
	case len(l) == 1 && l[0].TTL > 0:
		return "the limit declares that it forgets clients (declare it without ttl)"
	case len(l) == 1 && l[0].Tick > 0 && 3*l[0].Tick >= windowOf(l[0]):
		return "ticks of a third of the recovery hide what was forgotten half of it early"
	case len(l) == 1:
		return ""
	}
	return "it needs one policy, as a faster one keeps a client from using up the quota of a slower one"
}

// firstOf returns the first of two objections.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// asFixedWindow returns the fixed window with the quota of p and the window in which that quota comes back.
func asFixedWindow(p spec.Policy) spec.Policy {
	return spec.Plain(spec.FixedWindow, spec.Rate{N: p.Full(), Per: windowOf(p)}, p.Full())
}

// bucketOf returns the token bucket with the rate of p and a burst.
func bucketOf(p spec.Policy, burst int64) spec.Policy {
	return spec.Plain(spec.TokenBucket, p.Rate, burst)
}

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
