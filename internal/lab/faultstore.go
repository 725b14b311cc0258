package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// storeFaults keep or share states wrongly.
var storeFaults = []Fault{
	{Name: "check-then-act", Class: "A1", Sentence: "reads a state, waits one to five milliseconds, and " +
		"writes it back without a lock", Citation: "https://github.com/nestjs/throttler/issues/1303",
		decider: NewRacing},
	{Name: "per-replica-counters", Class: "A5", Sentence: "lets each replica count for itself, and deals " +
		"requests to the replicas in turn", Citation: "https://github.com/Kong/kong/issues/2669",
		decider: func(b Setup) Decider { return NewPrivate(atLeastTwo(b)) }},
	{Name: "replicas-sync-late", Class: "A6",
		Sentence: "lets replicas count for themselves, and synchronises them once a second",
		Citation: "https://github.com/Kong/kong/pull/12003",
		fits:     untold,
		decider:  func(b Setup) Decider { return NewSyncing(atLeastTwo(b), time.Second) }},
	{Name: "quota-divided", Class: "B11", Sentence: "gives each of eight replicas an eighth of the quota, " +
		"rounded down: a quota under eight becomes nothing",
		Citation: "https://github.com/envoyproxy/envoy/pull/46702", fits: losesByEight,
		decider: func(b Setup) Decider { return NewDivided(b, 8) }},
	{Name: "evicts-keys", Class: "A10", Sentence: "remembers only the last 64 partitions; all others " +
		"start anew", Citation: "https://github.com/elastic/apm-server/pull/1367", fits: untold,
		decider: func(b Setup) Decider { return NewEvicting(b, 64) }},
	{Name: "state-lost", Class: "A9",
		Sentence: "forgets every partition every 2.2 seconds",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		fits:     quotaTwo, // one unit is back before anybody sees that it was given twice
		decider:  func(b Setup) Decider { return NewAmnesiac(b, 2200*time.Millisecond) }},
	{Name: "state-lost-rarely", Class: "A9", Sentence: "forgets every partition once a minute",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		decider:  func(b Setup) Decider { return NewAmnesiac(b, time.Minute) }},
	{Name: "delays-instead", Class: "C17",
		Sentence: "delays requests without bound instead of denying them",
		Citation: "https://docs.apigee.com/api-platform/reference/policies/spike-arrest-policy",
		fits:     untold, decider: func(b Setup) Decider {
			return Patient{Decider: NewMemory(b), Clock: b.Clock}
		}},
}

// losesByEight demands a quota of which eight equal parts in whole units are less than all of it.
func losesByEight(l spec.Limit) string {
	if l.Full()%8 != 0 {
		return ""
	}
	return "an eighth of this quota is whole, so the replicas together have all of it (declare another)"
}

// atLeastTwo returns b with at least two replicas, as fewer show no fault of replication.
func atLeastTwo(b Setup) Setup {
	b.Replicas = max(2, b.Replicas)
	return b
}

// completionFaults are about the end of requests: places that come back wrongly, and charges at the wrong
// end.
var completionFaults = []Fault{
	{Name: "place-leaked", Class: "B12", Sentence: "never gives back the place of one request in four",
		Citation: "https://github.com/BerriAI/litellm/pull/30020", fits: inFlight,
		decider: func(b Setup) Decider { return &Leaking{Decider: NewMemory(b)} }},
	{Name: "place-released-early", Sentence: "gives the place of a request back when its answer begins, " +
		"not when it is complete", Citation: "https://github.com/palantir/conjure-java-runtime/pull/1255",
		fits: inFlight, decider: func(b Setup) Decider { return Hasty{Decider: NewMemory(b)} }},
	{Name: "left-refunded", Class: "A17",
		Sentence: "gives back what a request took if its client leaves before the answer is whole",
		Citation: "https://github.com/express-rate-limit/express-rate-limit/pull/108",
		slow:     true,
		fits:     func(l spec.Limit) string { return firstOf(untold(l), quotaTwo(l)) },
		decider: func(b Setup) Decider {
			return &Refunding{Decider: NewMemory(b), left: map[string]int64{}}
		}},
	{Name: "counted-on-completion", Class: "A1",
		Sentence: "counts a request when it is complete, 20 ms later, so all requests that come " +
			"together are admitted",
		Citation: "https://github.com/keygen-sh/keygen-api/issues/347",
		fits:     chargedEarly,
		policy:   lateCharge,
		pause: func(r Ruling) time.Duration {
			if !r.Allow {
				return 0
			}
			return serviceTime
		}},
	{Name: "counted-on-decision",
		Sentence: "counts a request when it is admitted, although it declares to count it when it is " +
			"complete",
		Citation: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto",
		fits: func(l spec.Limit) string {
			for _, p := range l {
				if p.Charge == spec.ChargeCompletion {
					return ""
				}
			}
			return "it needs a limit that is charged at the completion"
		},
		policy: func(p spec.Policy) spec.Policy {
			if p.Charge == spec.ChargeCompletion {
				p.Charge, p.HoldLeast, p.HoldMost, p.Linger, p.LingerSet = spec.ChargeDecision, 0, 0, 0, false
			}
			return p
		}},
}

// serviceTime is how long a target that counts too late serves a request.
const serviceTime = 20 * time.Millisecond

// inFlight demands one limit on requests in flight.
func inFlight(l spec.Limit) string {
	if len(l) == 1 && l[0].InFlight() {
		return ""
	}
	return "it needs one limit on requests in flight (concurrency)"
}

// chargedEarly demands one policy whose charge could come later.
func chargedEarly(l spec.Limit) string {
	if len(l) == 1 && !l[0].Completes() {
		if _, err := reference.New(lateCharge(l[0])); err == nil {
			return ""
		}
	}
	return "it needs one policy that counts admitted requests at the decision, and could at the completion"
}

// lateCharge returns p, charged when requests are complete.
func lateCharge(p spec.Policy) spec.Policy {
	p.Charge = spec.ChargeCompletion
	return p
}
