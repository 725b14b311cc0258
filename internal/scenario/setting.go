package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Setting overrides one value of a scenario file before the file is decoded: `--set phases.1.duration=2s`.
type Setting struct {
	// Path leads to the value. An element of a list is named by its index from 0 or, for phases, by its name.
	Path string
	// Value is a YAML value in one line, with lists and mappings in brackets. Anything else is plain text.
	Value string
	// Flag is the name of the setting in errors. Empty: "--set PATH=VALUE".
	Flag string
	// Field is the header field below Path that is set. It replaces a field whose name differs only in case.
	// It may have dots.
	Field string
	// Secret keeps the value out of every report. The value of a Field or a Secret is always text.
	Secret bool
	// Unset applies the setting only if the file does not set the value.
	Unset bool
}

// Verbatim returns a text for a Setting in which variables are not expanded.
func Verbatim(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// ParseSetting reads PATH=VALUE. An error is a Problem.
func ParseSetting(s string) (Setting, error) {
	path, value, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return Setting{}, Problem{File: "--set " + clip(s), What: Quote(s), Why: "a setting is PATH=VALUE",
			Mend: `write "target.timeout=2s"`}
	}
	return Setting{Path: path, Value: value}, nil
}

// source returns the name of the setting in errors.
func (s Setting) source() string {
	if s.Flag != "" {
		return s.Flag
	}
	return clip("--set " + s.Path + "=" + s.Value)
}

// steps returns the keys that lead from the root to the value.
func (s Setting) steps(root *Node) []string {
	steps := strings.Split(s.Path, ".")
	if s.Field == "" {
		return steps
	}
	at := root
	for _, step := range steps {
		at = at.Get(step)
	}
	if at != nil && at.Form == Mapping {
		for _, k := range at.Keys {
			if strings.EqualFold(k.Text, s.Field) {
				return append(steps, k.Text)
			}
		}
	}
	return append(steps, s.Field)
}

// Apply overrides a value of the tree below root.
func (s Setting) Apply(root *Node) Errors {
	value, errs := s.tree()
	if len(errs) > 0 {
		return errs
	}
	at := root
	steps := s.steps(root)
	for i, step := range steps {
		path := strings.Join(steps[:i+1], ".")
		slot, why := at.Slot(step, value.At)
		if slot == nil {
			return Errors{{File: s.source(), Path: path, What: Quote(step), Why: why,
				Mend: text.Suggest(step, at.names())}}
		}
		if i == len(steps)-1 {
			if s.Unset && !(*slot).IsNull() {
				return nil
			}
			if value.IsNull() || value.Form == Sequence && len(value.Items) == 0 {
				at.leaveOut(slot)
				return nil
			}
			value.rebase((*slot).Path)
			*slot = value
			return nil
		}
		if (*slot).IsNull() {
			*slot = &Node{Form: Mapping, At: value.At, Path: (*slot).Path}
		}
		at = *slot
	}
	return nil
}

// Slot returns where the child of a mapping or a list is kept. If a mapping has no such child, it makes an
// empty one.
func (n *Node) Slot(step string, at Position) (slot **Node, why string) {
	if n.Form == Scalar {
		return nil, "the value above it is text and has no parts"
	}
	if step == "" {
		return nil, "a path has no empty step"
	}
	if n.Form == Mapping {
		for i, k := range n.Keys {
			if k.Text == step {
				return &n.Items[i], ""
			}
		}
		path := join(n.Path, step)
		n.Keys = append(n.Keys, &Node{Text: step, Raw: step, Path: path, At: at})
		n.Items = append(n.Items, &Node{Path: path, At: at, Plain: true})
		return &n.Items[len(n.Items)-1], ""
	}
	for i, item := range n.Items {
		if name := item.Get("name"); name != nil && name.Text == step {
			return &n.Items[i], ""
		}
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Items) {
		return &n.Items[i], ""
	}
	if len(n.Items) == 1 {
		return nil, "the list has 1 element, named by its index from 0 or by its name"
	}
	return nil, fmt.Sprintf("the list has %d elements, named by their index from 0 or by their name",
		len(n.Items))
}

// leaveOut removes the child in slot. An empty list, or null, stands for a missing key.
func (n *Node) leaveOut(slot **Node) {
	i := slices.Index(n.Items, *slot)
	n.Items = slices.Delete(n.Items, i, i+1)
	if n.Form == Mapping {
		n.Keys = slices.Delete(n.Keys, i, i+1)
	}
}

// names returns the names of the elements of a list that have one.
func (n *Node) names() []string {
	var out []string
	for _, item := range n.Items {
		if name := item.Get("name"); n.Form == Sequence && name != nil {
			out = append(out, name.Text)
		}
	}
	return out
}

// tree reads the value. If it is not YAML, or the setting has a flag of its own, the value is plain text.
func (s Setting) tree() (*Node, Errors) {
	text := &Node{Text: s.Value, Raw: s.Value, Plain: !s.Secret && s.Field == "", Secret: s.Secret}
	if s.Flag == "" && strings.TrimSpace(s.Value) != "" {
		root, errs := parseYAML([]byte(s.Value), s.source(), Document{})
		list := strings.ContainsAny(s.Value[:1], "[{")
		if len(errs) == 0 && (list || root.Form == Scalar) {
			text = root
		} else if list {
			for i := range errs {
				errs[i].Line, errs[i].Col, errs[i].Path = 0, 0, s.Path+errs[i].Path
			}
			return nil, errs
		}
	}
	text.mark(Position{Setting: s.source()})
	return text, nil
}

// mark sets the position of n and of all nodes below it.
func (n *Node) mark(at Position) {
	n.At = at
	for _, k := range n.Keys {
		k.At = at
	}
	for _, c := range n.Items {
		c.mark(at)
	}
}

// rebase sets the path of n, and of all nodes below it accordingly.
func (n *Node) rebase(path string) {
	n.Path = path
	for i, c := range n.Items {
		if n.Form == Mapping {
			n.Keys[i].Path = join(path, n.Keys[i].Text)
			c.rebase(n.Keys[i].Path)
		} else {
			c.rebase(fmt.Sprintf("%s[%d]", path, i))
		}
	}
}
