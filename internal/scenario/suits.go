package scenario

import (
	"fmt"
	"slices"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Subject is the part of a limit that a scenario is about. At a limit without it the scenario is not run,
// since its title would say nothing.
type Subject string

// The subjects. Empty: the scenario is about every limit.
const (
	Windows      Subject = "windows"
	FixedWindows Subject = "fixed-windows"
	OwnWindows   Subject = "own-windows"
	Slots        Subject = "slots"
	Queues       Subject = "queues"
	InFlight     Subject = "in-flight"
	LateCharges  Subject = "late-charges"
	Several      Subject = "several"
	// TokenBudgets count what answers cost. TokenLimits count requests beside them.
	TokenBudgets Subject = "token-budgets"
	TokenLimits  Subject = "token-limits"
	Reserves     Subject = "reserves"
)

// subjects says of each subject what it is, which limits have it, and one that has it.
var subjects = []struct {
	Subject
	what, example string
	of            func(spec.Limit) bool
}{
	{Windows, "windows", "fixed-window,rate=20/1s", some(spec.Policy.HasWindow)},
	{FixedWindows, "windows that begin by the clock", "fixed-window,rate=20/1200ms",
		some(func(p spec.Policy) bool {
			return p.Fixed() && (p.Align == "" || p.Align == spec.AlignClock) && p.Slots < 2
		})},
	{OwnWindows, "windows that begin with the first request of a client",
		"fixed-window,rate=20/1s,align=first",
		some(func(p spec.Policy) bool { return p.Fixed() && p.Align == spec.AlignFirst })},
	{Slots, "windows in slots", "fixed-window,rate=20/1s,slots=5",
		some(func(p spec.Policy) bool { return p.Slots > 1 })},
	{Queues, "limits that delay", "leaky-bucket-queue,rate=50/s,queue=9", some(spec.Policy.Queued)},
	{InFlight, "requests in flight", "concurrency,limit=10", some(spec.Policy.InFlight)},
	{LateCharges, "quotas that are charged on completion",
		"sliding-window-log,rate=20/5s,charge=completion,hold=50ms..1s",
		some(settles)},
	{Several, "several limits that hold together",
		"token-bucket,rate=20/s,burst=5 + sliding-window-log,rate=30/1500ms",
		func(l spec.Limit) bool { return len(l) > 1 }},
	{TokenBudgets, "budgets of tokens", "fixed-window,rate=10000/1m,charge=completion,linger=1s",
		func(l spec.Limit) bool { return some(settles)(l) || countsBoth(l) }},
	{TokenLimits, "requests and tokens that are both limited", "fixed-window,rate=60/1m,unit=request + " +
		"fixed-window,rate=10000/1m,charge=completion,linger=1s", countsBoth},
	{Reserves, "estimates that are reserved", "fixed-window,rate=10000/1m,reserve=500,linger=1s",
		some(func(p spec.Policy) bool { return p.Reserve > 0 })},
}

// settles tells whether a policy counts the cost of an answer when it is complete.
func settles(p spec.Policy) bool { return p.Completes() && !p.InFlight() }

// countsBoth tells whether one policy counts requests, and another one what they cost.
func countsBoth(l spec.Limit) bool {
	requests := func(p spec.Policy) bool { return p.Unit == spec.UnitRequest }
	return some(requests)(l) && some(func(p spec.Policy) bool { return !requests(p) })(l)
}

// some tells of a limit whether one of its policies is so.
func some(is func(spec.Policy) bool) func(spec.Limit) bool {
	return func(l spec.Limit) bool { return slices.ContainsFunc(l, is) }
}

// Subjects lists all subjects.
func Subjects() (all []Subject) {
	for _, x := range subjects {
		all = append(all, x.Subject)
	}
	return all
}

// unsuited says that the limit lacks what the scenario is about, and names one that has it. Empty: it has it.
func (s *Scenario) unsuited() string {
	for _, x := range subjects {
		if x.Subject == s.Suits && !x.of(s.Limit) {
			return fmt.Sprintf("it is about %s, which %s has not (--limit '%s' has)", x.what, s.Limit,
				x.example)
		}
	}
	return ""
}
