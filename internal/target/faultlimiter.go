package target

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// limiterFaults are those that keep a partition's state wrongly.
var limiterFaults = []Fault{
	{
		Name: "cap-not-applied", Class: "A21",
		Sentence: "an idle bucket goes on filling beyond its burst",
		Citation: "https://github.com/mailgun/gubernator/pull/87",
		fits:     oneBucket, limiter: sloppy(sloppyBucket{uncapped: true}),
	},
	{
		Name: "refill-truncated", Class: "B4",
		Sentence: "refills for whole seconds only and throws the rest of the time away",
		Citation: "https://github.com/symfony/symfony/issues/42627",
		fits:     oneBucket, limiter: sloppy(sloppyBucket{step: time.Second}),
	},
	{
		Name: "refill-whole-units", Class: "B4",
		Sentence: "refills whole units only and throws the remainder away at each request",
		Citation: "https://github.com/varnish/varnish-modules/pull/243",
		fits:     oneBucket, limiter: sloppy(sloppyBucket{wholeUnits: true}),
	},
	{
		Name: "idle-overflow", Class: "A20",
		Sentence: "keeps the time since the last request in 32 bits of nanoseconds: after two idle seconds " +
			"it takes units away",
		Citation: "https://github.com/bucket4j/bucket4j/issues/51",
		fits:     oneBucket, limiter: sloppy(sloppyBucket{narrow: true}),
	},
	{
		Name: "clock-skew", Class: "A7",
		Sentence: "lets two front ends with clocks half a second apart stamp requests in turn, and " +
			"believes both",
		Citation: "https://github.com/spring-cloud/spring-cloud-gateway/issues/2412",
		fits:     oneBucket, limiter: sloppy(sloppyBucket{skew: 500 * time.Millisecond}),
	},
	{
		Name: "denied-counted", Class: "B3",
		Sentence: "denied requests use up units too, so that overload admits next to nothing",
		Citation: "https://github.com/peterkhayes/rolling-rate-limiter/issues/9",
		fits:     countsDenials,
		policy: func(p spec.Policy) spec.Policy {
			p.Count = spec.CountAll
			return p
		},
	},
	{
		Name: "coarse-clock", Class: "B5",
		Sentence: "counts time in whole seconds",
		Citation: "https://github.com/spring-cloud/spring-cloud-gateway/issues/1117",
		fits:     seesParts,
		limiter: func(l reference.Limiter, _ spec.Limit) reference.Limiter {
			return coarse{inner: l, step: time.Second}
		},
	},
	{
		Name: "never-recovers", Class: "B1",
		Sentence: "denies a partition for ever after its first denial",
		Citation: "https://github.com/redis/redis/issues/4548",
		limiter:  func(l reference.Limiter, _ spec.Limit) reference.Limiter { return lockedOut{inner: l} },
	},
	{
		Name: "ban-after-denial", Class: "B10",
		Sentence: "denies a partition for a whole window after a denial",
		Citation: "https://github.com/nestjs/throttler/issues/2208",
		fits:     otherBan,
		policy: func(p spec.Policy) spec.Policy {
			p.Ban = windowOf(p)
			return p
		},
	},
	{
		Name: "log-members-collide", Class: "A12",
		Sentence: "keeps a log of admissions by their millisecond, in which two of one millisecond are one",
		Citation: "https://github.com/peterkhayes/rolling-rate-limiter/issues/11",
		fits:     onePolicy,
		limiter: func(_ reference.Limiter, limit spec.Limit) reference.Limiter {
			return collidingLog{quota: limit[0].Full(), window: windowOf(limit[0])}
		},
	},
	{
		Name: "idle-timer", Class: "B2",
		Sentence: "every request starts the window anew, so that only silence ends it",
		Citation: "https://github.com/jsocol/django-ratelimit/issues/45",
		fits:     func(l spec.Limit) string { return firstOf(onePolicy(l), notRefreshed(l)) },
		limiter: func(_ reference.Limiter, limit spec.Limit) reference.Limiter {
			return idleTimer{quota: limit[0].Full(), window: windowOf(limit[0])}
		},
	},
	{
		Name: "slots-never-turn", Class: "B2",
		Sentence: "starts its slot anew with every request, so that the slots of a window turn only after " +
			"silences",
		Citation: "https://github.com/salvo-rs/salvo/pull/1550",
		fits:     oneSlotted,
		limiter: func(l reference.Limiter, limit spec.Limit) reference.Limiter {
			return stuckSlots{inner: l, slot: limit[0].Slot()}
		},
	},
	{
		Name: "state-expires-early", Class: "A11",
		Sentence: "forgets a partition after half the silence that it needs to recover",
		Citation: "https://github.com/Southclaws/swirl/issues/2",
		limiter: func(l reference.Limiter, limit spec.Limit) reference.Limiter {
			return forgetful{inner: l, ttl: recovery(limit) / 2}
		},
	},
	{
		Name: "counted-twice", Class: "B7",
		Sentence: "counts every request twice",
		Citation: "https://github.com/laravel/framework/issues/51967",
		fits:     quotaTwo,
		limiter: func(l reference.Limiter, _ spec.Limit) reference.Limiter {
			return charged{inner: l, cost: func(c int64) int64 { return 2 * c }}
		},
	},
	{
		Name: "cost-ignored", Class: "A18", Promise: "cost",
		Sentence: "takes one unit for a request, whatever its cost",
		Citation: "https://github.com/rwz/redis-gcra/issues/6",
		fits:     quotaTwo,
		limiter: func(l reference.Limiter, _ spec.Limit) reference.Limiter {
			return charged{inner: l, cost: func(int64) int64 { return 1 }}
		},
	},
	{
		Name: "cost-over-limit-free", Class: "A18",
		Sentence: "admits a request that costs more than the whole quota, and takes nothing for it",
		Citation: "https://github.com/alisaifee/limits/issues/151",
		limiter:  func(l reference.Limiter, _ spec.Limit) reference.Limiter { return generous{l} },
	},
	{
		Name: "denied-cost-burns-rest", Class: "A18",
		Sentence: "a request that is denied for its cost uses up what was left",
		Citation: "https://github.com/upstash/ratelimit-js/pull/161",
		fits:     quotaTwo,
		limiter:  func(l reference.Limiter, _ spec.Limit) reference.Limiter { return burning{l} },
	},
}

