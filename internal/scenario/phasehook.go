package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// defaultHookTimeout bounds a command that has no timeout.
const defaultHookTimeout = 30 * time.Second

// hookKeys are the keys of a phase of shape hook.
func hookKeys() []field[Phase] {
	return []field[Phase]{
		key("action", choice("an action", timeline.Actions()...),
			"What happens to the target: done by the embedded one, for others by the command.",
			func(p *Phase) *timeline.Action { return &p.Event.Action }),
		key("command", commandKind(), "What a shell does to a target that is not the embedded one.",
			func(p *Phase) *string { return &p.Event.Command }),
		key("timeout", duration(time.Millisecond, time.Hour),
			"How long the command may take; 30s by default.",
			func(p *Phase) *time.Duration { return &p.Event.Timeout }),
	}
}

// commandKind is the kind of a command. It has no variables: what a shell is given stands in the file.
func commandKind() kind[string] {
	text := word("a command is text", `\S`)
	return kind[string]{schema: text.schema, read: func(d *decoder, n *tree.Node, v *string) {
		if n.Form == tree.Scalar && strings.Contains(strings.ReplaceAll(n.Raw, "$$", ""), "${") {
			d.add(n, tree.Quote(n.Raw),
				"a command has no variables of rlcheck, so that the environment does not choose what is run",
				"write $$ before a variable that the shell replaces")
			return
		}
		text.read(d, n, v)
	}}
}

// resolveHook completes a phase of shape hook.
func (p *Phase) resolveHook() {
	if p.Event.Timeout == 0 {
		p.Event.Timeout = defaultHookTimeout
	}
	if p.OwnLimit && !p.Unlimited && !p.Barred {
		p.Event.Limit = p.Limit.String()
	}
}

// checkHook reports what a phase of shape hook has and cannot use.
func checkHook(d *decoder, n *tree.Node, p *Phase) {
	if at := n.Get("limit"); at != nil && p.Event.Action != timeline.Reload {
		d.add(at, "limit", "an action "+string(p.Event.Action)+" changes no limit",
			"remove it, or write action: reload")
	} else if p.spec.limit.none || p.spec.limit.zero {
		d.add(at, tree.Quote(at.Text), "a limit that is read again is one that counts",
			"write a SPEC or a multiple")
	}
}

// unmetPhase says which phase needs a command, or that phases need limits that the target has; empty where
// none does.
func (s *Scenario) unmetPhase() string {
	if s.Target.URL == Builtin {
		return ""
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Mint == MintTokens && (s.Example || len(s.Keys) < 2) {
			return fmt.Sprintf("phase %q sends the tokens of one owner, which only the embedded target is "+
				"known to have (run it alone with --keys FILE, a token of one owner on each line, and "+
				"example=false)", p.Name)
		}
		if s.Example && p.OwnLimit {
			return fmt.Sprintf("phase %q is held to a limit of its own, which only the embedded target has "+
				"(set phases.%s.limit, and its path, method or header, "+
				"to what the target has, and example=false)", p.Name, p.Name)
		}
		if p.Shape == timeline.Hook && p.Event.Command == "" {
			return fmt.Sprintf("phase %q does %s to the target, and rlcheck can do that to the embedded "+
				"one only (write phases.%s.command)",
				p.Name, p.Event.Action, p.Name)
		}
	}
	return ""
}
