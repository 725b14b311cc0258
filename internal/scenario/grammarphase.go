package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// phaseDraft is a phase as it is written, before its multiples are resolved.
type phaseDraft struct {
	Phase
	at             *tree.Node
	requests       amount
	rate, from, to speed
	duration       span
	lead, window   span
	aim            timeline.Aim
	cost           amount
	limit          phaseLimit
	clients        amount
	retry          retryDraft
	rates          []speed
}

// aimAuto chooses the aim by the alignment of the limit.
const aimAuto timeline.Aim = "auto"

// shapeKeys are the keys of a phase, without name, shape, partition, origin, forge and cost.
type shapeKeys struct {
	shape timeline.Shape
	// The keys in needs must be there. Exactly one of oneOf must be there. Those of may are optional.
	needs, oneOf, may []string
}

// shapes is the table of the keys of each shape. The decoder and the schema both follow it.
var shapes = []shapeKeys{
	{shape: timeline.AtOnce, needs: []string{"requests"}, may: []string{"clients"}},
	{shape: timeline.Constant, needs: []string{"rate"}, oneOf: []string{"duration", "requests"}},
	{shape: timeline.Ramp, needs: []string{"from", "to"}, oneOf: []string{"duration", "requests"}},
	{shape: timeline.Silence, needs: []string{"duration"}},
	{shape: timeline.Closed, needs: []string{"clients", "requests"}, may: []string{"duration"}},
	{shape: timeline.HonorRetryAfter, needs: []string{"clients", "duration"}, may: []string{"requests"}},
	{shape: timeline.Boundary, needs: []string{"requests"}, may: []string{"aim", "lead", "window"}},
	{shape: timeline.Steps, needs: []string{"rates", "duration"}},
	{shape: timeline.Poisson, needs: []string{"rate"}, oneOf: []string{"duration", "requests"}},
	{shape: timeline.Backoff, needs: []string{"clients", "duration", "retry"}, may: []string{"requests"}},
	{shape: timeline.Hook, needs: []string{"action"}, may: []string{"command", "timeout"}},
}

// ofSomeShape tells whether only some shapes take a key.
func ofSomeShape(key string) bool {
	return slices.ContainsFunc(shapes, func(s shapeKeys) bool { return slices.Contains(s.takes(), key) })
}

// takes returns the keys that the shape takes.
func (k shapeKeys) takes() []string { return slices.Concat(k.needs, k.oneOf, k.may) }

