package scenario

import (
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// defaultHookTimeout bounds a command that has no timeout.
const defaultHookTimeout = 30 * time.Second

// hookKeys are the keys of a phase of shape hook.
func hookKeys() []field[*phaseDraft] {
	return []field[*phaseDraft]{
		key("action", choice("an action", timeline.Actions()...),
			"What happens to the target. The embedded target does it by itself; others need the "+
				"command.",
			func(p *phaseDraft) *timeline.Action { return &p.Event.Action }),
		key("command", commandKind(), "What a shell does to a target other than the embedded one.",
			func(p *phaseDraft) *string { return &p.Event.Command }),
		key("timeout", duration(time.Millisecond, time.Hour),
			"How long the command may take; 30s by default.",
			func(p *phaseDraft) *time.Duration { return &p.Event.Timeout }),
	}
}

// commandKind is the kind of a command. It has no variables, so the file shows what the shell is given.
func commandKind() kind[*string] {
	text := word("a command is text", `\S`)
	return kind[*string]{schema: text.schema, read: func(d *decoder, n *tree.Node, v *string) {
		if n.Form == tree.Scalar && strings.Contains(strings.ReplaceAll(n.Raw, "$$", ""), "${") {
			d.add(n, tree.Quote(n.Raw),
				"a command has no variables of rlcheck, so that the environment cannot choose what runs",
				"write $$ before a variable that the shell replaces")
			return
		}
		text.read(d, n, v)
	}}
}

// resolveHook completes a phase of shape hook.
func (p *phaseDraft) resolveHook() {
	if p.Event.Timeout == 0 {
		p.Event.Timeout = defaultHookTimeout
	}
	if p.OwnLimit && !p.Unlimited && !p.Barred {
		p.Event.Limit = p.Limit.String()
	}
}

// checkHook reports keys of a phase of shape hook that it cannot use.
func checkHook(d *decoder, n *tree.Node, p *phaseDraft) {
	if at := n.Get("limit"); at != nil && p.Event.Action != timeline.Reload {
		d.add(at, "limit", "an action "+string(p.Event.Action)+" changes no limit",
			"remove it, or write action: reload")
	} else if p.limit.none || p.limit.zero {
		d.add(at, tree.Quote(at.Text), "a limit that is reloaded must count",
			"write a SPEC or a multiple")
	}
}
