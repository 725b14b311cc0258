package scenario

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Lint reads a scenario as Parse does and adds warnings: things that are no mistakes, but could be better.
// Warnings are in file order. There are none if there is an error.
func Lint(src []byte, name string, opts ParseOptions) (*Scenario, []Problem, error) {
	s, err := read(src, name, opts)
	if err != nil {
		return nil, nil, err
	}
	l := linter{decoder: decoder{file: name}, s: s}
	root, _ := parseYAML(src, name, scenarioDocument())
	l.head(src, root)
	l.faults(root, opts.Faults)
	l.plan(root)
	l.problems.Sort()
	return &s.Scenario, l.problems, nil
}

// linter collects the warnings of one scenario.
type linter struct {
	decoder
	s *draft
}

// head warns of what a file lacks.
func (l *linter) head(src []byte, root *Node) {
	first, _, _ := strings.Cut(string(src), "\n")
	if !strings.HasPrefix(first, "# yaml-language-server: $schema=") {
		l.addAt(Position{Line: 1, Col: 1}, "", "no schema header",
			"editors check a file if its first line names the schema",
			`begin with "# yaml-language-server: $schema=./scenario.schema.json"`)
	}
	if l.s.Source == "" {
		l.add(root, `no "source"`, "the reader of a FAIL wants to know where the rule comes from",
			"add source")
	}
	if len(l.s.Catches) == 0 {
		l.add(root, `no "catches"`, "a scenario that no fault can fail proves nothing",
			"name the faults that it must find")
	}
	base := filepath.Base(l.decoder.file)
	if stem, isFile := strings.CutSuffix(base, ".yaml"); isFile && stem != l.s.ID && root.Get("id") != nil {
		l.add(root.Get("id"), Quote(l.s.ID), "the file is called "+Quote(base),
			"give both the same name")
	}
	if n := root.Get("title"); n != nil && strings.HasSuffix(l.s.Title, ".") {
		l.add(n, Quote(l.s.Title), "a title has no full stop", "")
	}
}

// faults warns of names in catches that are no faults.
func (l *linter) faults(root *Node, known []string) {
	list := root.Get("catches")
	if list == nil || len(known) == 0 {
		return
	}
	for _, n := range list.Items {
		if !slices.Contains(known, n.Text) {
			mend := cmp.Or(text.Suggest(n.Text, known), "rlcheck serve --fault list shows them all")
			l.add(n, Quote(n.Text), "there is no such fault", mend)
		}
	}
}

// plan warns of plans that cannot show what they should.
func (l *linter) plan(root *Node) {
	s := l.s
	denies := false
	for i := range s.Phases {
		p := &s.Phases[i]
		full := p.Limit.Full()
		switch p.Shape {
		case timeline.AtOnce, timeline.Boundary:
			denies = denies || p.Barred || !p.Unlimited && int64(p.Requests)*p.Cost > full
		case timeline.Silence, timeline.Hook:
		default:
			denies = true
		}
		if p.Shape == timeline.Silence && i == len(s.Phases)-1 {
			l.add(s.written(p.Name).at, "silence at the end",
				"no request after it could show what it was for", "remove it")
		}
	}
	if !denies {
		l.add(root.Get("phases"), "no denial", "a correct limiter admits everything that is sent, so a "+
			"limiter that admits too much passes too", "send more than it admits")
	}
	first := s.Phases[0]
	stale := func(p spec.Policy) bool {
		rests := first.Shape == timeline.Silence && first.Duration > p.Recovery()
		return p.Start != spec.StartUnknown && !rests
	}
	if n := root.Get("partition"); n != nil && !s.Partition.Fresh && slices.ContainsFunc(s.Limit, stale) {
		l.add(n, "partitions of an earlier run", "their quota may be in use when the run starts",
			"begin with a silence in which the limit recovers, or write fresh: true")
	}
}

// openAPIStart is the member that makes a document one of OpenAPI or Swagger, in YAML or JSON.
var openAPIStart = regexp.MustCompile(`(?m)^[\s{]*["']?(openapi|swagger)["']?\s*:`)

// IsOpenAPI tells whether src looks like an OpenAPI or Swagger document.
func IsOpenAPI(src []byte) bool { return openAPIStart.Match(src) }

// Declared counts the operations of an OpenAPI document, and those that declare a response 429, a Retry-After
// in it, and a limit.
type Declared struct{ Operations, Denials, Waits, Limits int }

// String returns: 3 operations: 2 declare 429, 1 Retry-After, 1 a limit.
func (d Declared) String() string {
	return fmt.Sprintf("%s: %d declare 429, %d Retry-After in it, %d a limit",
		text.Plural(d.Operations, "operation"), d.Denials, d.Waits, d.Limits)
}

