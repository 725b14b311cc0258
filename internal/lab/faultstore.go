package lab

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// storeFaults keep or share states wrongly.
var storeFaults = []Fault{
	{Name: "check-then-act", decider: NewRacing},
	{Name: "per-replica-counters", decider: func(b Setup) Decider { return NewPrivate(atLeastTwo(b)) }},
	{Name: "replicas-sync-late", fits: untold,
		decider: func(b Setup) Decider { return NewSyncing(atLeastTwo(b), time.Second) }},
	{Name: "quota-divided", fits: losesByEight, decider: func(b Setup) Decider { return NewDivided(b, 8) }},
	{Name: "evicts-keys", fits: untold, decider: func(b Setup) Decider { return NewEvicting(b, 64) }},
	{Name: "state-lost", fits: quotaTwo, // one unit is back before anybody sees that it was given twice
		decider: func(b Setup) Decider { return NewAmnesiac(b, 2200*time.Millisecond) }},
	{Name: "state-lost-rarely", decider: func(b Setup) Decider { return NewAmnesiac(b, time.Minute) }},
	{Name: "delays-instead", fits: untold, decider: func(b Setup) Decider {
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
	{Name: "place-leaked", fits: inFlight,
		decider: func(b Setup) Decider { return &Leaking{Decider: NewMemory(b)} }},
	{Name: "place-released-early", fits: inFlight,
		decider: func(b Setup) Decider { return Hasty{Decider: NewMemory(b)} }},
	{Name: "left-refunded", slow: true,
		fits: func(l spec.Limit) string { return firstOf(untold(l), quotaTwo(l)) },
		decider: func(b Setup) Decider {
			return &Refunding{Decider: NewMemory(b), left: map[string]int64{}}
		}},
	{Name: "counted-on-completion", fits: chargedEarly, policy: lateCharge,
		pause: func(r Ruling) time.Duration {
			if !r.Allow {
				return 0
			}
			return serviceTime
		}},
	{Name: "counted-on-decision", fits: func(l spec.Limit) string {
		for _, p := range l {
			if p.Charge == spec.ChargeCompletion {
				return ""
			}
		}
		return "it needs a limit that is charged at the completion"
	}, policy: func(p spec.Policy) spec.Policy {
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
