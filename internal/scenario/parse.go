package scenario

import (
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// ParseOptions change what Parse reads. The zero value reads the file as it is, with no environment.
type ParseOptions struct {
	// Env looks up the variables of the file.
	Env tree.Env
	// Set overrides values; later settings win.
	Set []tree.Setting
	// Target overrides target.url, Limit the limit (a SPEC), Partition its kind (header:NAME, address, path
	// or query:NAME). Empty: what the file says.
	Target, Limit, Partition string
	// Request overrides what is sent, below target; it wins over Set.
	Request []tree.Setting
	// Promises are what the target promises beside what the file says.
	Promises []verdict.Promise
	// Keys are those that the target has issued, one a client; empty: clients invent theirs.
	Keys []string
	// Faults are the names that there are, of which Lint warns where catches has another; empty: it does not.
	Faults []string
}

// scenarioDocument is what messages say of an empty scenario file.
func scenarioDocument() tree.Document {
	return tree.Document{Has: "a scenario has id, title, kind, limit and phases",
		Is:   "a scenario is one mapping",
		Mend: `begin with what "rlcheck init" prints`}
}

// Parse reads the scenario file src, which errors call name. The error is an Errors with every mistake in it.
func Parse(src []byte, name string, opts ParseOptions) (*Scenario, error) {
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
	d := &decoder{file: name, problems: problems, lenient: opts.saysLimit(),
		issued: len(opts.Keys) > 0}
	root.Expand(opts.Env, d.add)
	s := &Scenario{File: name}
	decode(d, root, s)
	if len(d.problems) > 0 {
		return nil, d.problems.Err()
	}
	s.Secrets = secrets(root)
	s.Assumed = home == Builtin && s.Target.URL != Builtin && !opts.saysLimit() &&
		!root.Get("limit").FromEnv()
	if home == Builtin && s.Target.URL != Builtin && s.Partition.Kind == ByAddress && !opts.saysPartition() {
		s.lacks = "it is about a limit of each address, which nobody said that the target has " +
			"(--partition address)"
	}
	s.promise(opts.Promises)
	s.issue(opts.Keys)
	return s, nil
}

// settings returns the overrides of opts in the order in which they are applied: later ones win.
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

// saysLimit tells whether an option says the limit, or a part of it.
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
