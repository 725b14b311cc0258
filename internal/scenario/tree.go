package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxDepth is how deeply a scenario file may nest; the deepest value of the format stands at 5.
const maxDepth = 16

// What problems call a file without a value.
const (
	emptyFile     = "an empty file"
	emptyDocument = "an empty document"
)

// form is the form of a node.
type form uint8

const (
	scalar form = iota
	sequence
	mapping
)

// position is where a node stands: a line and a column that count from 1, or the setting it came from.
type position struct {
	line, col int
	setting   string
}

// node is one value of a scenario file, without anything of YAML that scenario files do not use.
type node struct {
	form form
	at   position
	// path leads to the node, as in phases[0].duration; empty for the root.
	path string
	// text is the scalar with its variables expanded, raw as it is written, plain without quotes around it.
	text, raw string
	plain     bool
	// literal tells that text stands in the file character by character, in one line.
	literal bool
	// values are the values of the environment in text; bad tells that a variable could not be expanded.
	values []string
	bad    bool
	// secret tells that all of text is to be kept out of reports.
	secret bool
	// odd tells that the mapping has a key that is unknown.
	odd bool
	// keys and items are of equal length for a mapping; a sequence has items only.
	keys, items []*node
}

// get returns the value of a mapping's key, nil where there is none.
func (n *node) get(key string) *node {
	if n == nil || n.form != mapping {
		return nil
	}
	for i, k := range n.keys {
		if k.text == key {
			return n.items[i]
		}
	}
	return nil
}

// rawText is a text as it is written, empty for nil and for what is no text.
func (n *node) rawText() string {
	if n == nil {
		return ""
	}
	return n.raw
}

// fromEnv tells whether a value of the environment stands in n or below it.
func (n *node) fromEnv() bool {
	return n != nil && (len(n.values) > 0 || slices.ContainsFunc(n.items, (*node).fromEnv))
}

// varied tells whether text is not what stands in the file.
func (n *node) varied() bool { return n.text != n.raw }

// parseTree reads one YAML document. It is the only place that knows the YAML library. The tree may be
// incomplete where there are problems, and nil where it could not be read at all.
func parseTree(src []byte, file string) (*node, Errors) {
	t := treeBuilder{file: file, text: splitLines(src)}
	t.lines = max(1, len(t.text))
	if p, bad := t.badCharacter(src); bad {
		return nil, Errors{p}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		panic("scenario: yaml loader: " + err.Error()) // no options are passed that it could refuse
	}
	var doc, next yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, Errors{{File: file, Line: 1, Col: 1, What: emptyFile,
			Why:  "a scenario has id, title, kind, limit and phases",
			Mend: `begin with what "rlcheck init" prints`}}
	case err != nil:
		return nil, Errors{t.loadProblem(err)}
	}
	if len(doc.Content) != 1 {
		return nil, Errors{{File: file, Line: 1, Col: 1, What: emptyDocument,
			Why: "a scenario is one mapping"}}
	}
	root := t.convert(doc.Content[0], "", 0)
	switch err := loader.Load(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		t.problems = append(t.problems, t.loadProblem(err))
	default:
		at := &next
		if len(next.Content) > 0 {
			at = next.Content[0]
		}
		t.add(at, "", "a second document", "a file holds one scenario", "put it into a file of its own")
	}
	if t.aliased { // what is missing would be reported as mistakes that nobody made
		root = nil
	}
	return root, t.problems
}

// treeBuilder turns YAML nodes into ours and collects what scenario files do not use.
type treeBuilder struct {
	file string
	// text are the lines of the file, lines their number, at least 1.
	text     []string
	lines    int
	problems Errors
	// aliased tells that values are missing because they were aliases.
	aliased bool
}

func (t *treeBuilder) add(n *yaml.Node, path, what, why, mend string) {
	t.problems = append(t.problems,
		Problem{File: t.file, Line: min(max(n.Line, 1), t.lines), Col: max(n.Column, 1),
			Path: path, What: what, Why: why, Mend: mend})
}

// convert returns the node for y, or nil where it is of no use.
func (t *treeBuilder) convert(y *yaml.Node, path string, depth int) *node {
	if depth > maxDepth {
		t.add(y, "", "a value nested too deeply",
			fmt.Sprintf("scenario files nest at most %d deep", maxDepth), "")
		return nil
	}
	if y.Anchor != "" {
		t.add(y, path, "anchor "+quote("&"+y.Anchor), "scenario files have no anchors", "write the value out")
	}
	if y.Style&yaml.TaggedStyle != 0 {
		t.add(y, path, "tag "+quote(y.Tag), "scenario files have no tags", "leave it out")
	}
	n := &node{at: position{line: min(y.Line, t.lines), col: y.Column}, path: path}
	switch y.Kind {
	case yaml.MappingNode:
		n.form = mapping
		t.convertPairs(n, y, depth)
	case yaml.SequenceNode:
		n.form = sequence
		for i, c := range y.Content {
			if item := t.convert(c, fmt.Sprintf("%s[%d]", path, i), depth+1); item != nil {
				n.items = append(n.items, item)
			}
		}
	case yaml.ScalarNode:
		n.text, n.raw = y.Value, y.Value
		const marked = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		n.plain = y.Style&marked == 0
		n.literal = t.standsAt(n.at, y.Value)
	default:
		t.add(y, path, "alias "+quote("*"+y.Value), "scenario files have no aliases", "write the value out")
		t.aliased = true
		return nil
	}
	return n
}

