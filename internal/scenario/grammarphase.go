package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// phaseDraft is a phase as it is written, before its multiples are resolved.
type phaseDraft struct {
	Phase
	at             *Node
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

func (k shapeKeys) takes() []string { return slices.Concat(k.needs, k.oneOf, k.may) }

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
func checkPhase(d *decoder, n *Node, p *phaseDraft) {
	p.at = n
	i := slices.IndexFunc(shapes, func(s shapeKeys) bool { return s.shape == p.Shape })
	if i < 0 {
		return
	}
	s := shapes[i]
	what := "a phase of shape " + string(p.Shape)
	for _, k := range n.Keys {
		if ofSomeShape(k.Text) && !slices.Contains(s.takes(), k.Text) {
			d.add(k, Quote(k.Text), what+" takes "+text.OneOf(s.takes()), "remove it")
		} else if p.Quiet() && slices.Contains(sending(p.Shape), k.Text) {
			d.add(k, Quote(k.Text), what+" sends nothing", "remove it")
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
	return kind[*string]{schema: text.schema, read: func(d *decoder, n *Node, v *string) {
		if n.Form == Scalar && strings.Contains(strings.ReplaceAll(n.Raw, "$$", ""), "${") {
			d.add(n, Quote(n.Raw), "a command has no variables of rlcheck, so that the environment "+
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
func checkHook(d *decoder, n *Node, p *phaseDraft) {
	if at := n.Get("limit"); at != nil && p.Event.Action != timeline.Reload {
		d.add(at, "limit", "an action "+string(p.Event.Action)+" changes no limit",
			"remove it, or write action: reload")
	} else if p.limit.none || p.limit.zero {
		d.add(at, Quote(at.Text), "a limit that is reloaded must count", "write a SPEC or a multiple")
	}
}

// retryDraft is how clients retry as it is written, before its multiples are resolved.
type retryDraft struct {
	timeline.Retry
	at              *Node
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
	}, func(_ *decoder, n *Node, r *retryDraft) { r.at = n })
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

// requestKeys are the keys of a phase that change its requests. A phase that sends nothing has none of them.
func requestKeys() []field[*phaseDraft] {
	path := word("a path begins with a slash, and all but printable ASCII is escaped", `^/[!-"$-~]*$`)
	name := word("a name has lower case letters, digits and dashes, and begins with a letter",
		phaseNamePattern)
	return []field[*phaseDraft]{
		key("path", path, func(p *phaseDraft) *string { return &p.Path }),
		key("method", methodKind(), func(p *phaseDraft) *string { return &p.Method }),
		key("header", headerKind(), func(p *phaseDraft) *map[string]string { return &p.Header }),
		key("spelling", list("spellings", choice("a spelling", timeline.Spellings()...)),
			func(p *phaseDraft) *[]timeline.Spelling { return &p.Spelling }),
		key("mint", choice("what is minted", MintTokens, MintUsers, MintAccounts),
			func(p *phaseDraft) *Mint { return &p.Mint }),
		key("vary", choice("an attribute", attributes()...),
			func(p *phaseDraft) *timeline.Attribute { return &p.Vary }),
		key("client", name, func(p *phaseDraft) *string { return &p.Client }),
		key("connections", choice("connections", Kept, FreshConnections),
			func(p *phaseDraft) *Connections { return &p.Connections }),
		key("unnamed", boolean("unnamed"), func(p *phaseDraft) *bool { return &p.Unnamed }),
		key("empty_key", boolean("empty_key"), func(p *phaseDraft) *bool { return &p.EmptyKey }),
		key("addresses", choice("the addresses of forge", timeline.AnyAddress, timeline.OneNetwork,
			timeline.TwoSpellings), func(p *phaseDraft) *timeline.Addresses { return &p.Addresses }),
		key("limit", phaseLimitKind(), func(p *phaseDraft) *phaseLimit { return &p.limit }),
	}
}

// phaseNamePattern is that of the names of phases, partitions and clients.
const phaseNamePattern = `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`

// checkRequests reports requests of phases that contradict each other.
func (s *draft) checkRequests(d *decoder) {
	limits := map[string]*phaseDraft{}
	for i := range s.phases {
		p := &s.phases[i]
		s.checkKeyField(d, p.at.Get("header"), "remove it here, or write client")
		if p.Unnamed = p.Unnamed || p.EmptyKey; p.Unnamed {
			checkUnnamed(d, p)
		}
		if !p.Counted() {
			continue
		}
		first := limits[p.Partition]
		if first == nil {
			limits[p.Partition] = p
		} else if first.Limit.String() != p.Limit.String() {
			at := p.at.Get("limit")
			if at == nil {
				at = p.at
			}
			d.add(at, "limit "+p.Limit.String(), fmt.Sprintf("phase %q uses the same partitions under %s, "+
				"and a partition has one limit", first.Name, first.Limit),
				"give the phase a partition of its own, and both the same client")
		}
	}
}

// checkUnnamed reports keys that contradict a phase without client names.
func checkUnnamed(d *decoder, p *phaseDraft) {
	at := cmp.Or(p.at.Get("unnamed"), p.at.Get("empty_key"))
	switch {
	case p.Client != "":
		d.add(at, `"unnamed"`, "the phase has a client, which has a name", "remove it or client")
	case p.Shape == timeline.Boundary:
		d.add(at, `"unnamed"`, "requests that find a boundary use their own name",
			"remove it, or take another shape")
	}
}

// request returns how the requests of p differ from others, for a run with these partitions.
func (p *Phase) request(pl *planner) timeline.Request {
	out := timeline.Request{Path: p.Path, Method: p.Method, Spellings: p.Spelling,
		Fresh: p.Connections == FreshConnections}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		if out.Header == nil {
			out.Header = map[string]string{}
		}
		out.Header[http.CanonicalHeaderKey(name)] = p.Header[name]
	}
	if len(p.Forge) > 0 && p.Addresses != timeline.AnyAddress {
		out.Addresses = p.Addresses
	}
	out.Vary, out.Mint, out.EmptyKey = p.Vary, p.Mint != "", p.EmptyKey
	if p.Unnamed || p.Vary != "" || p.Client != "" && p.Client != p.Partition {
		out.Keys = map[string]string{}
		for i := range pl.scenario.Partition.Count {
			key := ""
			if !p.Unnamed {
				key = pl.partition(cmp.Or(p.Client, p.Partition), i)
			}
			out.Keys[pl.partition(p.Partition, i)] = key
			if p.Vary != "" {
				out.Keys[timeline.OtherSide(pl.partition(p.Partition, i))] = key
			}
		}
	}
	return out
}

// ClientOf returns the key of the client that sends the requests of p for a partition: the name of that
// partition, or of one of Client. Empty: the requests leave out the key.
func (p *Phase) ClientOf(partition string) string {
	at := strings.LastIndexByte(partition, '-')
	switch {
	case p.Unnamed:
		return ""
	case p.Vary != "": // each side is also judged by itself
		return partition
	case p.Client == "" || p.Client == p.Partition || at < 0:
		return partition
	}
	run, number := partition[:at], partition[at:]
	if p.Partition != "" {
		run = strings.TrimSuffix(run, "-"+p.Partition)
	}
	return run + "-" + p.Client + number
}

// A ramp goes from rate f to rate g within D. After t it has sent n(t) = f*t + (g-f)*t*t/(2*D) requests;
// request k is due at the t with n(t) = k.

// rampCount returns n(D) = (f+g)*D/2, rounded up.
func rampCount(from, to spec.Rate, whole time.Duration) float64 {
	return math.Ceil((from.PerSecond()+to.PerSecond())*whole.Seconds()/2 - 1e-9)
}

// rampAt returns when request k is due. The root is taken in the form that does not cancel: 2k/(f + sqrt(f*f
// + 2ak)) with a = (g-f)/D.
func rampAt(from, to spec.Rate, whole time.Duration, k int) time.Duration {
	f, g, d := from.PerSecond(), to.PerSecond(), whole.Seconds()
	inside := max(0, f*f+2*(g-f)/d*float64(k))
	return min(time.Duration(2*float64(k)/(f+math.Sqrt(inside))*1e9), whole)
}

// each returns how long one of the steps lasts.
func (p *Phase) each() time.Duration { return p.Duration / time.Duration(len(p.Rates)) }

// step returns how many requests step i has.
func (p *Phase) step(i int) int { return within(p.each(), p.Rates[i]) }

// within returns how many requests of an even flow are due in d, including its beginning and excluding its
// end.
func within(d time.Duration, r spec.Rate) int {
	return int(min(MulDiv(int64(d), r.N, int64(r.Per), true), math.MaxInt32))
}

// stepTimes returns the function that says when the requests of a phase of steps are due. Request number
// Requests is due at its end.
func (p *Phase) stepTimes() func(k int) time.Duration {
	first := make([]int, len(p.Rates)+1)
	for i := range p.Rates {
		first[i+1] = first[i] + p.step(i)
	}
	return func(k int) time.Duration {
		i := sort.SearchInts(first, k+1) - 1
		if i >= len(p.Rates) {
			return p.Duration
		}
		return time.Duration(i)*p.each() + spaced(k-first[i], p.Rates[i])
	}
}

// spaced returns when request k of an even flow is due.
func spaced(k int, r spec.Rate) time.Duration {
	return time.Duration(MulDiv(int64(k), int64(r.Per), r.N, false))
}

// randomTimes returns the function that says when the requests of a poisson phase are due. They are Requests
// instants uniformly at random in its duration, in order: a Poisson process with a given number of events.
func (p *Phase) randomTimes(pl *planner) func(k int) time.Duration {
	times := make([]time.Duration, p.Requests, p.Requests+1)
	for i := range times {
		times[i] = time.Duration(pl.random.Int64N(int64(p.Duration) + 1))
	}
	slices.Sort(times)
	times = append(times, p.Duration)
	return func(k int) time.Duration { return times[k] }
}

// Complete fills in what follows from the rates of a phase whose requests have planned times. It computes the
// number of requests from the duration or, if that is zero, the duration from the number. Phases of other
// shapes, and those with a rate of zero, stay as they are. It checks no ceiling (Excesses does).
func (p *Phase) Complete() {
	switch p.Shape {
	case timeline.Constant, timeline.Poisson:
		if p.Rate.N > 0 && p.Duration > 0 {
			p.Requests = within(p.Duration, p.Rate)
		} else if p.Rate.N > 0 {
			p.Duration = time.Duration(MulDiv(int64(p.Requests), int64(p.Rate.Per), p.Rate.N, true))
		}
	case timeline.Ramp:
		p.completeRamp()
	case timeline.Steps:
		p.Requests = 0
		for i := range p.Rates {
			p.Requests = min(p.Requests+p.step(i), math.MaxInt32)
		}
	}
}

// longestRamp is longer than every ceiling of a duration.
const longestRamp = 70 * 24 * time.Hour

func (p *Phase) completeRamp() {
	if p.From.N == 0 || p.To.N == 0 {
		return
	}
	if p.Duration == 0 {
		p.Duration = time.Duration(max(1, min(2e9*float64(p.Requests)/(p.From.PerSecond()+p.To.PerSecond()),
			float64(longestRamp))))
		return
	}
	p.Requests = int(max(1, min(rampCount(p.From, p.To, p.Duration), math.MaxInt32)))
}
