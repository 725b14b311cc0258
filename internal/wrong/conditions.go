package wrong

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// maxTimer is the longest time of JavaScript's setTimeout: 2^31-1 milliseconds.
const maxTimer = (1<<31 - 1) * time.Millisecond

// Never returns a condition, which says in a sentence why a limit cannot show a defect. Empty: it can. It
// demands policies of which none is like that.
func Never(like func(spec.Policy) bool, why string) func(spec.Limit) string {
	return func(l spec.Limit) string {
		if slices.ContainsFunc(l, like) {
			return why
		}
		return ""
	}
}

// Some demands a policy that is like that.
func Some(like func(spec.Policy) bool, why string) func(spec.Limit) string {
	return func(l spec.Limit) string {
		if slices.ContainsFunc(l, like) {
			return ""
		}
		return why
	}
}

// One demands one policy, which is like that.
func One(like func(spec.Policy) bool, why string) func(spec.Limit) string {
	return func(l spec.Limit) string {
		if len(l) == 1 && like(l[0]) {
			return ""
		}
		return why
	}
}

// All demands what each of some conditions demands.
func All(of ...func(spec.Limit) string) func(spec.Limit) string {
	return func(l spec.Limit) string {
		for _, demands := range of {
			if why := demands(l); why != "" {
				return why
			}
		}
		return ""
	}
}

// OneBucket demands one bucket that refills continuously.
var OneBucket = One(func(p spec.Policy) bool { return p.Bucketed() && p.Refill != spec.RefillInterval },
	"it needs one token-bucket, gcra or leaky-bucket with continuous refill")

// onePolicy demands one policy that does not queue.
var onePolicy = One(func(p spec.Policy) bool { return !p.Queued() },
	"it needs one policy that denies rather than delays")

// QuotaTwo demands policies that admit two units at once.
var QuotaTwo = Never(func(p spec.Policy) bool { return p.Full() < 2 },
	"it needs a limit of at least 2 units at once")

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
var notFixedWindow = Never(spec.Policy.Fixed,
	"a fixed window is not a fault of a fixed window (declare another algorithm)")

var oneWindow = One(spec.Policy.HasWindow,
	"it needs one fixed-window, sliding-window-log or sliding-window-counter")

// ownWindows demands a fixed window that each partition opens for itself.
var ownWindows = Some(func(p spec.Policy) bool { return p.Fixed() && p.Align == spec.AlignFirst },
	"it needs a fixed-window with align=first")

// longWindow demands a policy with a window that is too long for setTimeout.
var longWindow = Some(func(p spec.Policy) bool { return p.Rate.Per > maxTimer },
	"it needs a rate per more than 24.8 days")

// StartsWithSome demands policies that promise a new partition some units.
var StartsWithSome = Never(func(p spec.Policy) bool { least, _ := p.StartLevels(); return least == 0 },
	"the limit allows a partition to start with nothing (declare it with start=full)")

// SeveralPolicies demands several policies that count what all of them admit.
var SeveralPolicies = All(Never(func(p spec.Policy) bool { return p.Count == spec.CountOwn || p.Queued() },
	"it needs policies that deny rather than delay, and do not count requests that others deny"),
	func(l spec.Limit) string {
		if len(l) < 2 {
			return "it needs several policies"
		}
		return ""
	})

// fineClock demands windows of more than three ticks.
var fineClock = Never(func(p spec.Policy) bool { return p.HasWindow() && 3*p.Tick >= p.Rate.Per },
	"ticks of a third of a window hide when it ends")

// alone demands one policy: a faster one keeps a client from using up what a slower one forgets. A client
// that waited for the answers of a queue has nothing left in it.
func alone(l spec.Limit) string {
	switch {
	case len(l) == 1 && l[0].Queued():
		return "a queue is empty when its answers have come, and forgets nothing then (declare another)"
	case len(l) == 1 && l[0].TTL > 0:
		return "the limit declares that it forgets clients (declare it without ttl)"
	case len(l) == 1 && l[0].Tick > 0 && 3*l[0].Tick >= WindowOf(l[0]):
		return "ticks of a third of the recovery hide what was forgotten half of it early"
	case len(l) == 1:
		return ""
	}
	return "it needs one policy, as a faster one keeps a client from using up the quota of a slower one"
}

