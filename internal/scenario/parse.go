package scenario

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ParseOptions change what Parse reads. The zero value reads the file as it is, with no environment.
type ParseOptions struct {
	// Env looks up the variables of the file.
	Env tree.Env
	// Set overrides values. Later settings win.
	Set []tree.Setting
	// Target overrides target.url, Limit the limit (a SPEC), and Partition its kind (header:NAME, address,
	// path or query:NAME). Empty: the value of the file.
	Target, Limit, Partition string
	// Request overrides keys below target. It wins over Set.
	Request []tree.Setting
	// Promises are promises of the target in addition to those of the file.
	Promises []result.Promise
	// Keys are the keys that the target has issued, one for each client. Empty: clients invent theirs.
	Keys []string
	// Faults are all names of faults. Lint warns of other names in catches. Empty: it does not.
	Faults []string
}

// scenarioDocument returns what messages say of an empty scenario file.
func scenarioDocument() tree.Document {
	return tree.Document{Has: "a scenario has id, title, kind, limit and phases",
		Is: "a scenario is one mapping", Mend: `begin with the output of "rlcheck init"`}
}

// draft is a scenario while it is read. Until all multiples are numbers, it also keeps values as they are
// written.
type draft struct {
	Scenario
	// phases are those of the file. Scenario.Phases has them once they are resolved, and may then have others
	// too.
	phases  []phaseDraft
	latency latencyDraft
	// sharing is what the file declares of attributes.
	sharing map[timeline.Attribute]claim.Sharing
}

// Parse reads the scenario file src. Errors call it name. The error is a tree.Errors with every mistake in
// it.
func Parse(src []byte, name string, opts ParseOptions) (*Scenario, error) {
	s, err := read(src, name, opts)
	if err != nil {
		return nil, err
	}
	out := s.Scenario // without the values as written, and without the tree
	return &out, nil
}

// read is Parse, and keeps the values as written.
func read(src []byte, name string, opts ParseOptions) (*draft, error) {
	root, problems := tree.Parse(src, name, scenarioDocument())
	if root == nil {
		return nil, problems.Err()
	}
	if root.Form != tree.Mapping {
		p := tree.Problem{File: name, Line: root.At.Line, Col: root.At.Col, What: root.Describe(),
			Why: "a scenario is a mapping with id, title, kind, limit and phases"}
		return nil, append(problems, p).Err()
	}
	home := root.Get("target").Get("url").Unset()
	for _, set := range opts.settings() {
		problems = append(problems, set.Apply(root)...)
	}
	if opts.Partition != "" {
		partitionFlag(root, opts.Partition)
	}
	d := &decoder{file: name, problems: problems, lenient: opts.saysLimit(), issued: len(opts.Keys) > 0}
	root.Expand(opts.Env, d.add)
	s := newDraft(name)
	s.decode(d, root)
	if len(d.problems) > 0 {
		return nil, d.problems.Err()
	}
	s.Secrets = secrets(root)
	for _, name := range []string{"url", "origin", "proxy"} {
		if host := root.Get("target").Get(name).BorrowedHost(); host != "" {
			s.Target.Borrowed = append(s.Target.Borrowed, host)
		}
	}
	moved := home == Builtin && s.Target.URL != Builtin
	s.Assumed = moved && !opts.saysLimit() && !root.Get("limit").FromEnv()
	if moved && s.Partition.Kind == ByAddress && !opts.saysPartition() {
		s.Lacks = "it is about a limit for each address, and nobody said that the target has one " +
			"(--partition address)"
	}
	s.promise(opts.Promises)
	if d.issued && s.Partition.Named() { // keys are secrets, and not new: see Adapt
		s.Keys, s.Secrets = opts.Keys, append(s.Secrets, opts.Keys...)
	}
	return s, nil
}

