package spec

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Product is a limiter of another maker: an entry of products.txt.
type Product struct {
	// Name is written before the colon. Also are other names that are accepted; may be empty.
	Name string
	Also []string
	// Title names the product and the part that limits: nginx, limit_req.
	Title string
	// Example is a configuration as it is written after the colon.
	Example string
	// Keys are the words of the configuration.
	Keys []PresetKey
	// Spec returns the SPEC of a configuration. Its words were read without a mistake, and all needed words
	// are there. It may refuse them.
	Spec func(w *PresetWords) string
	// Differs says how the product differs from its documentation, or what a tester should know; "" if
	// nothing is known.
	Differs string
	// Source says where the formula comes from: an address, and the version.
	Source string
	// Tested is the product and version on which the SPEC was tested; "" if it follows documents alone.
	Tested string
}

// PresetKey is one word of a configuration.
type PresetKey struct {
	// Name is written as the product writes it. Also are other names with the same meaning; may be empty.
	Name string
	Also []string
	// Read reads the value; nil for a word without a value (nodelay).
	Read PresetReader
	// Of tells that a time stands in parentheses after the name: http_req_rate(10s). It is kept under the
	// name with "()".
	Of bool
	// Default is the value of a word that is left out, or the word whose value it then has. Needed tells
	// that it may not be left out.
	Default string
	Needed  bool
	// Bare tells that the value may be written without its name, in the order of the keys.
	Bare bool
	// Form is how the key is written, with an example of its value: burst=20.
	Form string
}

// productText has the products, by kind: servers, gateways of language models, services, and packages of
// Node.js, Go and other languages. An entry begins with the names of one and its title, and has an example of
// a configuration. A line "key FORM: READER" is a word of the configuration, and says whether it is needed,
// may be bare, or has a default or another name. In a line "spec", {a} is the number of a word, and {a per b}
// that number in the time of another. A rate has both. A product without that line has a formula.
//
//go:embed products.txt
var productText string

// Products returns every product, ascending by name.
var Products = sync.OnceValue(func() (all []Product) {
	for _, e := range text.Entries(productText) {
		all = append(all, productOf(e))
	}
	slices.SortFunc(all, func(a, b Product) int { return strings.Compare(a.Name, b.Name) })
	return all
})

func productOf(e text.Entry) Product {
	heading, title, _ := strings.Cut(e.Name, ": ")
	names := strings.Split(heading, ", ")
	p := Product{Name: names[0], Also: names[1:], Title: title, Example: e.Get("example"),
		Spec: formulas[names[0]], Differs: e.Get("differs"), Source: e.Get("source"), Tested: e.Get("tested")}
	if form := e.Get("spec"); form != "" {
		p.Spec = func(w *PresetWords) string { return w.fill(form) }
	}
	for key := range strings.SplitSeq(e.Get("key"), "\n") {
		p.Keys = append(p.Keys, keyOf(key))
	}
	return p
}

func keyOf(line string) (k PresetKey) {
	form, reader, _ := strings.Cut(line, ": ")
	reader, options, _ := strings.Cut(reader, ", ")
	k.Form, k.Read = form, readers[reader]
	if words := strings.Split(reader, "|"); len(words) > 1 {
		k.Read = choice(words...)
	}
	k.Name, _, _ = strings.Cut(form, "=")
	k.Name, _, k.Of = strings.Cut(k.Name, "(")
	for option := range strings.SplitSeq(options, ", ") {
		switch word, value, _ := strings.Cut(option, " "); word {
		case "needed":
			k.Needed = true
		case "bare":
			k.Bare = true
		case "default":
			k.Default = value
		case "also":
			k.Also = append(k.Also, value)
		}
	}
	return k
}

var blanks = regexp.MustCompile(`{.*?}`)

// fill writes a SPEC in whose form the words of the configuration stand in braces.
func (w *PresetWords) fill(form string) string {
	return blanks.ReplaceAllStringFunc(form, func(blank string) string {
		number, time, rate := strings.Cut(strings.Trim(blank, "{}"), " per ")
		if rate {
			return w.per(number, time)
		}
		return fmt.Sprint(w.N(number))
	})
}

// FindProduct returns the product with a name, and whether there is one.
func FindProduct(name string) (Product, bool) {
	for _, p := range Products() {
		if p.Name == name || slices.Contains(p.Also, name) {
			return p, true
		}
	}
	return Product{}, false
}

// Written returns the example as it is written in place of a SPEC: nginx:rate=10r/s,burst=20,nodelay.
func (p Product) Written() string { return p.Name + ":" + p.Example }

// Proof says what the SPEC is based on: the version that was tested, or the documentation.
func (p Product) Proof() string {
	if p.Tested == "" {
		return "from its documentation"
	}
	return "tested on " + p.Tested
}

// CutPreset splits a text of the form NAME:configuration. ok tells whether it has that form. No product need
// have that name.
func CutPreset(text string) (name, words string, ok bool) {
	name, words, ok = strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	return name, words, ok && name != "" && !strings.ContainsAny(name, ",= ")
}

// ExpandPreset returns the SPEC that a text of the form NAME:configuration stands for. Otherwise it returns
// every mistake in the text, in order.
func ExpandPreset(text string) (string, []SpecError) {
	name, words, _ := CutPreset(text)
	p, found := FindProduct(name)
	if !found {
		return "", []SpecError{unknown(name, len(text)-len(strings.TrimLeft(text, " \t")))}
	}
	w := read(p, words, strings.Index(text, ":")+1)
	if w.problems == nil {
		w.missing()
	}
	made := ""
	if w.problems == nil {
		made = p.Spec(w)
	}
	if w.problems != nil {
		slices.SortStableFunc(w.problems, func(a, b SpecError) int { return a.Column - b.Column })
		return "", w.problems
	}
	return made, nil
}

// unknown returns the problem of a name that no product has.
func unknown(name string, at int) SpecError {
	var names []string
	for _, p := range Products() {
		names = append(append(names, p.Name), p.Also...)
	}
	mend := cmp.Or(text.Suggest(name, names), "rlcheck list presets shows all products")
	if name+":" == AnyPrefix {
		return SpecError{Problem{AnyPrefix + "RATE", "what is sent follows from an algorithm",
			"rlcheck identify URL names it; check --limit any:RATE judges a recording"}, at + 1}
	}
	return SpecError{Problem{fmt.Sprintf("preset %q", name), "there is no such product", mend}, at + 1}
}
