package target

import (
	"github.com/rlcheck/rlcheck/internal/target/state"
	"github.com/rlcheck/rlcheck/internal/target/wrong"
	"time"
)

// storeFaults are those of keeping and sharing states.
var storeFaults = []Fault{
	{
		Name: "check-then-act", Class: "A1",
		Sentence: "reads a state, takes one to five milliseconds, and writes it back without a lock",
		Citation: "https://github.com/nestjs/throttler/issues/1303",
		decider:  wrong.NewRacing,
	},
	{
		Name: "per-replica-counters", Class: "A5",
		Sentence: "each replica counts for itself, and requests go round the replicas",
		Citation: "https://github.com/Kong/kong/issues/2669",
		decider:  func(b state.Setup) state.Decider { return state.NewPrivate(atLeastTwo(b)) },
	},
	{
		Name: "replicas-sync-late", Class: "A6",
		Sentence: "replicas count for themselves and tell each other once a second",
		Citation: "https://github.com/Kong/kong/pull/12003",
		fits:     untold,
		decider: func(b state.Setup) state.Decider {
			return state.NewSyncing(atLeastTwo(b), time.Second)
		},
	},
	{
		Name: "quota-divided", Class: "B11",
		Sentence: "gives each of eight replicas an eighth of the quota, rounded down, to nothing for a " +
			"quota under eight",
		Citation: "https://github.com/envoyproxy/envoy/pull/46702",
		decider:  func(b state.Setup) state.Decider { return wrong.NewDivided(b, 8) },
	},
	{
		Name: "evicts-keys", Class: "A10",
		Sentence: "remembers the last 64 partitions only; the others are as good as new",
		Citation: "https://github.com/elastic/apm-server/pull/1367",
		fits:     untold, decider: func(b state.Setup) state.Decider { return wrong.NewEvicting(b, 64) },
	},
	{
		Name: "state-lost", Class: "A9",
		Sentence: "forgets every partition every three seconds",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		decider:  func(b state.Setup) state.Decider { return wrong.NewAmnesiac(b, 3*time.Second) },
	},
	{
		Name: "state-lost-rarely", Class: "A9",
		Sentence: "forgets every partition once a minute",
		Citation: "https://github.com/nuetzliches/hookaido/pull/239",
		decider:  func(b state.Setup) state.Decider { return wrong.NewAmnesiac(b, time.Minute) },
	},
	{
		Name: "delays-instead", Class: "C17",
		Sentence: "holds requests back until there is room, without bound, where it should deny them",
		Citation: "https://docs.apigee.com/api-platform/reference/policies/spike-arrest-policy",
		fits:     untold, decider: func(b state.Setup) state.Decider {
			return wrong.Patient{Decider: state.NewMemory(b),
				Clock: b.Clock}
		},
	},
}

// atLeastTwo returns b with two replicas or more: fewer show no fault of replication.
func atLeastTwo(b state.Setup) state.Setup {
	b.Replicas = max(2, b.Replicas)
	return b
}
