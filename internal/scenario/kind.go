package scenario

import (
	"cmp"
	_ "embed" // the explanations of keys
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/text"
)

// decoder collects the problems of one file while it is read.
type decoder struct {
	file     string
	problems Errors
	// lenient: the limit was given from outside. A scenario that does not suit it is then no mistake.
	lenient bool
	// issued: clients have issued keys, which are not new.
	issued bool
}

// add reports a problem at n.
func (d *decoder) add(n *Node, what, why, mend string) { d.addAt(n.At, n.Path, what, why, mend) }

func (d *decoder) addAt(at Position, path, what, why, mend string) {
	p := Problem{File: d.file, Line: at.Line, Col: at.Col, Path: path, What: what, Why: why, Mend: mend}
	if at.Setting != "" {
		p.File, p.Line, p.Col = at.Setting, 0, 0
	}
	d.problems = append(d.problems, p)
}

// mostGuesses is the number of problems after which no guess is made what a word was meant to be.
const mostGuesses = 100

// unknown reports a word that is not among words.
func (d *decoder) unknown(at Position, path, what, word, why string, words []string) {
	mend := ""
	if len(d.problems) < mostGuesses { // a file full of nonsense is not worth the time
		mend = text.Suggest(word, words)
	}
	d.addAt(at, path, what+Quote(word), why, mend)
}

// kind is one form of value. read reads it from a node to where V points, or reports why it does not fit.
// schema tells an editor the same. V is a pointer, so that generic code is compiled once for all of them.
// That spares a release 350 kB.
type kind[V any] struct {
	read   func(d *decoder, n *Node, v V)
	schema *jsonschema.Schema
}

// field is one key of a mapping. read reads it to where T points.
type field[T any] struct {
	name     string
	required bool
	read     func(d *decoder, n *Node, t T)
	schema   *jsonschema.Schema
}

// keysText explains the keys of each mapping, for editors. * stands for all keys that have no line.
//
//go:embed keys.txt
var keysText string

// keyDocs are the explanations of keysText, by mapping and key.
var keyDocs = sync.OnceValue(func() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, e := range text.Entries(keysText) {
		out[e.Name] = map[string]string{}
		for _, l := range e.Lines {
			out[e.Name][l.Word] = l.Rest
		}
	}
	return out
})

// key returns the field with a name and a kind. at returns the member of T that keeps the value.
func key[T, V any](name string, k kind[V], at func(T) V) field[T] {
	return field[T]{name: name, schema: k.schema,
		read: func(d *decoder, n *Node, t T) { k.read(d, n, at(t)) }}
}

// must makes the key required.
func (f field[T]) must() field[T] { f.required = true; return f }

// object returns the kind of a mapping with known keys. check, which may be nil, checks the whole when all
// keys are read.
func object[T any](what string, fields []field[T], check func(d *decoder, n *Node, t T)) kind[T] {
	names := make([]string, len(fields))
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: never()}
	for i, f := range fields {
		names[i] = f.name
		explained := *f.schema
		explained.Description = cmp.Or(keyDocs()[what][f.name], keyDocs()[what]["*"])
		s.Properties[f.name] = &explained
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	s.PropertyOrder = names
	return kind[T]{schema: s, read: func(d *decoder, n *Node, t T) {
		if !d.wants(n, Mapping, what+" is a mapping") {
			return
		}
		for i, k := range n.Keys {
			at := slices.Index(names, k.Text)
			if at < 0 {
				n.Odd = true
				d.unknown(k.At, n.Path, "unknown key ", k.Text, what+" has "+strings.Join(names, ", "), names)
				continue
			}
			fields[at].read(d, n.Items[i], t)
		}
		d.missing(n, what, s.Required)
		if check != nil {
			check(d, n, t)
		}
	}}
}

// missing reports the keys of names that a mapping lacks. A key that stands there under a similar name is not
// reported.
func (d *decoder) missing(n *Node, what string, names []string) {
	var lacks []string
	for _, name := range names {
		near := func(k *Node) bool { return n.Odd && text.Suggest(k.Text, []string{name}) != "" }
		if n.Get(name) == nil && !slices.ContainsFunc(n.Keys, near) {
			lacks = append(lacks, name)
		}
	}
	switch len(lacks) {
	case 0:
	case 1:
		d.add(n, "no "+Quote(lacks[0]), what+" has one", "")
	default:
		d.add(n, "no "+strings.Join(lacks, ", no "), what+" has them", "")
	}
}

// list returns the kind of a list of at least one element. what names an element.
func list[V any](what string, k kind[*V]) kind[*[]V] {
	one := 1
	return kind[*[]V]{
		schema: &jsonschema.Schema{Type: "array", Items: k.schema, MinItems: &one},
		read: func(d *decoder, n *Node, v *[]V) {
			if !d.wants(n, Sequence, "a list of "+what+" stands in brackets or has a dash before each") {
				return
			}
			if len(n.Items) == 0 {
				d.add(n, "an empty list", "it names at least one of "+what, "leave the key out")
			}
			*v = make([]V, len(n.Items))
			for i, item := range n.Items {
				k.read(d, item, &(*v)[i])
			}
		},
	}
}