// newDraft returns a scenario with the defaults of all that a file need not say.
func newDraft(name string) *draft {
	exactly := Tolerance{Demanded: true}
	return &draft{Scenario: Scenario{
		File: name,
		Target: Target{URL: Builtin, Method: "GET", Timeout: 5 * time.Second, Tick: time.Millisecond,
			RetryAfter: "seconds", Protocol: H1},
		Partition: Partition{Kind: ByHeader, Name: "X-Api-Key", Count: 1, Fresh: true, Exclusive: true},
		Denied:    Denied{Status: []int{429}},
		Expect: Expect{Conformance: Exact, Resolution: Resolution{Burst: exactly, Windowed: exactly,
			Rate: Tolerance{Demanded: true, Ratio: 0.02}}},
		Safety: Safety{MaxRequests: 1_000_000, MaxRate: spec.Rate{N: 20_000, Per: time.Second},
			MaxDuration: time.Hour, MaxConnections: 1000},
	}}
}

// decode reads a scenario from the root of its tree.
func (s *draft) decode(d *decoder, root *tree.Node) {
	grammar().read(d, root, s)
	if len(d.problems) > 0 { // the rest needs a right limit and right phases
		return
	}
	for i := range s.phases {
		p := &s.phases[i]
		p.resolve(d, &s.Scenario)
		s.Phases = append(s.Phases, p.Phase)
	}
	s.MergeClients()
	s.resolveLatency(d)
	s.checkTogether(d, root)
	if len(d.problems) > 0 {
		return
	}
	s.Adapt(d.issued, d.lenient)
	s.Likely = s.likelyEnd()
	if !(d.lenient && s.Unmet() != "") {
		s.checkCeilings(d, root)
	}
}

// checkCeilings reports what exceeds the ceilings of Safety.
func (s *draft) checkCeilings(d *decoder, root *tree.Node) {
	for _, x := range s.Excesses() {
		at := root.Get("phases")
		if p := s.written(x.Path); p != nil {
			at = p.at
		}
		d.add(at, x.What, x.Why, x.Mend)
	}
}

// written returns the phase of the file with the name, or nil.
func (s *draft) written(name string) *phaseDraft {
	if i := slices.IndexFunc(s.phases, func(p phaseDraft) bool { return p.Name == name }); i >= 0 {
		return &s.phases[i]
	}
	return nil
}

// promise adds promises of the target that the caller knows. The embedded target promises everything, so that
// none of its faults hides behind a missing promise.
func (s *draft) promise(more []result.Promise) {
	if s.Target.URL == Builtin {
		more = result.Promises()
	}
	for _, p := range more {
		if !slices.Contains(s.Expect.Promised, p) {
			s.Expect.Promised = append(s.Expect.Promised, p)
		}
	}
}

