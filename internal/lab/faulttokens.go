package lab

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// tokenFaults are faults of gateways that learn the cost of a request from its answer (Options.Tokens).
var tokenFaults = []Fault{
	{Name: "tokens-one-each", fits: settles, settles: func(bill) int64 { return 1 }},
	{Name: "budget-off-by-one", fits: settlesWindows, policy: func(p spec.Policy) spec.Policy {
		if p.Unit == spec.UnitRequest {
			return p
		}
		return p.WithFull(p.Full() + 1)
	}},
	{Name: "estimate-never-settled", fits: reserves, settles: func(b bill) int64 { return b.reserve }},
	{Name: "reserve-never-released", fits: reserves,
		settles: func(b bill) int64 { return max(b.told, b.reserve) }},
	{Name: "stream-uncharged", fits: settles, settles: ofStreams(0)},
	{Name: "last-chunk-charged", fits: settles, settles: ofStreams(1)},
	{Name: "free-answers-charged", fits: settles, settles: func(b bill) int64 {
		if b.told == 0 {
			return b.stated
		}
		return b.told
	}},
	{Name: "huge-answer-free", fits: settlesHuge, settles: func(b bill) int64 {
		if b.told > b.quota {
			return b.reserve
		}
		return b.told
	}},
	{Name: "reserve-unchecked", fits: reserves, policy: func(p spec.Policy) spec.Policy {
		p.Reserve = 0
		return p
	}},
	{Name: "denied-tokens-charged", fits: paysLater, paysDenied: true,
		settles: func(b bill) int64 { return b.told }},
	{Name: "other-budget-stated", fits: wrong.SeveralPolicies, settles: func(b bill) int64 { return b.told },
		answer: otherBudget},
}

// ofStreams returns the hook that charges each streamed answer alike.
func ofStreams(units int64) func(bill) int64 {
	return func(b bill) int64 {
		if b.stream {
			return units
		}
		return b.told
	}
}

// settles demands a policy that settles the cost of a request when it is complete.
func settles(l spec.Limit) string {
	if slices.ContainsFunc(l, func(p spec.Policy) bool { return p.Charge == spec.ChargeCompletion }) {
		return ""
	}
	return "it needs a limit with charge=completion or reserve=N"
}

// settlesHuge demands that of policies whose reserve alone does not leave as little as a huge answer does.
func settlesHuge(l spec.Limit) string {
	if slices.ContainsFunc(l, func(p spec.Policy) bool { return 2*p.Reserve > p.Full() }) {
		return "it needs a reserve of at most half of the budget"
	}
	return settles(l)
}

// settlesWindows demands a policy that is full when exactly its quota is charged, and stays so.
func settlesWindows(l spec.Limit) string {
	for _, p := range l {
		if p.Charge == spec.ChargeCompletion && p.Reserve == 0 && p.Unit != spec.UnitRequest &&
			p.HasWindow() {
			return ""
		}
	}
	return "it needs a window with charge=completion and without a reserve"
}

// reserves demands a policy that reserves an estimate.
func reserves(l spec.Limit) string {
	if slices.ContainsFunc(l, func(p spec.Policy) bool { return p.Reserve > 0 }) {
		return ""
	}
	return "it needs a limit with reserve=N"
}

// paysLater demands a policy that settles, and for which it matters within seconds whether denied requests
// count: a full fixed window stays full, and what was spent is given back.
func paysLater(l spec.Limit) string {
	for _, p := range l {
		soon := p.Bucketed() && p.UntilBack(p.Full()/60+p.Reserve) <= time.Second ||
			!p.Fixed() && p.Rate.Per <= time.Second
		shorter := len(l) > 1 && l[0].Unit == spec.UnitRequest && l[0].Rate.Per <= time.Second &&
			p.Rate.Per > l[0].Rate.Per
		if p.Charge == spec.ChargeCompletion && (soon || shorter) {
			return ""
		}
	}
	return "it needs a bucket that fills in a minute, a log or a counter of a second, or requests a " +
		"second beside a longer window of tokens, with charge=completion or reserve=N"
}