// recovery returns the longest silence that a policy of limit needs to be as good as new.
func recovery(limit spec.Limit) time.Duration {
	var longest time.Duration
	for _, p := range limit {
		longest = max(longest, windowOf(p))
	}
	return longest
}

// countsDenials wants policies that can tell denied requests from none: a full fixed window cannot, nor can a
// queue.
func countsDenials(l spec.Limit) string {
	for _, p := range l {
		if p.Fixed() || p.Queued() || p.Count == spec.CountAll || p.Completes() {
			return "it needs a bucket, a sliding-window-log or a sliding-window-counter that does not " +
				"count denied requests"
		}
	}
	return ""
}

// seesParts wants a policy that parts of a second matter to: windows that begin and end with whole ones are
// the same without.
func seesParts(l spec.Limit) string {
	for _, p := range l {
		if !p.Fixed() || p.Align == spec.AlignFirst || p.Slot()%time.Second != 0 ||
			p.PhaseFrom%time.Second != 0 {
			return ""
		}
	}
	return "fixed windows of whole seconds by the clock do not see parts of a second (declare another limit)"
}

// otherBan wants a policy that does not declare the ban that the fault has.
func otherBan(l spec.Limit) string {
	for _, p := range l {
		if ban := windowOf(p); ban < p.Ban || ban > p.LongestBan() {
			return ""
		}
	}
	return "a ban of a window is what the limit declares (declare it without ban)"
}

// notRefreshed wants policies that do not declare that requests start a window anew.
func notRefreshed(l spec.Limit) string {
	for _, p := range l {
		if p.Refreshes() {
			return "a window that requests start anew is what the limit declares (declare it without refresh)"
		}
	}
	return ""
}

// drained uses up a partition's units when it is first seen.
type drained struct {
	inner reference.Limiter
	units int64
}

type drainedState struct {
	inner reference.State
	seen  bool
}

