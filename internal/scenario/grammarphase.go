package scenario

import (
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
func shapes() []shapeKeys {
	return []shapeKeys{
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
}

// shapeOnly are the keys that only some shapes take.
func shapeOnly() []string {
	return []string{"requests", "rate", "from", "to", "duration", "clients", "aim", "lead", "window", "rates",
		"retry", "action", "command", "timeout"}
}

// takes returns the keys that the shape takes.
func (k shapeKeys) takes() []string { return slices.Concat(k.needs, k.oneOf, k.may) }

// phaseKind is the kind of a phase.
func phaseKind() kind[*phaseDraft] {
	names := make([]timeline.Shape, 0, len(shapes()))
	for _, s := range shapes() {
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
		key("requests", amountOf("requests", maxRequests),
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
				`admits ("1.5x"). Of at-once, as among.`,
			func(p *phaseDraft) *amount { return &p.clients }),
		key("among", whole("a number of partitions", 1, maxPartitions),
			"How many partitions take part; all by default.",
			func(p *phaseDraft) *int { return &p.Among }),
		key("aim", choice("an aim", aimAuto, timeline.AimClock, timeline.AimReset, timeline.AimProbe,
			timeline.AimFirst), "How the window boundary is found; auto by default.",
			func(p *phaseDraft) *timeline.Aim { return &p.aim }),
		key("lead", spanKind(),
			"The gap on each side of the boundary; 25ms by default, or a tenth of a shorter window.",
			func(p *phaseDraft) *span { return &p.lead }),
		key("window", spanKind(), "The distance of two boundaries; the window of the limit by default.",
			func(p *phaseDraft) *span { return &p.window }),
		key("partition", word("a name has lower case letters, also of Latin-1, digits and dashes, and "+
			"begins with a letter", `^[a-zß-ÿ][a-z0-9ß-ÿ]*(-[a-z0-9ß-ÿ]+)*$`),
			"The phase uses its own partitions, shared with the phases that give the same name.",
			func(p *phaseDraft) *string { return &p.Partition }),
		key("origin", boolean("origin"), "Send the phase to target.origin.",
			func(p *phaseDraft) *bool { return &p.Origin }),
		key("forge", list("field names", header),
			"Header fields with another invented client address in each request.",
			func(p *phaseDraft) *[]string { return &p.Forge }),
		key("cost", amountOf("units", 1_000_000),
			"The units that the limiter charges for each request: a number, or a multiple of what a full "+
				`start admits ("0.1x"); 1 by default.`,
			func(p *phaseDraft) *amount { return &p.cost }),
		key("rates", list("rates", speedKind()), "The rates of the steps, which share the duration evenly.",
			func(p *phaseDraft) *[]speed { return &p.rates }),
		key("retry", retryKind(), "How the clients retry, until each was admitted once.",
			func(p *phaseDraft) *retryDraft { return &p.retry }),
	}, requestKeys(), hookKeys()), checkPhase)
	for _, s := range shapes() {
		k.schema.AllOf = append(k.schema.AllOf, when("shape", string(s.shape), s.schema()))
	}
	return k
}

// schema returns the schema of the keys that a shape takes.
func (k shapeKeys) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Required: k.needs, Properties: map[string]*jsonschema.Schema{}}
	for _, name := range shapeOnly() {
		if !slices.Contains(k.takes(), name) {
			s.Properties[name] = never()
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
	i := slices.IndexFunc(shapes(), func(s shapeKeys) bool { return s.shape == p.Shape })
	if i < 0 {
		return
	}
	s := shapes()[i]
	what := "a phase of shape " + string(p.Shape)
	for _, k := range n.Keys {
		if slices.Contains(shapeOnly(), k.Text) && !slices.Contains(s.takes(), k.Text) {
			d.add(k, tree.Quote(k.Text), what+" takes "+oneOf(s.takes()), "remove it")
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
	if p.Quiet() {
		for _, k := range n.Keys {
			if slices.Contains(sending(p.Shape), k.Text) {
				d.add(k, tree.Quote(k.Text), what+" sends nothing", "remove it")
			}
		}
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
