package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// decoder collects the problems of one file while it is read.
type decoder struct {
	file     string
	problems Errors
	// lenient tells that the limit was said from outside: a scenario that is not for it is no mistake.
	lenient bool
	// issued tells that clients have issued keys, which are not new.
	issued bool
}

// add reports a problem at n.
func (d *decoder) add(n *node, what, why, mend string) { d.addAt(n.at, n.path, what, why, mend) }

func (d *decoder) addAt(at position, path, what, why, mend string) {
	p := Problem{File: d.file, Line: at.line, Col: at.col, Path: path, What: what, Why: why, Mend: mend}
	if at.setting != "" {
		p.File, p.Line, p.Col = at.setting, 0, 0
	}
	d.problems = append(d.problems, p)
}

// unknown reports a word that is none of words.
func (d *decoder) unknown(at position, path, what, word, why string, words []string) {
	mend := ""
	if len(d.problems) < 10*maxPrinted { // a file full of nonsense is not worth the time
		mend = suggest(word, words)
	}
	d.addAt(at, path, what+quote(word), why, mend)
}

// kind is one form of value: how it is read from a node, which is reported where it does not fit, and what an
// editor is told about it. The two say the same.
type kind[V any] struct {
	read   func(d *decoder, n *node, v *V)
	schema *jsonschema.Schema
}

// field is one key of a mapping that is read into a T.
type field[T any] struct {
	name     string
	required bool
	read     func(d *decoder, n *node, t *T)
	schema   *jsonschema.Schema
}

// key is the field of a name and a kind; doc is what an editor shows, and at finds the member of T it is kept
// in.
func key[T, V any](name string, k kind[V], doc string, at func(*T) *V) field[T] {
	s := *k.schema
	s.Description = doc
	return field[T]{name: name, schema: &s, read: func(d *decoder, n *node, t *T) { k.read(d, n, at(t)) }}
}

// must makes the key required.
func (f field[T]) must() field[T] { f.required = true; return f }

// object is the kind of a mapping with known keys; check, which may be nil, looks at the whole when all keys
// are read.
func object[T any](what string, fields []field[T], check func(d *decoder, n *node, t *T)) kind[T] {
	names := make([]string, len(fields))
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: never()}
	for i, f := range fields {
		names[i] = f.name
		s.Properties[f.name] = f.schema
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	s.PropertyOrder = names
	return kind[T]{schema: s, read: func(d *decoder, n *node, t *T) {
		if !d.wants(n, mapping, what+" is a mapping") {
			return
		}
		for i, k := range n.keys {
			at := slices.Index(names, k.text)
			if at < 0 {
				n.odd = true
				d.unknown(k.at, n.path, "unknown key ", k.text, what+" has "+strings.Join(names, ", "), names)
				continue
			}
			fields[at].read(d, n.items[i], t)
		}
		d.missing(n, what, s.Required)
		if check != nil {
			check(d, n, t)
		}
	}}
}

// missing reports the keys of names that a mapping lacks. One that is nearly there under another name is not
// missing too.
func (d *decoder) missing(n *node, what string, names []string) {
	var lacks []string
	for _, name := range names {
		near := func(k *node) bool { return n.odd && suggest(k.text, []string{name}) != "" }
		if n.get(name) == nil && !slices.ContainsFunc(n.keys, near) {
			lacks = append(lacks, name)
		}
	}
	switch len(lacks) {
	case 0:
	case 1:
		d.add(n, "no "+quote(lacks[0]), what+" has one", "")
	default:
		d.add(n, "no "+strings.Join(lacks, ", no "), what+" has them", "")
	}
}

// list is the kind of a list of at least one element; what names an element.
func list[V any](what string, k kind[V]) kind[[]V] {
	one := 1
	return kind[[]V]{
		schema: &jsonschema.Schema{Type: "array", Items: k.schema, MinItems: &one},
		read: func(d *decoder, n *node, v *[]V) {
			if !d.wants(n, sequence, "a list of "+what+" stands in brackets or has a dash before each") {
				return
			}
			if len(n.items) == 0 {
				d.add(n, "an empty list", "it names at least one of "+what, "leave the key out")
			}
			*v = make([]V, len(n.items))
			for i, item := range n.items {
				k.read(d, item, &(*v)[i])
			}
		},
	}
}

// wants tells whether n has the form, and reports it where it has not.
func (d *decoder) wants(n *node, f form, why string) bool {
	if n.bad { // is reported already
		return false
	}
	if n.form != f {
		mend := ""
		if n.isNull() {
			mend = "is the indentation right?"
		}
		d.add(n, n.describe(), why, mend)
	}
	return n.form == f
}

// isNull tells whether n is a scalar without a value.
func (n *node) isNull() bool {
	return n.form == scalar && n.plain && slices.Contains([]string{"", "~", "null", "Null", "NULL"}, n.text)
}

