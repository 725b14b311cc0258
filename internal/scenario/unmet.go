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
	if why := s.unsuited(); why != "" {
		return why
	}
	if priced := func(p Phase) bool { return p.Priced || p.Vary.IsCost() }; s.Cost.Each > 0 &&
		slices.ContainsFunc(s.Phases, priced) {
		return fmt.Sprintf("its requests state costs of their own, and each costs %d", s.Cost.Each)
	}
	if why := s.backTooSoon(); why != "" {
		return why
	}
	if why := s.unmetPhase(); why != "" {
		return why
	}
	if why := s.fewKeys(); why != "" {
		return why
	}
	if s.Target.Origin == "" || (s.Target.Origin == Builtin) == (s.Target.URL == Builtin) {
		return ""
	}
	return fmt.Sprintf("target.origin is %q and target.url is %q: they are a proxy and what stands behind "+
		"it (set target.origin too)",
		s.Target.Origin, s.Target.URL)
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
				"embedded target (write phases.%s.command)",
				p.Name, p.Event.Action, p.Name)
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