// phaseKind is the kind of a phase.
func phaseKind() kind[*phaseDraft] {
	names := make([]timeline.Shape, 0, len(shapes))
	for _, s := range shapes {
		names = append(names, s.shape)
	}
	name := word("a name has lower case letters, digits and dashes, and begins with a letter",
		phaseNamePattern)
	header := word("a field name is an HTTP token", tokenPattern)
	k := object("a phase", slices.Concat([]field[*phaseDraft]{
		key("name", name, "A name of its own; reports refer to it.",
			func(p *phaseDraft) *string { return &p.Name }).must(),
		key("shape", choice("a shape", names...), "How the requests are timed.",
			func(p *phaseDraft) *timeline.Shape { return &p.Shape }).must(),
		key("requests", amountOf("requests", MaxRequests),
			`Requests of each partition: a number, or a multiple of what a full start admits ("2x", "2x+5").`,
			func(p *phaseDraft) *amount { return &p.requests }),
		key("rate", speedKind(),
			`Requests per time of each partition: "100/s", or a multiple of the limit's rate ("10x").`,
			func(p *phaseDraft) *speed { return &p.rate }),
		key("from", speedKind(), "The rate at the beginning of a ramp.",
			func(p *phaseDraft) *speed { return &p.from }),
		key("to", speedKind(), "The rate at the end of a ramp.", func(p *phaseDraft) *speed { return &p.to }),
		key("duration", spanKind(),
			`How long the phase lasts: "5s", or a multiple of the time after which the `+
				`limit is as good as new ("1.1x").`, func(p *phaseDraft) *span { return &p.duration }),
		key("clients", amountOf("clients", maxConnections),
			`The number of clients, over all partitions: a number, or a multiple of what a full start `+
				`admits ("1.5x"). Of at-once, as among.`, func(p *phaseDraft) *amount { return &p.clients }),
		key("among", whole("a number of partitions", 1, maxPartitions),
			"How many partitions take part; all by default.", func(p *phaseDraft) *int { return &p.Among }),
		key("aim", choice("an aim", aimAuto, timeline.AimClock, timeline.AimReset, timeline.AimProbe,
			timeline.AimFirst), "How the window boundary is found; auto by default.",
			func(p *phaseDraft) *timeline.Aim { return &p.aim }),
		key("lead", spanKind(), "The gap on each side of the boundary; 25ms by default, or a tenth of a "+
			"shorter window.", func(p *phaseDraft) *span { return &p.lead }),
		key("window", spanKind(), "The distance of two boundaries; the window of the limit by default.",
			func(p *phaseDraft) *span { return &p.window }),
		key("partition", word("a name has lower case letters, also of Latin-1, digits and dashes, and "+
			"begins with a letter", `^[a-zß-ÿ][a-z0-9ß-ÿ]*(-[a-z0-9ß-ÿ]+)*$`),
			"The phase uses its own partitions, shared with the phases that give the same name.",
			func(p *phaseDraft) *string { return &p.Partition }),
		key("origin", boolean("origin"), "Send the phase to target.origin.",
			func(p *phaseDraft) *bool { return &p.Origin }),
		key("forge", list("field names", header), "Header fields with another invented client address in "+
			"each request.", func(p *phaseDraft) *[]string { return &p.Forge }),
		key("cost", amountOf("units", 1_000_000), "The units that the limiter charges for each request: a "+
			"number, or a multiple of what a full "+`start admits ("0.1x"); 1 by default.`,
			func(p *phaseDraft) *amount { return &p.cost }),
		key("rates", list("rates", speedKind()), "The rates of the steps, which share the duration evenly.",
			func(p *phaseDraft) *[]speed { return &p.rates }),
		key("retry", retryKind(), "How the clients retry, until each was admitted once.",
			func(p *phaseDraft) *retryDraft { return &p.retry }),
	}, requestKeys(), hookKeys()), checkPhase)
	for _, s := range shapes {
		k.schema.AllOf = append(k.schema.AllOf, when("shape", string(s.shape), s.schema()))
	}
	return k
}

// schema returns the schema of the keys that a shape takes.
func (k shapeKeys) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Required: k.needs, Properties: map[string]*jsonschema.Schema{}}
	for _, other := range shapes {
		for _, name := range other.takes() {
			if !slices.Contains(k.takes(), name) {
				s.Properties[name] = never()
			}
		}
	}
	if k.shape.Quiet() {
		for _, name := range sending(k.shape) {
			s.Properties[name] = never()
		}
	}
	for _, name := range k.oneOf {
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{name}})
	}
	return s
}

// checkPhase checks the keys of a phase against its shape.
func checkPhase(d *decoder, n *tree.Node, p *phaseDraft) {
	p.at = n
	i := slices.IndexFunc(shapes, func(s shapeKeys) bool { return s.shape == p.Shape })
	if i < 0 {
		return
	}
	s := shapes[i]
	what := "a phase of shape " + string(p.Shape)
	for _, k := range n.Keys {
		if ofSomeShape(k.Text) && !slices.Contains(s.takes(), k.Text) {
			d.add(k, tree.Quote(k.Text), what+" takes "+oneOf(s.takes()), "remove it")
		} else if p.Quiet() && slices.Contains(sending(p.Shape), k.Text) {
			d.add(k, tree.Quote(k.Text), what+" sends nothing", "remove it")
		}
	}
	d.missing(n, what, s.needs)
	given := 0
	for _, name := range s.oneOf {
		if n.Get(name) != nil {
			given++
		}
	}
	if len(s.oneOf) > 0 && given != 1 && !n.Odd {
		d.add(n, fmt.Sprintf("%d of %s", given, strings.Join(s.oneOf, " and ")),
			what+" has exactly one of them", "")
	}
	if p.Shape == timeline.Hook {
		checkHook(d, n, p)
	}
}

// requestFields is requestKeys, made once.
var requestFields = sync.OnceValue(requestKeys)

// sending returns the keys of a phase that a shape without requests has no use for.
func sending(shape timeline.Shape) []string {
	keys := []string{"partition", "origin", "forge", "cost", "among"}
	for _, f := range requestFields() {
		if f.name != "limit" || shape != timeline.Hook { // a reload declares a limit
			keys = append(keys, f.name)
		}
	}
	return keys
}

// defaultLead is the gap on each side of a boundary, unless the window is shorter than ten of them.
const defaultLead = 25 * time.Millisecond

