package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxDepth is how deeply a scenario file may nest. The deepest value of the format stands at 5.
const maxDepth = 16

// Document is what messages say of a file without a value: what such files have, what they are, and a mend,
// which may be empty. Foreign: others wrote the format, so all of YAML may stand in it.
type Document struct {
	Has, Is, Mend string
	Foreign       bool
}

// Form is the form of a node.
type Form uint8

// The forms. A node without a value is a Scalar too (IsNull).
const (
	Scalar Form = iota
	Sequence
	Mapping
)

// Position is where a node stands: a line and a column that count from 1, or the setting that it came from.
type Position struct {
	Line, Col int
	Setting   string
}

// Node is one value of a scenario file. It has only those parts of YAML that scenario files use.
type Node struct {
	Form Form
	At   Position
	// Path leads to the node, as in phases[0].duration. Empty: the root.
	Path string
	// Text is the scalar with its variables expanded, Raw the scalar as written. Plain: it has no quotes.
	Text, Raw string
	Plain     bool
	// Literal: Text stands in the file character by character, on one line.
	Literal bool
	// Values are the values of the environment in Text. Bad: a variable could not be expanded.
	Values []string
	Bad    bool
	// Secret: no report may show any of Text.
	Secret bool
	// Odd: the mapping has an unknown key.
	Odd bool
	// Keys and Items are of equal length for a mapping; a sequence has items only.
	Keys, Items []*Node
}

// Get returns the value of a mapping's key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Form != Mapping {
		return nil
	}
	for i, k := range n.Keys {
		if k.Text == key {
			return n.Items[i]
		}
	}
	return nil
}

// Unset returns the text of n as if no variable were set. Empty if n is nil or no text.
func (n *Node) Unset() string {
	if n == nil {
		return ""
	}
	return expand(n.Raw, nil).text
}

// Expand replaces the variables in all values below n. It tells report of those that it cannot expand.
func (n *Node) Expand(env Env, report func(n *Node, what, why, mend string)) {
	for _, item := range n.Items {
		item.Expand(env, report)
	}
	if n.Form != Scalar {
		return
	}
	x := expand(n.Raw, env)
	if x.bad != "" {
		report(n, Quote(x.bad), x.why, x.mend)
		n.Bad = true
		return
	}
	n.Text, n.Values = x.text, x.values
	if n.Varied() && n.Text == "" {
		n.Plain = false // an empty variable is an empty text, not a missing value
	}
}

// Leaf returns a text below n that is not in the file, at the position of n.
func (n *Node) Leaf(key, text string) *Node {
	return &Node{Text: text, Raw: text, At: n.At, Path: join(n.Path, key)}
}

// FromEnv tells whether n or a node below it has a value of the environment.
func (n *Node) FromEnv() bool {
	return n != nil && (len(n.Values) > 0 || slices.ContainsFunc(n.Items, (*Node).FromEnv))
}

// Children returns the values of n. nil if n is nil.
func (n *Node) Children() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// IsNull tells whether n is a scalar without a value.
func (n *Node) IsNull() bool {
	return n.Form == Scalar && n.Plain && slices.Contains([]string{"", "~", "null", "Null", "NULL"}, n.Text)
}

// otherScalar matches what YAML 1.2 takes for a number or a boolean if it has no quotes. IsNull matches
// "null" and "~".
var otherScalar = regexp.MustCompile(`^([-+]?(0|[0-9]+)|0o[0-7]+|0x[0-9a-fA-F]+|` +
	`[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|` +
	`[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)|true|True|TRUE|false|False|FALSE)$`)

// IsText tells whether YAML takes n for text.
func (n *Node) IsText() bool {
	return n.Form == Scalar && !n.IsNull() && (!n.Plain || n.Varied() || !otherScalar.MatchString(n.Text))
}

// Describe says what n is, in the words of a message.
func (n *Node) Describe() string {
	switch {
	case n.Form == Mapping:
		return "a mapping"
	case n.Form == Sequence:
		return "a list"
	case n.IsNull():
		return "nothing"
	default:
		return Quote(n.Text)
	}
}

// Varied tells whether Text differs from what stands in the file.
func (n *Node) Varied() bool { return n.Text != n.Raw }

// parseYAML reads one YAML document of at most 1 MiB. Only this function knows the YAML library. If there are
// problems, the tree may be incomplete. It is nil if the file could not be read at all.
func parseYAML(src []byte, file string, of Document) (*Node, Errors) {
	if p, bad := oversized(int64(len(src)), file); bad {
		return nil, Errors{p}
	}
	t := treeBuilder{file: file, text: splitLines(src), foreign: of.Foreign}
	t.lines = max(1, len(t.text))
	if p, bad := t.badCharacter(src); bad {
		return nil, Errors{p}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		panic("scenario: yaml loader: " + err.Error()) // no option is passed that it could refuse
	}
	var doc, next yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, Errors{{File: file, Line: 1, Col: 1, What: "an empty file", Why: of.Has, Mend: of.Mend}}
	case err != nil:
		return nil, Errors{t.loadProblem(err)}
	}
	if len(doc.Content) != 1 {
		return nil, Errors{{File: file, Line: 1, Col: 1, What: "an empty document", Why: of.Is}}
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
	// Missing values would be reported as mistakes that nobody made.
	if t.aliased {
		root = nil
	}
	return root, t.problems
}

