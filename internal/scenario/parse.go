package scenario

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ParseOptions change what Parse reads. The zero value reads the file as it is, with no environment.
type ParseOptions struct {
	// Env looks up the variables of the file.
	Env Env
	// Set overrides values. Later settings win.
	Set []Setting
	// Target overrides target.url, Limit the limit (a SPEC), and Partition its kind (header:NAME, address,
	// path or query:NAME). Empty: the value of the file.
	Target, Limit, Partition string
	// Request overrides keys below target. It wins over Set.
	Request []Setting
	// Promises are promises of the target in addition to those of the file.
	Promises []result.Promise
	// Keys are the keys that the target has issued, one for each client. Empty: clients invent theirs.
	Keys []string
	// Faults are all names of faults. Lint warns of other names in catches. Empty: it does not.
	Faults []string
}

// scenarioDocument returns what messages say of an empty scenario file.
func scenarioDocument() Document {
	return Document{Has: "a scenario has id, title, kind, limit and phases",
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

// Parse reads the scenario file src. Errors call it name. The error is an Errors with every mistake in
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
	root, problems := parseYAML(src, name, scenarioDocument())
	if root == nil {
		return nil, problems.Err()
	}
	if root.Form != Mapping {
		p := Problem{File: name, Line: root.At.Line, Col: root.At.Col, What: root.Describe(),
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
		Target: Target{URL: Builtin, Method: "GET", Tick: time.Millisecond,
			RetryAfter: "seconds", Protocol: H1},
		Partition: Partition{Kind: ByHeader, Name: "X-Api-Key", Count: 1, Fresh: true, Exclusive: true},
		Denied:    Denied{Status: []int{429}},
		Expect: Expect{Conformance: Exact, Resolution: Resolution{Burst: exactly, Windowed: exactly,
			Rate: Tolerance{Demanded: true, Ratio: 0.02}}},
		Safety: Safety{MaxRequests: 1_000_000, MaxRate: spec.Rate{N: 20_000, Per: time.Second},
			MaxDuration: time.Hour, MaxConnections: 1000},
	}}
}

func (s *draft) decode(d *decoder, root *Node) {
	grammar().read(d, root, s)
	if len(d.problems) > 0 { // the rest needs a right limit and right phases
		return
	}
	s.Target.Timeout = cmp.Or(s.Target.Timeout, patience(s.Limit))
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

// patience is how long an answer is waited for by default: 5 s beside what a queue delays it, of that a
// minute at most.
func patience(l spec.Limit) time.Duration {
	wait := 5 * time.Second
	for _, p := range l {
		if p.Queued() {
			wait = max(wait, 5*time.Second+min(p.Recovery(), time.Minute))
		}
	}
	return wait
}

// checkCeilings reports what exceeds the ceilings of Safety.
func (s *draft) checkCeilings(d *decoder, root *Node) {
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
func secrets(root *Node) []string {
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
func (opts ParseOptions) settings() []Setting {
	all := append([]Setting(nil), opts.Set...)
	for _, o := range []Setting{
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
	return slices.ContainsFunc(opts.settings(), func(s Setting) bool {
		return s.Path == "limit" || strings.HasPrefix(s.Path, "limit.")
	})
}

// saysPartition tells whether an option says how clients are told apart.
func (opts ParseOptions) saysPartition() bool {
	return opts.Partition != "" || slices.ContainsFunc(opts.Set, func(s Setting) bool {
		return strings.HasPrefix(s.Path, "partition") && s.Path != "partition.fresh" &&
			s.Path != "partition.count"
	})
}

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
