package spec

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Product is a limiter of another maker.
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
	// Of reads the text in parentheses after the name: http_req_rate(10s). The value is kept under the name
	// with "()". It is nil for a key without parentheses.
	Of PresetReader
	// Default is the value of a word that is left out. Needed tells that it may not be left out.
	Default string
	Needed  bool
	// Bare tells that the value may be written without its name, in the order of the keys.
	Bare bool
	// Example is a value, for messages.
	Example string
}

// Products returns every product, ascending by name.
func Products() []Product {
	all := slices.Concat(proxies, models, hosted, node, golang, frameworks)
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
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
	mend := text.Suggest(name, names)
	if mend == "" {
		mend = "rlcheck list presets shows all products"
	}
	if name+":" == AnyPrefix {
		return SpecError{Problem{AnyPrefix + "RATE", "what is sent follows from an algorithm",
			"rlcheck identify URL names it; check --limit any:RATE judges a recording"}, at + 1}
	}
	return SpecError{Problem{fmt.Sprintf("preset %q", name), "there is no such product", mend}, at + 1}
}