// treeBuilder turns YAML nodes into ours and reports parts of YAML that scenario files do not use.
type treeBuilder struct {
	file string
	// text are the lines of the file, lines their number, at least 1.
	text     []string
	lines    int
	problems Errors
	// aliased: values are missing because they were aliases.
	aliased bool
	// foreign: others wrote the format. values is how many of its values were read.
	foreign bool
	values  int
}

// The most values of a foreign document, its aliases written out, and how deeply it may nest.
const (
	mostForeign = 1 << 20
	foreignDeep = 100
)

func (t *treeBuilder) add(n *yaml.Node, path, what, why, mend string) {
	t.problems = append(t.problems, Problem{File: t.file, Line: min(max(n.Line, 1), t.lines),
		Col: max(n.Column, 1), Path: path, What: what, Why: why, Mend: mend})
}

// convert returns the node for y, or nil if it is of no use.
func (t *treeBuilder) convert(y *yaml.Node, path string, depth int) *Node {
	if t.values++; t.foreign && y.Kind == yaml.AliasNode && depth < foreignDeep && t.values < mostForeign {
		return t.convert(y.Alias, path, depth+1)
	}
	if depth > maxDepth && (!t.foreign || depth > foreignDeep || t.values > mostForeign) {
		t.add(y, "", "a value nested too deeply",
			fmt.Sprintf("scenario files nest at most %d deep", maxDepth), "")
		return nil
	}
	if y.Anchor != "" && !t.foreign {
		t.add(y, path, "anchor "+Quote("&"+y.Anchor), "scenario files have no anchors", "write the value out")
	}
	if y.Style&yaml.TaggedStyle != 0 && !t.foreign {
		t.add(y, path, "tag "+Quote(y.Tag), "scenario files have no tags", "leave it out")
	}
	n := &Node{At: Position{Line: min(y.Line, t.lines), Col: y.Column}, Path: path}
	switch y.Kind {
	case yaml.MappingNode:
		n.Form = Mapping
		t.convertPairs(n, y, depth)
	case yaml.SequenceNode:
		n.Form = Sequence
		for i, c := range y.Content {
			if item := t.convert(c, fmt.Sprintf("%s[%d]", path, i), depth+1); item != nil {
				n.Items = append(n.Items, item)
			}
		}
	case yaml.ScalarNode:
		n.Text, n.Raw = y.Value, y.Value
		const marked = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		n.Plain = y.Style&marked == 0
		n.Literal = t.standsAt(n.At, y.Value)
	default:
		t.add(y, path, "alias "+Quote("*"+y.Value), "scenario files have no aliases", "write the value out")
		t.aliased = true
		return nil
	}
	return n
}

// convertPairs fills the mapping n from y. A key that is given twice is a problem, and the first one counts.
func (t *treeBuilder) convertPairs(n *Node, y *yaml.Node, depth int) {
	seen := make(map[string]*Node, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			t.add(k, n.Path, "a key that is not text", "keys are words", "")
			continue
		}
		key := &Node{At: Position{Line: min(k.Line, t.lines), Col: k.Column}, Text: k.Value, Raw: k.Value,
			Path: join(n.Path, k.Value)}
		if k.Anchor != "" {
			t.add(k, key.Path, "anchor "+Quote("&"+k.Anchor), "scenario files have no anchors",
				"leave it out")
		}
		value := t.convert(v, key.Path, depth+1)
		if first := seen[k.Value]; first != nil {
			t.add(k, n.Path, Quote(k.Value), fmt.Sprintf("a key is given once, and this one stands at "+
				"%d:%d already", first.At.Line, first.At.Col), "remove one of them")
			continue
		}
		seen[k.Value] = key
		if value != nil {
			n.Keys, n.Items = append(n.Keys, key), append(n.Items, value)
		}
	}
}

// plainKey matches a key that is a plain word.
var plainKey = regexp.MustCompile(`^[0-9A-Za-z_-]*$`)

// join adds a key to a path. A key that is not a plain word is quoted.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		key = Quote(key)
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
	le, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
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
	switch at := (Position{Line: p.Line, Col: p.Col}); {
	case t.standsAt(at, "\t"):
		p.What, p.Mend = "a tab", "indent with spaces"
	case t.standsAt(at, ":"):
		p.Mend = "put a text with \": \" into quotes, or end the key in the line above with a colon"
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
func isBreak(r rune) bool { return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 }

// splitLines cuts text at the line breaks of YAML. A break at the end begins no further line.
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

// longLine is the column beyond which standsAt does not look, as counting characters again and again takes
// time.
const longLine = 1000

// standsAt tells whether s stands at a position, without quotes and on one line. Beyond longLine it is not
// known.
func (t *treeBuilder) standsAt(at Position, s string) bool {
	if at.Line < 1 || at.Line > len(t.text) || at.Col > longLine {
		return false
	}
	line := t.text[at.Line-1]
	for range at.Col - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return strings.HasPrefix(line, s)
}