// Init returns the state of a partition never seen.
func (l drained) Init() reference.State { return drainedState{inner: l.inner.Init()} }

// Step takes the units away before it decides on the first request.
func (l drained) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	d := s.(drainedState)
	if !d.seen {
		d.inner, _ = l.inner.Step(d.inner, at, l.units)
		d.seen = true
	}
	var out reference.Decision
	d.inner, out = l.inner.Step(d.inner, at, cost)
	return d, out
}

// coarse rounds time down to a step.
type coarse struct {
	inner reference.Limiter
	step  time.Duration
}

// Init returns the state of a partition never seen.
func (l coarse) Init() reference.State { return l.inner.Init() }

// Step decides as the inner limiter would at the last tick.
func (l coarse) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return l.inner.Step(s, at-at%l.step, cost)
}

// lockedOut denies everything after a denial, and tells clients what the inner limiter would have told them.
type lockedOut struct{ inner reference.Limiter }

type lockedOutState struct {
	inner  reference.State
	denied bool
}

// Init returns the state of a partition never seen.
func (l lockedOut) Init() reference.State { return lockedOutState{inner: l.inner.Init()} }

// Step decides until it has denied.
func (l lockedOut) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	state := s.(lockedOutState)
	next, d := l.inner.Step(state.inner, at, cost)
	if !state.denied {
		return lockedOutState{inner: next, denied: !d.Allow}, d
	}
	d.Allow, d.Delay, d.Remaining, d.RetryAfter = false, 0, 0, max(d.RetryAfter, 1)
	return state, d
}

// idleTimer is a counter with a time to live that every request renews.
type idleTimer struct {
	quota  int64
	window time.Duration
}

type idleTimerState struct {
	used int64
	last time.Duration
}

// Init returns the state of a partition never seen.
func (l idleTimer) Init() reference.State { return idleTimerState{} }

// Step counts cost into the window that the last request has started.
func (l idleTimer) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	c := s.(idleTimerState)
	if at-c.last >= l.window {
		c.used = 0
	}
	c.last = at
	d := reference.Decision{Allow: c.used+cost <= l.quota, Reset: l.window}
	if d.Allow {
		c.used += cost
	} else {
		d.RetryAfter = l.window
	}
	d.Remaining = l.quota - c.used
	return c, d
}

// forgetful starts a partition anew after a silence of ttl.
type forgetful struct {
	inner reference.Limiter
	ttl   time.Duration
}

type forgetfulState struct {
	inner reference.State
	last  time.Duration
}

// Init returns the state of a partition never seen.
func (l forgetful) Init() reference.State { return forgetfulState{inner: l.inner.Init()} }

// Step decides on what it still remembers.
func (l forgetful) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	f := s.(forgetfulState)
	if at-f.last >= l.ttl {
		f.inner = l.inner.Init()
	}
	f.last = at
	var d reference.Decision
	f.inner, d = l.inner.Step(f.inner, at, cost)
	return f, d
}

// charged takes another cost than the request has.
type charged struct {
	inner reference.Limiter
	cost  func(int64) int64
}

// Init returns the state of a partition never seen.
func (l charged) Init() reference.State { return l.inner.Init() }

// Step decides on the other cost.
func (l charged) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	return l.inner.Step(s, at, l.cost(cost))
}

// generous admits what costs more than the inner limiter ever admits.
type generous struct{ reference.Limiter }

// Step takes nothing for a request that is too large.
func (l generous) Step(s reference.State, at time.Duration, cost int64) (reference.State,
	reference.Decision) {
	next, d := l.Limiter.Step(s, at, cost)
	if !d.Allow && d.RetryAfter == reference.Never {
		d.Allow, d.RetryAfter = true, 0
		return s, d
	}
	return next, d
}

// burning takes what is left where a request is denied.
type burning struct{ reference.Limiter }

// Step uses up the units left after a denial.
func (l burning) Step(s reference.State, at time.Duration, cost int64) (reference.State, reference.Decision) {
	next, d := l.Limiter.Step(s, at, cost)
	if !d.Allow && d.Remaining > 0 {
		next, _ = l.Limiter.Step(next, at, d.Remaining)
		d.Remaining = 0
	}
	return next, d
}
