package scenario

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Lint reads a scenario as Parse does and adds warnings: things that are no mistakes, but could be better.
// Warnings are in file order. There are none if there is an error.
func Lint(src []byte, name string, opts ParseOptions) (*Scenario, []tree.Problem, error) {
	s, err := read(src, name, opts)
	if err != nil {
		return nil, nil, err
	}
	l := linter{decoder: decoder{file: name}, s: s}
	root, _ := tree.Parse(src, name, scenarioDocument())
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
func (l *linter) head(src []byte, root *tree.Node) {
	first, _, _ := strings.Cut(string(src), "\n")
	if !strings.HasPrefix(first, "# yaml-language-server: $schema=") {
		l.addAt(tree.Position{Line: 1, Col: 1}, "", "no schema header",
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
		l.add(root.Get("id"), tree.Quote(l.s.ID), "the file is called "+tree.Quote(base),
			"give both the same name")
	}
	if n := root.Get("title"); n != nil && strings.HasSuffix(l.s.Title, ".") {
		l.add(n, tree.Quote(l.s.Title), "a title has no full stop", "")
	}
}

// faults warns of names in catches that are no faults.
func (l *linter) faults(root *tree.Node, known []string) {
	list := root.Get("catches")
	if list == nil || len(known) == 0 {
		return
	}
	for _, n := range list.Items {
		if !slices.Contains(known, n.Text) {
			mend := text.Suggest(n.Text, known)
			if mend == "" {
				mend = "rlcheck serve --fault list shows them all"
			}
			l.add(n, tree.Quote(n.Text), "there is no such fault", mend)
		}
	}
}

// plan warns of plans that cannot show what they should.
func (l *linter) plan(root *tree.Node) {
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
		l.add(root.Get("phases"), "no denial",
			"a correct limiter admits everything that is sent, so a limiter that admits too much "+
				"passes too",
			"send more than it admits")
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
