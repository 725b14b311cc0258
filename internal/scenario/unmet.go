package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Unmet says what this scenario needs and its target lacks. Empty: nothing is missing. A run would say
// nothing about the target. That is Inconclusive (needs-failed), and not a mistake of the file.
func (s *Scenario) Unmet() string {
	if s.Lacks != "" {
		return s.Lacks
	}
	for _, lack := range []func() string{s.unsuited, s.pricedTwice, s.backTooSoon, s.unmetPhase, s.fewKeys} {
		if why := lack(); why != "" {
			return why
		}
	}
	if s.Target.Origin == "" || (s.Target.Origin == Builtin) == (s.Target.URL == Builtin) {
		return ""
	}
	return fmt.Sprintf("target.origin is %q and target.url is %q: they are a proxy and what stands behind "+
		"it (set target.origin too)", s.Target.Origin, s.Target.URL)
}

// pricedTwice says that requests have two costs. Empty: they have not.
func (s *Scenario) pricedTwice() string {
	priced := func(p Phase) bool { return p.Priced || p.Vary.IsCost() }
	if s.Cost.Each == 0 || !slices.ContainsFunc(s.Phases, priced) {
		return ""
	}
	return fmt.Sprintf("its requests state costs of their own, and each costs %d", s.Cost.Each)
}

// unmetPhase says which phase needs a command, or that phases need limits that the target has. Empty: no
// phase lacks anything.
func (s *Scenario) unmetPhase() string {
	if s.Target.URL == Builtin {
		return ""
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Mint == MintTokens && (s.Example || len(s.Keys) < 2) {
			return fmt.Sprintf("phase %q sends the tokens of one owner, and only the embedded target "+
				"is known to have such tokens (run it alone with --api-keys FILE, a token of one owner on "+
				"each line, and example=false)", p.Name)
		}
		if s.Example && p.OwnLimit {
			return fmt.Sprintf("phase %q has a separate limit, which only the embedded target has (set "+
				"phases.%s.limit, and its path, method or header, to what the target has, and "+
				"example=false)", p.Name, p.Name)
		}
		if p.Shape == timeline.Hook && p.Event.Command == "" {
			return fmt.Sprintf("phase %q does %s to the target, and rlcheck can do that only to the "+
				"embedded target (write phases.%s.command)", p.Name, p.Event.Action, p.Name)
		}
	}
	return ""
}

// embeddedEvent is how long an event at the embedded target, and the requests around it, may take.
const embeddedEvent = 50 * time.Millisecond

// backTooSoon says that the quota that a client used up before an event may be back when the client asks
// again after it: then it cannot be told from a quota that the event gave. Empty: it cannot be back.
func (s *Scenario) backTooSoon() string {
	used := map[string]time.Duration{} // how long the events since may take
	event := ""
	for i := range s.Phases {
		p := &s.Phases[i]
		client := cmp.Or(p.Client, p.Partition)
		switch since, asked := used[client]; {
		case p.Shape == timeline.Silence:
			clear(used)
		case p.Shape == timeline.Hook:
			takes := embeddedEvent
			if s.Target.URL != Builtin {
				takes = p.Event.Timeout
			}
			for c := range used {
				used[c] += takes
			}
			event = p.Name
		case !p.Counted():
		case asked && since > 0 && soonest(p.Limit) <= since:
			mend := fmt.Sprintf("test with --limit token-bucket,rate=1/m,burst=%d", p.Limit.Full())
			if s.Target.URL != Builtin {
				mend += ", or set phases." + event + ".timeout"
			}
			return fmt.Sprintf("phase %q may take %s, and the quota is back after %s, so a forgotten one "+
				"looks the same (%s)", event, text.Short(since), text.Rough(soonest(p.Limit)), mend)
		default:
			used[client] = 0
		}
	}
	return ""
}

// soonest returns after how long every limit of l has all of its units back, if it is as fast as it may be.
func soonest(l spec.Limit) (d time.Duration) {
	for _, p := range l {
		_, fast := p.Ends()
		d = max(d, fast.Recovery())
	}
	return d
}

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
	// Successes clear a count.
	Successes Subject = "successes"
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
			return p.Fixed() && (p.Align == "" || p.Align == spec.AlignClock)
		})},
	{OwnWindows, "windows that begin with the first request of a client",
		"fixed-window,rate=20/1s,align=first",
		some(func(p spec.Policy) bool { return p.Fixed() && p.Align == spec.AlignFirst })},
	{Slots, "windows in slots", "fixed-window,rate=20/1s,slots=5",
		some(spec.Policy.InSlots)},
	{Queues, "limits that delay", "leaky-bucket-queue,rate=50/s,queue=9", some(spec.Policy.Queued)},
	{InFlight, "requests in flight", "concurrency,limit=10", some(spec.Policy.InFlight)},
	{LateCharges, "quotas that are charged on completion",
		"sliding-window-log,rate=20/5s,charge=completion,hold=50ms..1s", some(settles)},
	{Several, "several limits that hold together", "token-bucket,rate=20/s,burst=5 + " +
		"sliding-window-log,rate=30/1500ms", func(l spec.Limit) bool { return len(l) > 1 }},
	{TokenBudgets, "budgets of tokens", "fixed-window,rate=10000/1m,charge=completion,linger=1s",
		func(l spec.Limit) bool { return some(settles)(l) || countsBoth(l) }},
	{TokenLimits, "requests and tokens that are both limited", "fixed-window,rate=60/1m,unit=request + " +
		"fixed-window,rate=10000/1m,charge=completion,linger=1s", countsBoth},
	{Reserves, "estimates that are reserved, of a fortieth of the budget or more",
		"fixed-window,rate=10000/1m,reserve=500,linger=1s",
		some(func(p spec.Policy) bool { return p.Reserve > 0 && p.Reserve >= p.Full()/40 })},
	{Successes, "counts that a success clears", "fixed-window,rate=5/10m,align=first,clear=200..299",
		spec.Limit.Cleared},
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
