package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/spell"
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
		return Setting{}, Problem{File: "--set " + clip(s), What: Quote(s), Why: "a setting is PATH=VALUE",
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

// steps lead from the root to the value.
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
			return Errors{s.problem(path, Quote(step), why, spell.Suggest(step, at.names()))}
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

// Slot returns where the child of a mapping or a list is kept, making an empty one in a mapping that has
// none.
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

// leaveOut removes the child that slot keeps: an empty list, or null, stands for no key at all.
func (n *Node) leaveOut(slot **Node) {
	for i := range n.Items {
		if &n.Items[i] != slot {
			continue
		}
		n.Items = slices.Delete(n.Items, i, i+1)
		if n.Form == Mapping {
			n.Keys = slices.Delete(n.Keys, i, i+1)
		}
		return
	}
}

// names are the names of the elements of a list that have one.
func (n *Node) names() []string {
	var out []string
	for _, item := range n.Items {
		if name := item.Get("name"); n.Form == Sequence && name != nil {
			out = append(out, name.Text)
		}
	}
	return out
}

// tree reads the value. What is not YAML, or a flag of its own, is plain text.
func (s Setting) tree() (*Node, Errors) {
	text := &Node{Text: s.Value, Raw: s.Value, Plain: !s.Secret && s.Field == "", Secret: s.Secret}
	if s.Flag == "" && strings.TrimSpace(s.Value) != "" {
		root, errs := Parse([]byte(s.Value), s.source(), Document{})
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

// mark puts n and all below it at a position.
func (n *Node) mark(at Position) {
	n.At = at
	for _, k := range n.Keys {
		k.At = at
	}
	for _, c := range n.Items {
		c.mark(at)
	}
}

// rebase gives n and all below it the path that leads to them.
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