// denialsFree demands policies under which a denied request leaves what is left as it is.
var denialsFree = Never(func(p spec.Policy) bool { return p.Count == spec.CountAll || p.Ban > 0 },
	"under count=all or ban a denial takes what is left, too (declare another)")

// forgivesAsking demands policies that do not lock a client out for as long as it asks.
var forgivesAsking = Never(
	func(p spec.Policy) bool { return p.Count == spec.CountAll || p.Refresh == spec.RefreshAll },
	"under count=all or refresh=all a client that keeps asking is kept out (declare another)")

// countsDenials demands policies for which it matters whether denied requests count. For a full fixed window,
// an empty bucket that batches or ticks of whole units fill, or a queue, it does not.
var countsDenials = Never(func(p spec.Policy) bool {
	ticks := p.Tick > 0 && p.Bucketed() && p.Tick >= p.UntilBack(1)
	return p.Fixed() || ticks || p.Refill == spec.RefillInterval || p.Queued() || p.Count == spec.CountAll ||
		p.Ban > 0 || p.Completes()
}, "it needs a bucket that refills all the time, a sliding-window-log or a sliding-window-counter that "+
	"neither counts denied requests nor bans")

// seesParts demands a policy for which parts of a second matter. They do not for windows that begin and end
// with whole seconds, for one slow bucket, and where a load of some windows hardly meets the one second in
// which a unit, or a window, comes back early.
func seesParts(l spec.Limit) string {
	if OneBucket(l) == "" && l[0].Tick < time.Second {
		return QuickBucket(1)(l)
	}
	for _, p := range l {
		if p.Tick >= time.Second {
			return "the limit declares a clock of whole seconds (declare it without tick)"
		}
		if p.Rate.N*p.Rate.N < int64(p.Rate.Per/time.Second) {
			return "a quota of so few units in so long a window hides parts of a second (declare another)"
		}
		if p.Fixed() && p.Align == spec.AlignFirst && 2*p.Rate.N < 3*int64(p.Rate.Per/time.Second) {
			return "hardly a request meets the part of a second that a window lacks (declare a faster limit)"
		}
		if p.InSlots() && p.Rate.Per <= time.Second {
			return "slots of a window of a second hide parts of it (declare it without slots)"
		}
		if !p.Fixed() || p.Align == spec.AlignFirst || p.ShortestWindow()%time.Second != 0 ||
			p.PhaseFrom%time.Second != 0 {
			return ""
		}
	}
	return "fixed windows of whole seconds by the clock hide parts of a second (declare another limit)"
}

// otherBan demands a policy that does not declare the fault's ban.
var otherBan = Some(func(p spec.Policy) bool { return WindowOf(p) < p.Ban || WindowOf(p) > p.LongestBan() },
	"the limit declares a ban of a window (declare it without ban)")

// notRefreshed demands policies that do not declare that requests restart a window.
var notRefreshed = Never(spec.Policy.Refreshes,
	"the limit declares that requests restart its window (declare it without refresh)")

// oneSlotted demands one window that is divided into slots.
var oneSlotted = One(spec.Policy.InSlots, "it needs one fixed-window in slots")

// QuickBucket demands a bucket that gives back so many units a second: what a slower one loses or gains is
// less than a unit for too long.
func QuickBucket(each int64) func(spec.Limit) string {
	slow := func(p spec.Policy) bool { return p.Rate.Less(spec.Rate{N: each, Per: time.Second}) }
	return All(OneBucket, Never(slow,
		fmt.Sprintf("a bucket slower than %d/s hides parts of a second (declare another)", each)))
}

// ClockWindow demands one fixed window that begins by the clock.
var ClockWindow = One(func(p spec.Policy) bool {
	return p.Fixed() && (p.Align == "" || p.Align == spec.AlignClock) && p.Ban == 0 && p.Tick == 0
}, "it needs one fixed-window aligned to the clock, without ban and tick")