// defaultHookTimeout bounds a command that has no timeout.
const defaultHookTimeout = 30 * time.Second

// hookKeys are the keys of a phase of shape hook.
func hookKeys() []field[*phaseDraft] {
	return []field[*phaseDraft]{
		key("action", choice("an action", timeline.Actions()...), "What happens to the target. The "+
			"embedded target does it by itself; others need the command.",
			func(p *phaseDraft) *timeline.Action { return &p.Event.Action }),
		key("command", commandKind(), "What a shell does to a target other than the embedded one.",
			func(p *phaseDraft) *string { return &p.Event.Command }),
		key("timeout", duration(time.Millisecond, time.Hour), "How long the command may take; 30s by "+
			"default.", func(p *phaseDraft) *time.Duration { return &p.Event.Timeout }),
	}
}

// commandKind is the kind of a command. It has no variables, so the file shows what the shell is given.
func commandKind() kind[*string] {
	text := word("a command is text", `\S`)
	return kind[*string]{schema: text.schema, read: func(d *decoder, n *tree.Node, v *string) {
		if n.Form == tree.Scalar && strings.Contains(strings.ReplaceAll(n.Raw, "$$", ""), "${") {
			d.add(n, tree.Quote(n.Raw), "a command has no variables of rlcheck, so that the environment "+
				"cannot choose what runs", "write $$ before a variable that the shell replaces")
			return
		}
		text.read(d, n, v)
	}}
}

// resolveHook completes a phase of shape hook.
func (p *phaseDraft) resolveHook() {
	p.Event.Timeout = cmp.Or(p.Event.Timeout, defaultHookTimeout)
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
		d.add(at, tree.Quote(at.Text), "a limit that is reloaded must count", "write a SPEC or a multiple")
	}
}

// retryDraft is how clients retry as it is written, before its multiples are resolved.
type retryDraft struct {
	timeline.Retry
	at              *tree.Node
	base, max, open span
}

// retryKind is the kind of the retries of a backoff phase. Its waits may be multiples, so that clients press
// a slow limit no harder than a fast one.
func retryKind() kind[*retryDraft] {
	wait := spanKind()
	return object("retry", []field[*retryDraft]{
		key("policy", choice("a retry policy", timeline.RetryFixed, timeline.RetryExponential,
			timeline.RetryAsTold), "How the wait before a retry is chosen.",
			func(r *retryDraft) *timeline.RetryPolicy { return &r.Policy }).must(),
		key("base", wait, "The wait, or the first one of an exponential policy; 100ms by default.",
			func(r *retryDraft) *span { return &r.base }),
		key("max", wait, "The longest wait of an exponential policy; 10 times the first by default.",
			func(r *retryDraft) *span { return &r.max }),
		key("jitter", boolean("jitter"), "Wait a random share of it; for retry-after up to base longer.",
			func(r *retryDraft) *bool { return &r.Jitter }),
		key("budget", whole("a budget in percent", 1, 10_000),
			"The most retries of all clients, in percent of their first requests; a client without budget "+
				"gives up.", func(r *retryDraft) *int { return &r.Budget }),
		key("breaker", whole("a number of denials", 1, MaxRequests), "After this many denials in a row, "+
			"no client sends for a while.", func(r *retryDraft) *int { return &r.Breaker }),
		key("open", wait, "How long no client sends then; 5 times base by default.",
			func(r *retryDraft) *span { return &r.open }),
	}, func(_ *decoder, n *tree.Node, r *retryDraft) { r.at = n })
}

// resolveRetry completes a backoff phase.
func (p *phaseDraft) resolveRetry(d *decoder, b bounds) {
	p.Retry = p.retry.Retry
	r, n := &p.Retry, p.retry.at
	r.Base = cmp.Or(p.retry.base.resolve(d, n.Get("base"), b), 100*time.Millisecond)
	r.Max = cmp.Or(p.retry.max.resolve(d, n.Get("max"), b), 10*r.Base)
	r.Open = p.retry.open.resolve(d, n.Get("open"), b)
	if r.Breaker > 0 && r.Open == 0 {
		r.Open = 5 * r.Base
	}
	if p.Requests == 0 { // a ceiling that no client which waits at all reaches
		each := 10 + 4*float64(p.Duration)/float64(r.Base)
		p.Requests = clampCount(float64(p.Clients) * min(each, 200))
	}
}