// secrets returns the values of the environment in the header fields, the body and parts of the URLs, and the
// values of secret settings. Each comes once, and none is empty.
func secrets(root *tree.Node) []string {
	target := root.Get("target")
	nodes := slices.Clone(target.Get("header").Children())
	for _, p := range root.Get("phases").Children() {
		nodes = append(nodes, p.Get("header").Children()...)
	}
	var all, found []string
	for _, n := range append(nodes, target.Get("body")) {
		found = append(found, n.Secrets()...)
	}
	for _, name := range []string{"url", "origin", "proxy"} {
		found = append(found, target.Get(name).SecretParts()...)
	}
	for _, v := range found {
		if v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// settings returns the overrides of opts in the order in which they are applied. Later ones win.
func (opts ParseOptions) settings() []tree.Setting {
	all := append([]tree.Setting(nil), opts.Set...)
	for _, o := range []tree.Setting{
		{Path: "target.url", Value: opts.Target, Flag: "--target"},
		{Path: "limit", Value: opts.Limit, Flag: "--limit"},
	} {
		if o.Value != "" {
			all = append(all, o)
		}
	}
	return append(all, opts.Request...)
}

// saysLimit tells whether an option gives the limit, or a part of it.
func (opts ParseOptions) saysLimit() bool {
	return slices.ContainsFunc(opts.settings(), func(s tree.Setting) bool {
		return s.Path == "limit" || strings.HasPrefix(s.Path, "limit.")
	})
}

// saysPartition tells whether an option says how clients are told apart.
func (opts ParseOptions) saysPartition() bool {
	return opts.Partition != "" || slices.ContainsFunc(opts.Set, func(s tree.Setting) bool {
		return strings.HasPrefix(s.Path, "partition") && s.Path != "partition.fresh" &&
			s.Path != "partition.count"
	})
}

// The ceilings of what a file may ask for, and the pattern of ids.
const (
	maxPartitions  = 1_000_000
	maxConnections = 60_000
	idPattern      = `^[a-z0-9]+(-[a-z0-9]+)*$`
)

// grammar is scenarioKind, made once, as its patterns and schemas are most of the work of reading a small
// file.
var grammar = sync.OnceValue(scenarioKind)

// scenarioKind is the kind of a whole file.
func scenarioKind() kind[*draft] {
	id := word("an id has lower case letters and digits, with single dashes between them", idPattern)
	promise := promiseKind()
	return object("a scenario", []field[*draft]{
		key("id", id, func(s *draft) *string { return &s.ID }).must(),
		key("title", word("a title is a sentence", `\S`), func(s *draft) *string { return &s.Title }).must(),
		key("kind", choice("a kind", Required, Recommended, Informative),
			func(s *draft) *Kind { return &s.Kind }).must(),
		key("source", word("a source is a link or FILE#ANCHOR", `\S`),
			func(s *draft) *string { return &s.Source }),
		key("tags", list("words", id), func(s *draft) *[]string { return &s.Tags }),
		key("catches", list("faults", id), func(s *draft) *[]string { return &s.Catches }),
		key("needs", list("ids", id), func(s *draft) *[]string { return &s.Needs }),
		key("target", targetKind(), func(s *draft) *Target { return &s.Target }),
		key("partition", partitionKind(), func(s *draft) *Partition { return &s.Partition }),
		key("limit", limitKind(), func(s *draft) *spec.Limit { return &s.Limit }).must(),
		key("allowed", allowedKind(), func(s *draft) *[]int { return &s.Allowed }),
		key("denied", deniedKind(), func(s *draft) *Denied { return &s.Denied }),
		key("cost", toldKind(), func(s *draft) *Told { return &s.Cost }),
		key("phases", list("phases", phaseKind()), func(s *draft) *[]phaseDraft { return &s.phases }).must(),
		key("about", promise, func(s *draft) *result.Promise { return &s.About }),
		key("suits", choice("a subject", Subjects()...), func(s *draft) *Subject { return &s.Suits }),
		key("promises", list("promises", promise),
			func(s *draft) *[]result.Promise { return &s.Expect.Promised }),
		key("expect", expectKind(), func(s *draft) *draft { return s }),
		key("example", boolean("example"), func(s *draft) *bool { return &s.Example }),
		key("safety", safetyKind(), func(s *draft) *Safety { return &s.Safety }),
	}, nil)
}

func allowedKind() kind[*[]int] {
	return object("allowed", []field[*[]int]{
		key("status", list("statuses", whole("a status", 100, 599)),
			func(v *[]int) *[]int { return v }).must(),
	}, nil)
}

func deniedKind() kind[*Denied] {
	status := list("statuses", whole("a status", 100, 599))
	k := object("denied", []field[*Denied]{
		key("status", status, func(v *Denied) *[]int { return &v.Status }),
		key("unanswered", boolean("unanswered"), func(v *Denied) *bool { return &v.Unanswered }),
		key("header", word("a mark is a field name, or NAME: VALUE", `^`+inner(tokenPattern)+`(: ?\S.*)?$`),
			func(v *Denied) *string { return &v.Header }),
		key("body", word("a word of a body is PATH=VALUE", `^[^=\s]+=\S.*$`),
			func(v *Denied) *string { return &v.Body }),
	}, func(d *decoder, n *tree.Node, v *Denied) {
		if len(n.Keys) == 0 {
			d.add(n, "an empty mapping", "denied has status, unanswered, header or body", "leave the key out")
		}
		if v.Body != "" && n.Get("status") == nil {
			v.Status = nil
		}
	})
	one := 1
	k.schema.MinProperties = &one
	return k
}

// toldKind is the kind of the cost mapping.
func toldKind() kind[*Told] {
	path := word("a path is MEMBER.MEMBER", `^[^=\s]+$`)
	return object("cost", []field[*Told]{
		key("body", path, func(v *Told) *string { return &v.Body }),
		key("header", word("a header field has a name", tokenPattern),
			func(v *Told) *string { return &v.Header }),
		key("event", path, func(v *Told) *string { return &v.Event }),
		key("unit", word("a unit is a decimal number above 0", `^(0\.[0-9]*[1-9]|[1-9][0-9]*(\.[0-9]+)?)$`),
			func(v *Told) *string { return &v.Unit }),
		key("each", whole("a cost", 1, 1_000_000), func(v *Told) *int { return &v.Each }),
	}, func(d *decoder, n *tree.Node, v *Told) {
		given := 0
		for _, where := range []string{"body", "header", "event", "each"} {
			if n.Get(where) != nil {
				given++
			}
		}
		if given != 1 {
			d.add(n, "a cost", "an answer tells it in one place: body, header or event; or each is the same",
				"")
		}
	})
}

// safetyKind is the kind of the ceilings.
func safetyKind() kind[*Safety] {
	return object("safety", []field[*Safety]{
		key("max_requests", whole("a ceiling of requests", 1, MaxRequests),
			func(s *Safety) *int { return &s.MaxRequests }),
		key("max_rate", textKind("a rate is such as 100/s or 5/1m", pattern(ratePattern), parseRate),
			func(s *Safety) *spec.Rate { return &s.MaxRate }),
		key("max_duration", duration(time.Millisecond, longest),
			func(s *Safety) *time.Duration { return &s.MaxDuration }),
		key("max_connections", whole("a ceiling of connections", 1, maxConnections),
			func(s *Safety) *int { return &s.MaxConnections }),
	}, nil)
}

func promiseKind() kind[*result.Promise] { return choice("a promise", result.Promises()...) }

// schemaID names the schema; it is an identifier and need not be fetched.
const schemaID = "https://rlcheck.github.io/scenario.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of scenario files, indented. It comes from the tables that
// also read the files. It cannot express sums, ceilings and references between phases. Only Parse checks
// these.
func Schema() ([]byte, error) {
	s := *grammar().schema
	s.ID = schemaID
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "rlcheck scenario"
	s.Description = "What to send to a rate limited endpoint, under which limit, and what to expect of its " +
		"answers."
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("scenario schema: %w", err)
	}
	return append(out, '\n'), nil
}

//go:embed template.yaml
var template []byte

// templateID are the ids that need no quotes in YAML.
var templateID = regexp.MustCompile(phaseNamePattern)

// Template returns the scenario that `rlcheck init` prints. It has every part of the format, with comments,
// and parses. Its id is the given one, or my-endpoint if that is no lower case name that begins with a
// letter.
func Template(id string) []byte {
	const example = "my-endpoint"
	if !templateID.MatchString(id) {
		id = example
	}
	return bytes.Replace(template, []byte("id: "+example), []byte("id: "+id), 1)
}

//go:embed config.template.yaml
var configTemplate []byte

// ConfigTemplate returns the configuration that `rlcheck init rlcheck.yaml` writes. It parses, and what it
// names can be run as it is.
func ConfigTemplate() []byte { return slices.Clone(configTemplate) }

// Config is a configuration file. It has what all runs of a project have in common, and what flags of
// `rlcheck run` would say otherwise. Members that the file does not set are empty.
type Config struct {
	// Target is a URL, Limit a SPEC, Partition header:NAME, query:NAME, address, path or none.
	Target, Limit, Partition string
	// Keys is a file of keys that the target has issued, one on each line.
	Keys     string
	Promises []result.Promise
	// Header are settings of target.header, in the order of the file.
	Header []tree.Setting
	// Scenarios are files, folders and builtin:NAME. Only and Skip select some of them.
	Scenarios, Only, Skip []string
	// SLO are bounds, as allowed_p99=50ms and errors=0, in the order of the file.
	SLO []string
	// Outputs are FORMAT[=PATH]. FailOn is fail or inconclusive.
	Outputs []string
	FailOn  string
}

// configFile is a Config while it is read.
type configFile struct {
	Config
	limit  spec.Limit
	header map[string]string
	slo    draft
}

func configKind() kind[*configFile] {
	type file = configFile
	text := func(what string) kind[*[]string] { return list(what, word("one of "+what+" is text", `\S`)) }
	return object("a configuration", []field[*file]{
		key("target", urlKind(), func(c *file) *string { return &c.Target }),
		key("limit", limitKind(), func(c *file) *spec.Limit { return &c.limit }),
		key("partition", partitionTextKind(), func(c *file) *string { return &c.Partition }),
		key("keys", word("a file has a name", `\S`), func(c *file) *string { return &c.Keys }),
		key("promises", list("promises", promiseKind()),
			func(c *file) *[]result.Promise { return &c.Promises }),
		key("header", headerKind(), func(c *file) *map[string]string { return &c.header }),
		key("scenarios", text("scenarios"), func(c *file) *[]string { return &c.Scenarios }),
		key("only", text("words"), func(c *file) *[]string { return &c.Only }),
		key("skip", text("words"), func(c *file) *[]string { return &c.Skip }),
		key("outputs", text("outputs"), func(c *file) *[]string { return &c.Outputs }),
		key("slo", sloKind(), func(c *file) *draft { return &c.slo }),
		key("fail-on", choice("what fails", "fail", "inconclusive"),
			func(c *file) *string { return &c.FailOn }),
	}, nil)
}

// partitionTextKind is the kind of a partition as --partition takes it.
func partitionTextKind() kind[*string] {
	const rule = "a partition is header:NAME, query:NAME, cookie:NAME, body:NAME, address, path or none"
	whole := partitionKind()
	return kind[*string]{schema: whole.schema, read: func(d *decoder, n *tree.Node, v *string) {
		var p Partition
		switch {
		case !d.wants(n, tree.Scalar, rule):
		case partitionNode(n).Form != tree.Mapping:
			d.add(n, n.Describe(), rule, `write "header:X-Api-Key"`)
		default:
			whole.read(d, n, &p)
			*v = n.Text
		}
	}}
}

// ParseConfig reads the configuration src. Errors call it name. The error is a tree.Errors with every mistake
// in it.
func ParseConfig(src []byte, name string, env tree.Env) (*Config, error) {
	const form = "a configuration is a mapping with target, limit, scenarios and more"
	root, problems := tree.Parse(src, name, tree.Document{Has: form, Is: form})
	if root == nil {
		return nil, problems.Err()
	}
	d := &decoder{file: name, problems: problems}
	root.Expand(env, d.add)
	var c configFile
	configKind().read(d, root, &c)
	if len(d.problems) > 0 {
		return nil, d.problems.Err()
	}
	if c.limit != nil {
		c.Limit = c.limit.String()
	}
	if n := root.Get("target"); n != nil {
		c.Target = n.Raw // the scenario that takes it knows what came from the environment
	}
	if n := root.Get("slo"); n != nil {
		for i, k := range n.Keys {
			c.SLO = append(c.SLO, k.Text+"="+n.Items[i].Text)
		}
	}
	if n := root.Get("header"); n != nil {
		for i, k := range n.Keys {
			flag := tree.Problem{File: name, Line: k.At.Line, Col: k.At.Col}.Error()
			c.Header = append(c.Header, tree.Setting{Path: "target.header", Field: k.Text, Flag: flag,
				Value: tree.Verbatim(n.Items[i].Text), Secret: len(n.Items[i].Values) > 0})
		}
	}
	return &c.Config, nil
}
