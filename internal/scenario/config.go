package scenario

import (
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Config is a configuration file. It has what all runs of a project have in common, and what flags of
// `rlcheck run` would say otherwise. Members that the file does not set are empty.
type Config struct {
	// Target is a URL, Limit a SPEC, Partition header:NAME, query:NAME, address, path or none.
	Target, Limit, Partition string
	// Keys is a file of keys that the target has issued, one on each line.
	Keys     string
	Promises []result.Promise
	// Header are settings of target.header, in the order of the file.
	Header []Setting
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
	return kind[*string]{schema: whole.schema, read: func(d *decoder, n *Node, v *string) {
		var p Partition
		switch {
		case !d.wants(n, Scalar, rule):
		case partitionNode(n).Form != Mapping:
			d.add(n, n.Describe(), rule, `write "header:X-Api-Key"`)
		default:
			whole.read(d, n, &p)
			*v = n.Text
		}
	}}
}

// ParseConfig reads the configuration src. Errors call it name. The error is an Errors with every mistake
// in it.
func ParseConfig(src []byte, name string, env Env) (*Config, error) {
	const form = "a configuration is a mapping with target, limit, scenarios and more"
	root, problems := parseYAML(src, name, Document{Has: form, Is: form})
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
			flag := Problem{File: name, Line: k.At.Line, Col: k.At.Col}.Error()
			c.Header = append(c.Header, Setting{Path: "target.header", Field: k.Text, Flag: flag,
				Value: Verbatim(n.Items[i].Text), Secret: len(n.Items[i].Values) > 0})
		}
	}
	return &c.Config, nil
}