// wants tells whether n has the form, and reports it otherwise.
func (d *decoder) wants(n *Node, f Form, why string) bool {
	if n.Bad { // it is reported already
		return false
	}
	if n.Form != f {
		mend := ""
		if n.IsNull() {
			mend = "is the indentation right?"
		}
		d.add(n, n.Describe(), why, mend)
	}
	return n.Form == f
}

// textKind returns the kind of a text that parse accepts. parse returns the rule that s breaks, and a mend.
func textKind[V any](rule string, schema *jsonschema.Schema,
	parse func(s string) (v V, why, mend string)) kind[*V] {
	return kind[*V]{schema: orVariable(schema), read: func(d *decoder, n *Node, v *V) {
		if !d.wants(n, Scalar, rule) {
			return
		}
		if n.IsNull() {
			d.add(n, "nothing", rule, "")
			return
		}
		got, why, mend := parse(n.Text)
		if why != "" {
			d.add(n, Quote(n.Text), why, mend)
			return
		}
		*v = got
	}}
}

// word returns the kind of a free text with a rule. It must match pattern. An empty pattern allows any text
// that is not empty.
func word(rule, pattern string) kind[*string] {
	re := regexp.MustCompile(pattern)
	s := &jsonschema.Schema{Type: "string", Pattern: pattern}
	if pattern == "" {
		s.MinLength = new(int)
		*s.MinLength = 1
	}
	return kind[*string]{schema: orVariable(s), read: func(d *decoder, n *Node, v *string) {
		switch {
		case !d.wants(n, Scalar, rule):
		case n.IsNull():
			d.add(n, "nothing", rule, "")
		case n.Text == "" || !re.MatchString(n.Text):
			d.add(n, Quote(n.Text), rule, "")
		case !n.IsText():
			d.add(n, Quote(n.Text), rule+", and YAML reads this as something else", "put it in quotes")
		default:
			*v = n.Text
		}
	}}
}

// choice returns the kind of a word out of a list.
func choice[V ~string](what string, values ...V) kind[*V] {
	words := text.Words(values)
	enum := make([]any, len(words))
	for i, w := range words {
		enum[i] = w
	}
	rule := what + " is " + text.OneOf(words)
	return kind[*V]{schema: orVariable(&jsonschema.Schema{Type: "string", Enum: enum}),
		read: func(d *decoder, n *Node, v *V) {
			if !d.wants(n, Scalar, rule) {
				return
			}
			switch {
			case n.IsNull():
				d.add(n, "nothing", rule, "")
			case !slices.Contains(words, n.Text):
				d.unknown(n.At, n.Path, "", n.Text, rule, words)
			default:
				*v = V(n.Text)
			}
		}}
}

// whole returns the kind of a whole number between two bounds, with or without underscores between its
// digits.
func whole(what string, least, most int64) kind[*int] {
	rule := fmt.Sprintf("%s is a whole number from %d to %d", what, least, most)
	lo, hi := float64(least), float64(most)
	return kind[*int]{
		schema: orVariable(&jsonschema.Schema{Type: "integer", Minimum: &lo, Maximum: &hi}, grouped()),
		read: func(d *decoder, n *Node, v *int) {
			if !d.wants(n, Scalar, rule) {
				return
			}
			i, ok := wholeNumber(n.Text)
			if !ok || !n.Plain && !n.Varied() || i < least || i > most {
				mend := ""
				if ok && i >= least && i <= most {
					mend = "leave out the quotes"
				}
				d.add(n, n.Describe(), rule, mend)
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
func boolean(what string) kind[*bool] {
	rule := what + " is true or false"
	return kind[*bool]{schema: orVariable(&jsonschema.Schema{Type: "boolean"}),
		read: func(d *decoder, n *Node, v *bool) {
			switch {
			case !d.wants(n, Scalar, rule):
			case n.Text != "true" && n.Text != "false":
				d.add(n, n.Describe(), rule, "")
			case !n.Plain && !n.Varied():
				d.add(n, Quote(n.Text), rule, "leave out the quotes")
			default:
				*v = n.Text == "true"
			}
		}}
}

// never returns the schema that nothing fits.
func never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// grouped returns the schema of a whole number with underscores, which editors take for text.
func grouped() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(_[0-9]+)+$`}
}

// orVariable returns the schema of a scalar that may be written with variables instead. Editors do not know
// their values.
func orVariable(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return anyOf(append(forms, &jsonschema.Schema{Type: "string", Pattern: `\$\{`})...)
}

func anyOf(forms ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: forms} }
