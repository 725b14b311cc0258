package scenario

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Unmet says what this scenario needs and its target lacks. Empty: nothing is missing. A run would say
// nothing about the target. That is Inconclusive (needs-failed), and not a mistake of the file.
func (s *Scenario) Unmet() string {
	if s.Lacks != "" {
		return s.Lacks
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
				"is known to have such tokens (run it alone with --keys FILE, a token of one owner on "+
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
