package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// limitKind is the kind of a limit: a SPEC, a mapping with an algorithm and its parameters, or a list of such
// mappings, all of which must admit a request.
func limitKind() kind[*spec.Limit] {
	const why = `a limit is a mapping with an algorithm and its parameters, a list of them, or a text such as "token-bucket,rate=10/s,burst=20"`
	one := 1
	policy := policySchema()
	text := &jsonschema.Schema{Type: "string", MinLength: &one}
	return kind[*spec.Limit]{
		schema: anyOf(policy, &jsonschema.Schema{Type: "array", Items: policy, MinItems: &one}, text),
		read: func(d *decoder, n *Node, l *spec.Limit) {
			switch {
			case n.Bad:
			case n.Form == Mapping:
				if p, ok := d.policy(n); ok {
					*l = spec.Limit{p}
				}
			case n.Form == Sequence && len(n.Items) > 0:
				for _, item := range n.Items {
					if p, ok := d.policy(item); ok {
						*l = append(*l, p)
					}
				}
			case n.Form == Scalar && n.IsText():
				d.spec(n, l)
			default:
				d.add(n, n.Describe(), why, "")
			}
		},
	}
}

// spec reads a limit in the words of the command line.
func (d *decoder) spec(n *Node, l *spec.Limit) {
	got, err := spec.Parse(n.Text)
	if wrong, ok := errors.AsType[*spec.ParseError](err); ok {
		for _, p := range wrong.Problems {
			at := n.At
			if at.Setting == "" && n.Literal && !n.Varied() {
				at.Col += len([]rune(n.Text[:min(p.Column-1, len(n.Text))]))
			}
			d.addAt(at, n.Path, p.What, p.Why, p.Mend)
		}
		return
	}
	*l = got
}

func (d *decoder) policy(n *Node) (spec.Policy, bool) {
	if !d.wants(n, Mapping, "a limit is a mapping with an algorithm and its parameters") {
		return spec.Policy{}, false
	}
	algorithm := n.Get("algorithm")
	if algorithm == nil {
		mend := ""
		for _, k := range n.Keys {
			if text.Suggest(k.Text, []string{"algorithm"}) != "" {
				mend = "is that " + Quote(k.Text) + "?"
			}
		}
		d.add(n, `no "algorithm"`, "a limit names one of "+strings.Join(algorithms(), ", "), mend)
		return spec.Policy{}, false
	}
	before := len(d.problems)
	var pairs []spec.Pair
	var keys, values []*Node
	for i, k := range n.Keys {
		v := n.Items[i]
		if v == algorithm || !d.wants(v, Scalar, "a parameter of a limit is one value") {
			continue
		}
		text := v.Text
		if v.Plain {
			text = plainNumbers(text)
		}
		pairs = append(pairs, spec.Pair{Key: k.Text, Value: text})
		keys, values = append(keys, k), append(values, v)
	}
	if !d.wants(algorithm, Scalar, "an algorithm is one of "+strings.Join(algorithms(), ", ")) ||
		len(d.problems) > before {
		return spec.Policy{}, false
	}
	p, wrong := spec.Build(algorithm.Text, pairs)
	for _, w := range wrong {
		at := n
		switch {
		case w.Pair >= 0 && w.InValue:
			at = values[w.Pair]
		case w.Pair >= 0:
			at = keys[w.Pair]
		case !slices.Contains(algorithms(), algorithm.Text):
			at = algorithm
		}
		// In a file a colon stands between a key and its value.
		d.add(at, w.What, w.Why, strings.Replace(w.Mend, "=", ": ", 1))
	}
	return p, len(wrong) == 0
}

// plainNumbers returns a whole number, or a range of two, without underscores (10_000), which YAML readers
// know.
func plainNumbers(text string) string {
	ends := strings.Split(text, "..")
	for i, end := range ends {
		whole, ok := wholeNumber(end)
		if !ok {
			return text
		}
		ends[i] = strconv.FormatInt(whole, 10)
	}
	return strings.Join(ends, "..")
}

// algorithms lists the words for algorithms.
func algorithms() []string { return text.Words(spec.Algorithms()) }

// policySchema returns the schema of one policy: which keys there are, and which of them an algorithm takes.
func policySchema() *jsonschema.Schema {
	all := policyKeys()
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: never(), Required: []string{"algorithm"},
		PropertyOrder: append([]string{"algorithm"}, spec.Keys("")...)}
	for name, k := range all {
		s.Properties[name] = k
	}
	algorithm := choice("an algorithm", spec.Algorithms()...).schema
	algorithm.Description = "How requests are counted."
	s.Properties["algorithm"] = algorithm
	for _, a := range spec.Algorithms() {
		takes := spec.Keys(a)
		then := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{}}
		for _, name := range spec.Keys("") {
			if !slices.Contains(takes, name) {
				then.Properties[name] = never()
			}
		}
		for _, name := range []string{"rate", "limit", "burst", "queue"} {
			if slices.Contains(takes, name) {
				then.Required = append(then.Required, name)
			}
		}
		s.AllOf = append(s.AllOf, when("algorithm", string(a), then))
	}
	return s
}

