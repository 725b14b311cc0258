package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// limiterFaults keep a partition's state wrongly.
var limiterFaults = []Fault{
	{Name: "cap-not-applied", Class: "A21", Sentence: "fills an idle bucket beyond its burst",
		Citation: "https://github.com/mailgun/gubernator/pull/87", fits: oneBucket,
		limiter: sloppy(WrongBucket{Uncapped: true})},
	{Name: "refill-truncated", Class: "B4", Sentence: "refills only for whole seconds, and throws the " +
		"rest of the time away", Citation: "https://github.com/symfony/symfony/issues/42627",
		fits: quickBucket(1), limiter: sloppy(WrongBucket{Tick: time.Second})},
	{Name: "refill-whole-units", Class: "B4", Sentence: "refills only whole units, and throws the " +
		"remainder away at each request", Citation: "https://github.com/varnish/varnish-modules/pull/243",
		fits: oneBucket, limiter: sloppy(WrongBucket{WholeUnits: true})},
	{Name: "idle-overflow", Class: "A20", Sentence: "keeps the time since the last request in 32 bits of " +
		"nanoseconds, so after two idle seconds it takes units away",
		Citation: "https://github.com/bucket4j/bucket4j/issues/51", fits: oneBucket,
		limiter: sloppy(WrongBucket{Narrow: true})},
	{Name: "clock-skew", Class: "A7", Sentence: "lets two front ends with clocks half a second apart " +
		"stamp requests in turn, and believes both",
		Citation: "https://github.com/spring-cloud/spring-cloud-gateway/issues/2412", fits: quickBucket(2),
		limiter: sloppy(WrongBucket{Skew: 500 * time.Millisecond})},
	{Name: "denied-counted", Class: "B3",
		Sentence: "counts denied requests too, so overload admits next to nothing",
		Citation: "https://github.com/peterkhayes/rolling-rate-limiter/issues/9",
		fits:     countsDenials,
		policy: func(p spec.Policy) spec.Policy {
			p.Count = spec.CountAll
			return p
		}},
	{Name: "coarse-clock", Class: "B5",
		Sentence: "counts time in whole seconds",
		Citation: "https://github.com/spring-cloud/spring-cloud-gateway/issues/1117",
		fits:     seesParts,
		limiter: func(l reference.Limiter, _ spec.Limit) reference.Limiter {
			return Coarse{Inner: l, Tick: time.Second}
		}},
	{Name: "never-recovers", Class: "B1",
		Sentence: "denies a partition for ever after its first denial",
		Citation: "https://github.com/redis/redis/issues/4548",
		limiter:  func(l reference.Limiter, _ spec.Limit) reference.Limiter { return LockedOut{Inner: l} }},
	{Name: "ban-after-denial", Class: "B10",
		Sentence: "denies a partition for a whole window after a denial",
		Citation: "https://github.com/nestjs/throttler/issues/2208",
		fits:     otherBan,
		policy: func(p spec.Policy) spec.Policy {
			p.Ban = windowOf(p)
			return p
		}},
	{Name: "log-members-collide", Class: "A12",
		Sentence: "keeps its log of admissions in milliseconds, so two admissions in one millisecond " +
			"count as one",
		Citation: "https://github.com/peterkhayes/rolling-rate-limiter/issues/11",
		fits:     func(l spec.Limit) string { return firstOf(onePolicy(l), quotaTwo(l)) },
		limiter: func(_ reference.Limiter, limit spec.Limit) reference.Limiter {
			return CollidingLog{Quota: limit[0].Full(), Window: windowOf(limit[0])}
		}},
	{Name: "idle-timer", Class: "B2",
		Sentence: "restarts the window with every request, so only silence ends the window",
		Citation: "https://github.com/jsocol/django-ratelimit/issues/45",
		fits:     func(l spec.Limit) string { return firstOf(onePolicy(l), notRefreshed(l)) },
		limiter: func(_ reference.Limiter, limit spec.Limit) reference.Limiter {
			return IdleTimer{Quota: limit[0].Full(), Window: windowOf(limit[0])}
		}},
	{Name: "slots-never-turn", Class: "B2",
		Sentence: "restarts its slot with every request, so the slots of a window turn only after silences",
		Citation: "https://github.com/salvo-rs/salvo/pull/1550",
		fits:     oneSlotted,
		limiter: func(l reference.Limiter, limit spec.Limit) reference.Limiter {
			return StuckSlots{Inner: l, Slot: limit[0].Slot()}
		}},
	{Name: "state-expires-early", Class: "A11",
		Sentence: "forgets a partition after half of the silence that the limit needs to recover",
		Citation: "https://github.com/Southclaws/swirl/issues/2",
		limiter: func(l reference.Limiter, limit spec.Limit) reference.Limiter {
			return Forgetful{Inner: l, Ttl: recovery(limit) / 2}
		}},
	{Name: "counted-twice", Class: "B7",
		Sentence: "counts every request twice",
		Citation: "https://github.com/laravel/framework/issues/51967",
		fits:     quotaTwo,
		limiter: func(l reference.Limiter, _ spec.Limit) reference.Limiter {
			return Charged{Inner: l, Cost: func(c int64) int64 { return 2 * c }}
		}},
	{Name: "cost-ignored", Class: "A18", Promise: "cost",
		Sentence: "takes one unit for a request, whatever its cost",
		Citation: "https://github.com/rwz/redis-gcra/issues/6",
		fits:     quotaTwo,
		limiter: func(l reference.Limiter, _ spec.Limit) reference.Limiter {
			return Charged{Inner: l, Cost: func(int64) int64 { return 1 }}
		}},
	{Name: "cost-over-limit-free", Class: "A18",
		Sentence: "admits a request that costs more than the whole quota, and takes nothing for it",
		Citation: "https://github.com/alisaifee/limits/issues/151",
		limiter:  func(l reference.Limiter, _ spec.Limit) reference.Limiter { return Generous{Limiter: l} }},
	{Name: "denied-cost-burns-rest", Class: "A18",
		Sentence: "uses up the rest of the quota when it denies a request for its cost",
		Citation: "https://github.com/upstash/ratelimit-js/pull/161",
		fits:     quotaTwo,
		limiter:  func(l reference.Limiter, _ spec.Limit) reference.Limiter { return Burning{Limiter: l} }},
}

