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
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// phaseDraft is a phase as it is written, before its multiples are resolved.
type phaseDraft struct {
	Phase
	at             *tree.Node
	requests       amount
	rate, from, to speed
	pace           string
	duration       span
	lead, window   span
	aim            timeline.Aim
	cost           amount
	limit          phaseLimit
	clients        amount
	retry          retryDraft
	rates          []speed
}

// The paces: of which of several limits a rate, or the requests of a phase, are a multiple.
const slowest, fastest = "slowest", "fastest"

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
	{shape: timeline.AtOnce, needs: []string{"requests"}, may: []string{"clients", "pace"}},
	{shape: timeline.Constant, needs: []string{"rate"}, oneOf: []string{"duration", "requests"},
		may: []string{"pace"}},
	{shape: timeline.Ramp, needs: []string{"from", "to"}, oneOf: []string{"duration", "requests"},
		may: []string{"pace"}},
	{shape: timeline.Silence, needs: []string{"duration"}},
	{shape: timeline.Closed, needs: []string{"clients", "requests"}, may: []string{"duration"}},
	{shape: timeline.HonorRetryAfter, needs: []string{"clients", "duration"}, may: []string{"requests"}},
	{shape: timeline.Boundary, needs: []string{"requests"}, may: []string{"aim", "lead", "window"}},
	{shape: timeline.Steps, needs: []string{"rates", "duration"}},
	{shape: timeline.Poisson, needs: []string{"rate"}, oneOf: []string{"duration", "requests"},
		may: []string{"pace"}},
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
		key("name", name, func(p *phaseDraft) *string { return &p.Name }).must(),
		key("shape", choice("a shape", names...),
			func(p *phaseDraft) *timeline.Shape { return &p.Shape }).must(),
		key("requests", amountOf("requests", MaxRequests),
			func(p *phaseDraft) *amount { return &p.requests }),
		key("rate", speedKind(), func(p *phaseDraft) *speed { return &p.rate }),
		key("from", speedKind(), func(p *phaseDraft) *speed { return &p.from }),
		key("to", speedKind(), func(p *phaseDraft) *speed { return &p.to }),
		key("pace", choice("a pace", slowest, fastest), func(p *phaseDraft) *string { return &p.pace }),
		key("duration", spanKind(), func(p *phaseDraft) *span { return &p.duration }),
		key("clients", amountOf("clients", maxConnections),
			func(p *phaseDraft) *amount { return &p.clients }),
		key("among", whole("a number of partitions", 1, maxPartitions),
			func(p *phaseDraft) *int { return &p.Among }),
		key("aim", choice("an aim", aimAuto, timeline.AimClock, timeline.AimReset, timeline.AimProbe,
			timeline.AimFirst), func(p *phaseDraft) *timeline.Aim { return &p.aim }),
		key("lead", spanKind(), func(p *phaseDraft) *span { return &p.lead }),
		key("window", spanKind(), func(p *phaseDraft) *span { return &p.window }),
		key("partition", word("a name has lower case letters, also of Latin-1, digits and dashes, and "+
			"begins with a letter", `^[a-zß-ÿ][a-z0-9ß-ÿ]*(-[a-z0-9ß-ÿ]+)*$`),
			func(p *phaseDraft) *string { return &p.Partition }),
		key("origin", boolean("origin"), func(p *phaseDraft) *bool { return &p.Origin }),
		key("forge", list("field names", header), func(p *phaseDraft) *[]string { return &p.Forge }),
		key("cost", amountOf("units", 1_000_000), func(p *phaseDraft) *amount { return &p.cost }),
		key("rates", list("rates", speedKind()), func(p *phaseDraft) *[]speed { return &p.rates }),
		key("retry", retryKind(), func(p *phaseDraft) *retryDraft { return &p.retry }),
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
			d.add(k, tree.Quote(k.Text), what+" takes "+text.OneOf(s.takes()), "remove it")
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
		key("action", choice("an action", timeline.Actions()...),
			func(p *phaseDraft) *timeline.Action { return &p.Event.Action }),
		key("command", commandKind(), func(p *phaseDraft) *string { return &p.Event.Command }),
		key("timeout", duration(time.Millisecond, time.Hour),
			func(p *phaseDraft) *time.Duration { return &p.Event.Timeout }),
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

// resolveHook completes a phase of shape hook. One without a command has that of the latest phase before it
// that does the same.
func (p *phaseDraft) resolveHook(before []Phase) {
	if p.OwnLimit && !p.Unlimited && !p.Barred {
		p.Event.Limit = p.Limit.String()
	}
	var same timeline.Event
	for i := range before {
		e := before[i].Event
		if before[i].Shape == timeline.Hook && e.Action == p.Event.Action && e.Limit == p.Event.Limit {
			same = e
		}
	}
	p.Event.Command = cmp.Or(p.Event.Command, same.Command)
	p.Event.Timeout = cmp.Or(p.Event.Timeout, same.Timeout, defaultHookTimeout)
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
			timeline.RetryAsTold), func(r *retryDraft) *timeline.RetryPolicy { return &r.Policy }).must(),
		key("base", wait, func(r *retryDraft) *span { return &r.base }),
		key("max", wait, func(r *retryDraft) *span { return &r.max }),
		key("jitter", boolean("jitter"), func(r *retryDraft) *bool { return &r.Jitter }),
		key("budget", whole("a budget in percent", 1, 10_000), func(r *retryDraft) *int { return &r.Budget }),
		key("breaker", whole("a number of denials", 1, MaxRequests),
			func(r *retryDraft) *int { return &r.Breaker }),
		key("open", wait, func(r *retryDraft) *span { return &r.open }),
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