// LintOpenAPI says which operations of an OpenAPI document (3.x, or Swagger 2.0) declare how they are
// limited. It warns of each that does not, in file order. A limit is a header field of a response such as
// X-RateLimit-Limit or RateLimit, or an extension such as x-ratelimit. What another file has is not seen.
func LintOpenAPI(src []byte, name string) (Declared, []Problem, error) {
	root, bad := parseYAML(src, name, Document{Foreign: true, Is: "an OpenAPI document is one mapping"})
	if root == nil || root.Get("openapi") == nil && root.Get("swagger") == nil {
		bad = append(bad, Problem{File: name, Line: 1, Col: 1, What: "no OpenAPI document",
			Why: "it has neither openapi nor swagger"})
		return Declared{}, nil, bad.Err()
	}
	d := document{linter: linter{decoder: decoder{file: name}}, root: root}
	paths := d.follow(root.Get("paths"))
	for i, item := range paths.Children() {
		item = d.follow(item)
		for k, op := range item.Children() {
			if method := strings.ToUpper(item.Keys[k].Text); slices.Contains(methods, method) {
				d.operation(method+" "+paths.Keys[i].Text, op, d.states(root) || d.states(item))
			}
		}
	}
	d.problems.Sort()
	return d.declared, d.problems, nil
}

// methods are the members of a path that are operations.
var methods = []string{"GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"}

type document struct {
	linter
	root     *Node
	declared Declared
}

// follow returns what a node refers to with $ref, or the node itself; an empty mapping if it is not here.
func (d *document) follow(n *Node) *Node {
	for range 16 { // a chain of references
		ref := n.Get("$ref")
		if ref == nil {
			break
		}
		pointer, here := strings.CutPrefix(ref.Text, "#/")
		if !here {
			return &Node{Form: Mapping}
		}
		n = d.root
		for step := range strings.SplitSeq(pointer, "/") {
			n = n.Get(strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(step))
		}
		if n == nil {
			d.add(ref, Quote(ref.Text), "the document has no such part", "")
		}
	}
	if n == nil || n.Form != Mapping {
		return &Node{Form: Mapping}
	}
	return n
}

// operation counts one operation, and warns of what it does not declare. stated: the whole path states a
// limit.
func (d *document) operation(name string, op *Node, stated bool) {
	d.declared.Operations++
	responses := d.follow(op.Get("responses"))
	stated = stated || d.states(op)
	for _, r := range responses.Children() {
		stated = stated || d.states(d.follow(d.follow(r).Get("headers")))
	}
	denial := d.follow(responses.Get("429"))
	wait := d.header(denial, "Retry-After")
	var lacks, mends []string
	if responses.Get("429") == nil {
		lacks, mends = append(lacks, "no response 429"), append(mends, `add responses: "429"`)
	} else if d.declared.Denials++; wait == nil && len(denial.Keys) > 0 {
		lacks, mends = append(lacks, "no Retry-After in its 429"), append(mends, "add headers: Retry-After")
	}
	if wait != nil {
		d.declared.Waits++
		d.whole(wait)
	}
	if stated {
		d.declared.Limits++
	} else {
		lacks = append(lacks, "no limit")
		mends = append(mends, "add X-RateLimit-Limit or RateLimit to the headers of its responses")
	}
	if len(lacks) > 0 {
		d.addAt(op.At, name, "declares "+strings.Join(lacks, " and "), "", strings.Join(mends, "; "))
	}
}

// states tells whether a mapping has a member that states a limit.
func (d *document) states(n *Node) bool {
	return n != nil && slices.ContainsFunc(n.Keys, func(k *Node) bool {
		name := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(k.Text))
		return strings.Contains(name, "ratelimit") || strings.Contains(name, "throttl")
	})
}

// header returns the declaration of a header field of a response, whatever its capitals; nil: there is none.
func (d *document) header(response *Node, name string) *Node {
	headers := d.follow(response.Get("headers"))
	for i, k := range headers.Keys {
		if strings.EqualFold(k.Text, name) {
			return d.follow(headers.Items[i])
		}
	}
	return nil
}

// whole warns of a Retry-After that may have fractions.
func (d *document) whole(wait *Node) {
	kind := d.follow(wait.Get("schema")).Get("type")
	if kind == nil {
		kind = wait.Get("type") // Swagger 2.0
	}
	if kind != nil && kind.Text == "number" {
		d.add(kind, Quote(kind.Text), "Retry-After is whole seconds or a date (RFC 9110, 10.2.3)",
			`write "integer"`)
	}
}