// recovery returns the longest silence after which a policy of limit is as good as new.
func recovery(limit spec.Limit) time.Duration {
	var longest time.Duration
	for _, p := range limit {
		longest = max(longest, windowOf(p))
	}
	return longest
}

// countsDenials demands policies for which it matters whether denied requests count. For a full fixed window,
// or a queue, it does not.
func countsDenials(l spec.Limit) string {
	for _, p := range l {
		if p.Fixed() || p.Queued() || p.Count == spec.CountAll || p.Completes() {
			return "it needs a bucket, a sliding-window-log or a sliding-window-counter that does not " +
				"count denied requests"
		}
	}
	return ""
}

// seesParts demands a policy for which parts of a second matter. They do not for windows that begin and end
// with whole seconds, for one slow bucket, and where a load of some windows hardly meets the one second in
// which a unit comes back early.
func seesParts(l spec.Limit) string {
	if oneBucket(l) == "" {
		return quickBucket(1)(l)
	}
	for _, p := range l {
		if p.Rate.N*p.Rate.N < int64(p.Rate.Per/time.Second) {
			return "a quota of so few units in so long a window hides parts of a second (declare another)"
		}
		if !p.Fixed() || p.Align == spec.AlignFirst || p.Slot()%time.Second != 0 ||
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

// sloppy returns the limiter hook that serves the first policy with the defect of b.
func sloppy(b WrongBucket) func(reference.Limiter, spec.Limit) reference.Limiter {
	return func(_ reference.Limiter, l spec.Limit) reference.Limiter { return b.Serving(l[0]) }
}

// oneSlotted demands one fixed window that is divided into slots.
func oneSlotted(l spec.Limit) string {
	if len(l) == 1 && l[0].Slots > 1 {
		return ""
	}
	return "it needs one fixed-window in slots"
}