// when returns the schema of a mapping that fits then if its key has the value.
func when(key, value string, then *jsonschema.Schema) *jsonschema.Schema {
	var is any = value
	return &jsonschema.Schema{
		If: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{key: {Const: &is}},
			Required: []string{key}},
		Then: then,
	}
}

// policyKeys returns the schemas of the parameters of a limit: their forms, with words and meanings of
// package spec.
func policyKeys() map[string]*jsonschema.Schema {
	whole := &jsonschema.Schema{Type: "integer"}
	forms := map[string]*jsonschema.Schema{ // by KeyDoc.Values
		"N/PER":       orVariable(pattern(limitRatePattern)),
		"N":           orVariable(whole, grouped()),
		"N or A..B":   orVariable(whole, grouped(), pattern(countsPattern)),
		"D":           orVariable(pattern(durationPattern)),
		"D or A..B":   orVariable(pattern(spanPattern)),
		"A..B or A..": orVariable(&jsonschema.Schema{Type: "string", Pattern: `^[0-9a-zµ.]+\.\.[0-9a-zµ.]*$`}),
	}
	out := map[string]*jsonschema.Schema{}
	for _, d := range spec.KeyDocs() {
		var words []string
		for _, w := range d.Words {
			words = append(words, w.Word)
		}
		s := jsonschema.Schema{}
		if own := forms[d.Values]; own != nil {
			s.AnyOf = slices.Clone(own.AnyOf)
			if least := float64(d.Least); s.AnyOf[0] == whole {
				s.AnyOf[0] = &jsonschema.Schema{Type: "integer", Minimum: &least}
			}
		}
		if named := choice(d.Key, words...).schema; len(s.AnyOf) == 0 {
			s.AnyOf = named.AnyOf
		} else if len(words) > 0 {
			s.AnyOf = append(s.AnyOf, named)
		}
		s.Description = d.Sentence()
		out[d.Key] = &s
	}
	return out
}

// bounds are the units of multiples: the tightest of all policies, and their likely recovery in nanoseconds.
type bounds struct {
	full     int64
	recovery int64
	rate     spec.Rate
}

// boundsOf returns the fewest units that a full start admits, the likely recovery and the lowest rate of l,
// if each request costs so many units. A policy that counts requests has as many units for each of them.
func boundsOf(l spec.Limit, cost int64) bounds {
	b := bounds{recovery: int64(likely(l))}
	for i, p := range l {
		full := p.Full()
		if p.Unit == spec.UnitRequest {
			full, p.Rate.N = MulDiv(full, cost, 1, false), MulDiv(p.Rate.N, cost, 1, false)
		}
		if i == 0 || full < b.full {
			b.full = full
		}
		if i == 0 || p.Rate.Less(b.rate) {
			b.rate = p.Rate
		}
	}
	return b
}

// paceOf returns the bounds of the one policy of l whose rate is the lowest, or else the highest. A flow that
// is a multiple of its rate uses up its full start.
func paceOf(l spec.Limit, cost int64, lowest bool) (b bounds) {
	for i, p := range l {
		if one := boundsOf(spec.Limit{p}, cost); i == 0 || lowest && one.rate.Less(b.rate) ||
			!lowest && b.rate.Less(one.rate) {
			b = one
		}
	}
	return b
}

// budget returns the policies of l that count costs, or l if none does.
func budget(l spec.Limit) spec.Limit {
	costs := slices.DeleteFunc(slices.Clone(l),
		func(p spec.Policy) bool { return p.Unit == spec.UnitRequest })
	if len(costs) == 0 {
		return l
	}
	return costs
}

// likely returns the recovery of which durations are multiples. It is the latest that the ranges of l allow,
// or the soonest if the latest is more than twice as long. A ban that grows begins with its shorter end, and
// waiting for the longer end may take all day. If the limit is slower than that, less is measured, and nobody
// is accused.
func likely(l spec.Limit) time.Duration {
	soonest, latest := recoveries(l)
	if soonest < latest/2 {
		return soonest
	}
	return latest
}

