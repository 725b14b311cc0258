package target

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/target/state"
	"github.com/rlcheck/rlcheck/internal/target/wrong"
)

// completionFaults are those about the end of requests: places that come back wrongly, and charges at the
// wrong end.
var completionFaults = []Fault{
	{
		Name: "place-leaked", Class: "B12",
		Sentence: "never gives back the place of one request in four",
		Citation: "https://github.com/BerriAI/litellm/pull/30020",
		fits:     inFlight,
		decider:  func(b state.Setup) state.Decider { return &wrong.Leaking{Decider: state.NewMemory(b)} },
	},
	{
		Name: "place-released-early",
		Sentence: "gives the place of a request back when its answer begins to be made, not when it is " +
			"complete",
		Citation: "https://github.com/palantir/conjure-java-runtime/pull/1255",
		fits:     inFlight,
		decider:  func(b state.Setup) state.Decider { return wrong.Hasty{Decider: state.NewMemory(b)} },
	},
	{
		Name: "counted-on-completion", Class: "A1",
		Sentence: "counts a request when it is complete, 20 ms later: whatever comes together is admitted",
		Citation: "https://github.com/keygen-sh/keygen-api/issues/347",
		fits:     chargedEarly,
		policy:   lateCharge,
		pause: func(r state.Ruling) time.Duration {
			if !r.Allow {
				return 0
			}
			return serviceTime
		},
	},
	{
		Name:     "counted-on-decision",
		Sentence: "counts a request when it is admitted, where it declares to count it when it is complete",
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
		},
	},
}

// serviceTime is how long a target that counts too late serves a request.
const serviceTime = 20 * time.Millisecond

// inFlight wants one limit on requests in flight.
func inFlight(l spec.Limit) string {
	if len(l) == 1 && l[0].InFlight() {
		return ""
	}
	return "it needs one limit on requests in flight (concurrency)"
}

// chargedEarly wants one policy whose charge could come later.
func chargedEarly(l spec.Limit) string {
	if len(l) == 1 && !l[0].Completes() {
		if _, err := reference.New(lateCharge(l[0])); err == nil {
			return ""
		}
	}
	return "it needs one policy that counts admitted requests at the decision, and could at the completion"
}

// lateCharge returns p charged when requests are complete.
func lateCharge(p spec.Policy) spec.Policy {
	p.Charge = spec.ChargeCompletion
	return p
}