// describe says what n is.
func (n *node) describe() string {
	switch {
	case n.form == mapping:
		return "a mapping"
	case n.form == sequence:
		return "a list"
	case n.isNull():
		return "nothing"
	default:
		return quote(n.text)
	}
}

// textKind is the kind of a text that check accepts; it returns the rule that s breaks and a mend.
func textKind[V any](rule string, schema *jsonschema.Schema,
	parse func(s string) (v V, why, mend string)) kind[V] {
	return kind[V]{schema: orVariable(schema), read: func(d *decoder, n *node, v *V) {
		if !d.wants(n, scalar, rule) {
			return
		}
		if n.isNull() {
			d.add(n, "nothing", rule, "")
			return
		}
		got, why, mend := parse(n.text)
		if why != "" {
			d.add(n, quote(n.text), why, mend)
			return
		}
		*v = got
	}}
}

// otherScalar is what YAML 1.2 takes for a number or a boolean where it has no quotes. "null" and "~" are
// isNull.
var otherScalar = regexp.MustCompile(`^([-+]?(0|[0-9]+)|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)|true|True|TRUE|false|False|FALSE)$`)

// isText tells whether YAML takes n for text.
func (n *node) isText() bool {
	return n.form == scalar && !n.isNull() && (!n.plain || n.varied() || !otherScalar.MatchString(n.text))
}

// word is the kind of a free text with a rule: pattern is what must match, empty for any text that is not
// empty.
func word(rule, pattern string) kind[string] {
	re := regexp.MustCompile(pattern)
	s := &jsonschema.Schema{Type: "string", Pattern: pattern}
	if pattern == "" {
		s.MinLength = new(int)
		*s.MinLength = 1
	}
	return kind[string]{schema: orVariable(s), read: func(d *decoder, n *node, v *string) {
		switch {
		case !d.wants(n, scalar, rule):
		case n.isNull():
			d.add(n, "nothing", rule, "")
		case n.text == "" || !re.MatchString(n.text):
			d.add(n, quote(n.text), rule, "")
		case !n.isText():
			d.add(n, quote(n.text), rule+", and YAML reads this as something else", "put it in quotes")
		default:
			*v = n.text
		}
	}}
}

// choice is the kind of a word out of a list.
func choice[V ~string](what string, values ...V) kind[V] {
	words := make([]string, len(values))
	enum := make([]any, len(values))
	for i, v := range values {
		words[i], enum[i] = string(v), string(v)
	}
	rule := what + " is " + oneOf(words)
	return kind[V]{schema: orVariable(&jsonschema.Schema{Type: "string", Enum: enum}),
		read: func(d *decoder, n *node, v *V) {
			if !d.wants(n, scalar, rule) {
				return
			}
			switch {
			case n.isNull():
				d.add(n, "nothing", rule, "")
			case !slices.Contains(words, n.text):
				d.unknown(n.at, n.path, "", n.text, rule, words)
			default:
				*v = V(n.text)
			}
		}}
}

// whole is the kind of a whole number between two bounds, with or without underscores between its digits.
func whole(what string, least, most int64) kind[int] {
	rule := fmt.Sprintf("%s is a whole number from %d to %d", what, least, most)
	lo, hi := float64(least), float64(most)
	return kind[int]{
		schema: orVariable(&jsonschema.Schema{Type: "integer", Minimum: &lo, Maximum: &hi}, grouped()),
		read: func(d *decoder, n *node, v *int) {
			if !d.wants(n, scalar, rule) {
				return
			}
			i, ok := wholeNumber(n.text)
			if !ok || !n.plain && !n.varied() || i < least || i > most {
				mend := ""
				if ok && i >= least && i <= most {
					mend = "leave out the quotes"
				}
				d.add(n, n.describe(), rule, mend)
				return
			}
			*v = int(i)
		},
	}
}

// wholeNumber reads digits, with single underscores between them.
func wholeNumber(s string) (int64, bool) {
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") ||
		strings.HasPrefix(s, "+") {
		return 0, false
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	return i, err == nil
}

// boolean is the kind of true and false.
func boolean(what string) kind[bool] {
	rule := what + " is true or false"
	return kind[bool]{schema: orVariable(&jsonschema.Schema{Type: "boolean"}),
		read: func(d *decoder, n *node, v *bool) {
			switch {
			case !d.wants(n, scalar, rule):
			case n.text != "true" && n.text != "false":
				d.add(n, n.describe(), rule, "")
			case !n.plain && !n.varied():
				d.add(n, quote(n.text), rule, "leave out the quotes")
			default:
				*v = n.text == "true"
			}
		}}
}

// never is the schema that nothing fits.
func never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// grouped is the schema of a whole number with underscores, which editors take for text.
func grouped() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(_[0-9]+)+$`}
}

// orVariable is the schema of a scalar that may be written with variables instead: what they hold is not
// known to editors.
func orVariable(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return anyOf(append(forms, &jsonschema.Schema{Type: "string", Pattern: `\$\{`})...)
}

// anyOf is the schema of several forms.
func anyOf(forms ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: forms} }