// recoveries returns the soonest and the latest time after which l is as good as new.
func recoveries(l spec.Limit) (soonest, latest time.Duration) {
	for _, p := range l {
		latest = max(latest, p.Recovery())
		p.Rate.N, p.RateTo, p.PerTo = max(p.Rate.N, p.RateTo), 0, 0
		p.BurstTo, p.BanTo = 0, 0
		soonest = max(soonest, p.Recovery())
	}
	return soonest, latest
}

// likelyEnd returns the text of Scenario.Likely for the phases that are left.
func (s *draft) likelyEnd() string {
	for i := range s.phases {
		p := &s.phases[i]
		soonest, latest := recoveries(p.Limit)
		if soonest == latest || p.duration.x.den == 0 || named(s.Phases, p.Name) < 0 {
			continue
		}
		end := "soonest"
		if likely(p.Limit) == latest {
			end = "latest"
		}
		return fmt.Sprintf("durations follow the %s recovery in the ranges of the limit, %s of %s..%s", end,
			text.Rough(likely(p.Limit)), text.Rough(soonest), text.Rough(latest))
	}
	return ""
}

// phaseLimit is the limit of a phase as it is written: its own, a multiple of the scenario's, none at all, or
// zero, which admits nothing.
type phaseLimit struct {
	own   spec.Limit
	times multiple
	none  bool
	zero  bool
}

// timesPattern is a multiple of a limit.
var timesPattern = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3})?x$`)

func phaseLimitKind() kind[*phaseLimit] {
	limit := limitKind()
	return kind[*phaseLimit]{schema: limit.schema, read: func(d *decoder, n *Node, l *phaseLimit) {
		switch {
		case n.Form == Scalar && n.Text == "none":
			l.none = true
		case n.Form == Scalar && n.Text == "zero":
			l.zero = true
		case n.Form == Scalar && timesPattern.MatchString(n.Text):
			if l.times, _ = parseMultiple(strings.TrimSuffix(n.Text, "x")); l.times.num == 0 {
				d.add(n, Quote(n.Text), "a multiple of a limit is over 0",
					`write "zero" for a limit of nothing`)
			}
		default:
			limit.read(d, n, &l.own)
		}
	}}
}

func (p *phaseDraft) resolveLimit(s *Scenario) {
	l := p.limit
	p.Limit, p.Unlimited, p.Barred = s.Limit, l.none, l.zero
	p.OwnLimit = l.none || l.zero || l.times.num > 0 || len(l.own) > 0
	switch {
	case len(l.own) > 0:
		p.Limit = l.own
	case l.times.num > 0:
		p.Limit = scaled(s.Limit, l.times)
		if _, err := reference.NewLimit(p.Limit); err != nil {
			s.Lacks = fmt.Sprintf("phase %q needs %s the limit: %v", p.Name, p.at.Get("limit").Text, err)
			p.Limit = s.Limit
		} else if p.Limit.Full() == s.Limit.Full() && l.times.num != l.times.den {
			s.Lacks = fmt.Sprintf("phase %q needs another limit, and %s of %s is as many again", p.Name,
				p.at.Get("limit").Text, text.Plural(int(s.Limit.Full()), "unit"))
		}
	}
}

// limitPhase notes in the expectations the limit of a phase that has its own, by the names of its requests.
func (s *draft) limitPhase(p *Phase) {
	if !p.OwnLimit || p.Quiet() {
		return
	}
	if s.Expect.Limits == nil {
		s.Expect.Limits = map[string]spec.Limit{}
	}
	for _, name := range p.Observed() {
		s.Expect.Limits[name] = nil
		if p.Counted() {
			s.Expect.Limits[name] = p.Limit
		}
	}
}

// scaled returns the limit that admits m times as much, in whole units. A part of a unit is rounded up.
func scaled(l spec.Limit, m multiple) spec.Limit {
	out := slices.Clone(l)
	g := gcd(m.num, m.den)
	m = multiple{num: m.num / g, den: m.den / g}
	for i := range out {
		p := &out[i]
		full := p.Full()
		if !p.HasWindow() && p.RateTo == 0 && MulDiv(p.Rate.N, m.num, 1, false)%m.den != 0 {
			// A longer time of each unit avoids rounding.
			p.Rate.Per = time.Duration(MulDiv(int64(p.Rate.Per), m.den, 1, false))
			p.Rate.N = MulDiv(p.Rate.N, m.num, 1, false)
		} else {
			p.Rate.N = m.times(p.Rate.N)
		}
		p.RateTo, p.BurstTo, p.Burst = m.times(p.RateTo), m.times(p.BurstTo), m.times(p.Burst)
		p.Level, p.LevelTo, p.Reserve = m.times(p.Level), m.times(p.LevelTo), m.times(p.Reserve)
		if p.Queued() {
			p.Queue = m.times(full) - 1
			p.Burst = p.Queue + 1
		}
	}
	return out
}
