package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Setting overrides one value of a scenario file, before anything is read from it: `--set
// phases.1.duration=2s`.
type Setting struct {
	// Path leads to the value. An element of a list is named by its index from 0 or, for phases, by its name.
	Path string
	// Value is a YAML value in one line, lists and mappings in brackets; all else is text as it is.
	Value string
	// Flag is how errors call the setting. Empty: "--set PATH=VALUE".
	Flag string
	// Field is the header field below Path that is set, in place of one whose name differs in case only; it
	// may have dots.
	Field string
	// Secret keeps the value out of every report. The value of a Field or a Secret is text, whatever it looks
	// like.
	Secret bool
	// Unset applies the setting only where the file says nothing.
	Unset bool
}

// Verbatim returns text for a Setting in which no variable is looked for.
func Verbatim(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// ParseSetting reads PATH=VALUE. An error is a Problem.
func ParseSetting(s string) (Setting, error) {
	path, value, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return Setting{}, Problem{File: "--set " + clip(s), What: quote(s), Why: "a setting is PATH=VALUE",
			Mend: `write "target.timeout=2s"`}
	}
	return Setting{Path: path, Value: value}, nil
}

// source is what errors call the setting.
func (s Setting) source() string {
	if s.Flag != "" {
		return s.Flag
	}
	return clip("--set " + s.Path + "=" + s.Value)
}

// problem is a mistake of the setting.
func (s Setting) problem(path, what, why, mend string) Problem {
	return Problem{File: s.source(), Path: path, What: what, Why: why, Mend: mend}
}

// settings returns the overrides of opts in the order in which they are applied: later ones win.
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

// steps lead from the root to the value.
func (s Setting) steps(root *node) []string {
	steps := strings.Split(s.Path, ".")
	if s.Field == "" {
		return steps
	}
	at := root
	for _, step := range steps {
		at = at.get(step)
	}
	if at != nil && at.form == mapping {
		for _, k := range at.keys {
			if strings.EqualFold(k.text, s.Field) {
				return append(steps, k.text)
			}
		}
	}
	return append(steps, s.Field)
}

// apply overrides a value of the tree below root.
func (s Setting) apply(root *node) Errors {
	value, errs := s.tree()
	if len(errs) > 0 {
		return errs
	}
	at := root
	steps := s.steps(root)
	for i, step := range steps {
		path := strings.Join(steps[:i+1], ".")
		slot, why := at.slot(step, value.at)
		if slot == nil {
			return Errors{s.problem(path, quote(step), why, suggest(step, at.names()))}
		}
		if i == len(steps)-1 {
			if s.Unset && !(*slot).isNull() {
				return nil
			}
			if value.isNull() || value.form == sequence && len(value.items) == 0 {
				at.leaveOut(slot)
				return nil
			}
			value.rebase((*slot).path)
			*slot = value
			return nil
		}
		if (*slot).isNull() {
			*slot = &node{form: mapping, at: value.at, path: (*slot).path}
		}
		at = *slot
	}
	return nil
}

// slot returns where the child of a mapping or a list is kept, making an empty one in a mapping that has
// none.
func (n *node) slot(step string, at position) (slot **node, why string) {
	if n.form == scalar {
		return nil, "the value above it is text and has no parts"
	}
	if step == "" {
		return nil, "a path has no empty step"
	}
	if n.form == mapping {
		for i, k := range n.keys {
			if k.text == step {
				return &n.items[i], ""
			}
		}
		path := join(n.path, step)
		n.keys = append(n.keys, &node{text: step, raw: step, path: path, at: at})
		n.items = append(n.items, &node{path: path, at: at, plain: true})
		return &n.items[len(n.items)-1], ""
	}
	for i, item := range n.items {
		if name := item.get("name"); name != nil && name.text == step {
			return &n.items[i], ""
		}
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
		return &n.items[i], ""
	}
	if len(n.items) == 1 {
		return nil, "the list has 1 element, named by its index from 0 or by its name"
	}
	return nil, fmt.Sprintf("the list has %d elements, named by their index from 0 or by their name",
		len(n.items))
}

// leaveOut removes the child that slot keeps: an empty list, or null, stands for no key at all.
func (n *node) leaveOut(slot **node) {
	for i := range n.items {
		if &n.items[i] != slot {
			continue
		}
		n.items = slices.Delete(n.items, i, i+1)
		if n.form == mapping {
			n.keys = slices.Delete(n.keys, i, i+1)
		}
		return
	}
}

// names are the names of the elements of a list that have one.
func (n *node) names() []string {
	var out []string
	for _, item := range n.items {
		if name := item.get("name"); n.form == sequence && name != nil {
			out = append(out, name.text)
		}
	}
	return out
}

// tree reads the value. What is not YAML, or a flag of its own, is plain text.
func (s Setting) tree() (*node, Errors) {
	text := &node{text: s.Value, raw: s.Value, plain: !s.Secret && s.Field == "", secret: s.Secret}
	if s.Flag == "" && strings.TrimSpace(s.Value) != "" {
		root, errs := parseTree([]byte(s.Value), s.source())
		list := strings.ContainsAny(s.Value[:1], "[{")
		if len(errs) == 0 && (list || root.form == scalar) {
			text = root
		} else if list {
			for i := range errs {
				errs[i].Line, errs[i].Col, errs[i].Path = 0, 0, s.Path+errs[i].Path
			}
			return nil, errs
		}
	}
	text.mark(position{setting: s.source()})
	return text, nil
}

// mark puts n and all below it at a position.
func (n *node) mark(at position) {
	n.at = at
	for _, k := range n.keys {
		k.at = at
	}
	for _, c := range n.items {
		c.mark(at)
	}
}

// rebase gives n and all below it the path that leads to them.
func (n *node) rebase(path string) {
	n.path = path
	for i, c := range n.items {
		if n.form == mapping {
			n.keys[i].path = join(path, n.keys[i].text)
			c.rebase(n.keys[i].path)
		} else {
			c.rebase(fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// partitionFlag overrides the kind of the partition below root with the text of --partition; count and the
// rest stay.
func partitionFlag(root *node, text string) {
	at := position{setting: "--partition"}
	flag := partitionNode(&node{text: text, raw: text, plain: true, at: at, path: "partition"})
	slot, _ := root.slot("partition", at) // the root is a mapping and the step not empty: there is a slot
	if old := *slot; old.form == mapping && flag.form == mapping {
		for i, k := range old.keys {
			if !isPartitionKind(k.text) && k.text != "format" {
				flag.keys, flag.items = append(flag.keys, k), append(flag.items, old.items[i])
			}
		}
	}
	*slot = flag
}