// convertPairs fills the mapping n from y. A key that is given twice is a problem; the first one counts.
func (t *treeBuilder) convertPairs(n *node, y *yaml.Node, depth int) {
	seen := make(map[string]*node, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			t.add(k, n.path, "a key that is not text", "keys are words", "")
			continue
		}
		key := &node{at: position{line: min(k.Line, t.lines), col: k.Column}, text: k.Value, raw: k.Value,
			path: join(n.path, k.Value)}
		if k.Anchor != "" {
			t.add(k, key.path, "anchor "+quote("&"+k.Anchor), "scenario files have no anchors",
				"leave it out")
		}
		value := t.convert(v, key.path, depth+1)
		if first := seen[k.Value]; first != nil {
			t.add(k, n.path, quote(k.Value),
				fmt.Sprintf("a key is given once, and this one stands at %d:%d already", first.at.line,
					first.at.col),
				"remove one of them")
			continue
		}
		seen[k.Value] = key
		if value != nil {
			n.keys, n.items = append(n.keys, key), append(n.items, value)
		}
	}
}

// join adds a key to a path. A key that is not a plain word is quoted.
func join(path, key string) string {
	for _, r := range key {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			key = quote(key)
			break
		}
	}
	key = clip(key)
	if path == "" {
		return key
	}
	return path + "." + key
}

// loadProblem turns an error of the YAML library into a problem with a position inside the file.
func (t *treeBuilder) loadProblem(err error) Problem {
	p := Problem{File: t.file, Line: 1, Col: 1, What: "not YAML", Why: err.Error()}
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return p
	}
	p.Why = le.Message
	if le.ContextMsg != "" {
		p.Why += " " + le.ContextMsg
		if le.ContextMark.Line > 0 && le.ContextMark != le.Mark {
			p.Why += fmt.Sprintf(" that began at %d:%d", le.ContextMark.Line, le.ContextMark.Column)
		}
	}
	mark := le.Mark
	if mark.Line > t.lines && le.ContextMark.Line > 0 { // the end of the file: say where it began
		mark = le.ContextMark
	}
	p.Line, p.Col = min(max(mark.Line, 1), t.lines), max(mark.Column, 1)
	if t.standsAt(position{line: p.Line, col: p.Col}, "\t") {
		p.What, p.Mend = "a tab", "indent with spaces"
	}
	return p
}

// badCharacter finds the first byte that is not UTF-8 and the first character that YAML does not allow.
func (t *treeBuilder) badCharacter(src []byte) (Problem, bool) {
	line, col := 1, 1
	for rest := src; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		p := Problem{File: t.file, Line: line, Col: col}
		switch {
		case r == utf8.RuneError && size == 1:
			p.What, p.Why, p.Mend = fmt.Sprintf("byte 0x%02x", rest[0]), "scenario files are UTF-8",
				"save the file as UTF-8"
			return p, true
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f, r > 0x7f && r < 0xa0 &&
			r != 0x85, r == 0xfffe, r == 0xffff:
			p.What, p.Why, p.Mend = fmt.Sprintf("character %U", r),
				"scenario files are text without control characters", "remove it"
			return p, true
		}
		rest = rest[size:]
		if isBreak(r) && (r != '\r' || len(rest) == 0 || rest[0] != '\n') {
			line, col = line+1, 1
		} else {
			col++
		}
	}
	return Problem{}, false
}

// isBreak tells whether YAML ends a line at r.
func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// splitLines cuts text at the breaks of YAML; a break at the end begins no further line.
func splitLines(src []byte) []string {
	s := strings.ReplaceAll(string(src), "\r\n", "\n")
	var lines []string
	for s != "" {
		i := strings.IndexFunc(s, isBreak)
		if i < 0 {
			return append(lines, s)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		lines, s = append(lines, s[:i]), s[i+size:]
	}
	return lines
}

// longLine is the column from which on nobody asks what stands where: counting characters again and again
// takes time.
const longLine = 1000

// standsAt tells whether s stands at a position, without quotes and in one line. It is not known beyond
// longLine.
func (t *treeBuilder) standsAt(at position, s string) bool {
	if at.line < 1 || at.line > len(t.text) || at.col > longLine {
		return false
	}
	line := t.text[at.line-1]
	for range at.col - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return strings.HasPrefix(line, s)
}
