package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// PresetWords are the words of one configuration, with their values.
type PresetWords struct {
	product Product
	values  map[string]PresetValue
	// at is where each given word stands, in bytes from 0.
	at       map[string]int
	problems []SpecError
	// end is where the configuration ends, in bytes from 0.
	end int
}

// Has tells whether a word is given, or has a default.
func (w *PresetWords) Has(key string) bool {
	_, given := w.values[key]
	return given
}

// Get returns the value of a word; the zero value if it is not there.
func (w *PresetWords) Get(key string) PresetValue { return w.values[key] }

// N returns the number of a word.
func (w *PresetWords) N(key string) int64 { return w.values[key].N }

// Refuse records that a word cannot be written as a SPEC, alone or together with the others.
func (w *PresetWords) Refuse(key, why, mend string) {
	w.fail(fmt.Sprintf("%q", key), why, mend, w.at[key])
}

// read reads the words of a configuration that begins at byte `at` of a text. Words from JSON or YAML may
// stand as they are: in braces, with quotes, and with colons. As in nginx, spaces may replace commas, and a
// semicolon may stand at the end.
func read(p Product, text string, at int) *PresetWords {
	w := &PresetWords{product: p, values: map[string]PresetValue{}, at: map[string]int{}, end: at + len(text)}
	if strings.Trim(text, " {}") == "" { // every word has its default, or is missing
		return w
	}
	for part := range strings.SplitSeq(text, ",") {
		for next := 0; next >= 0; {
			one := part
			if next = w.nextWord(part); next >= 0 {
				one = part[:next]
			}
			left := strings.TrimLeft(one, " \t{\"'")
			w.word(strings.TrimRight(left, " \t}\"';"), at+len(one)-len(left))
			part, at = part[len(one):], at+len(one)
		}
		at++
	}
	return w
}

// nextWord returns where the second word of a text begins; -1 if there is none. It must be one of the
// product's words after a space. Values have spaces too: 10 per 1 second.
func (w *PresetWords) nextWord(text string) int {
	first := len(text) - len(strings.TrimLeft(text, " \t"))
	for i := first + 1; i < len(text); i++ {
		before, word := text[i-1], text[i:]
		if end := strings.IndexAny(word, " \t=:(};"); end >= 0 {
			word = word[:end]
		}
		if (before == ' ' || before == '\t') && w.find(word) >= 0 {
			return i
		}
	}
	return -1
}

// word reads one word, or a word with its value.
func (w *PresetWords) word(text string, at int) {
	cut := strings.IndexAny(text, "=:")
	if cut < 0 {
		w.bare(text, at)
		return
	}
	name, of, parenthesis := strings.Cut(strings.TrimRight(text[:cut], " \t\"'"), "(")
	i := w.find(name)
	if i < 0 {
		w.unknown(name, at)
		return
	}
	k := w.product.Keys[i]
	if k.Of != parenthesis || k.Read == nil {
		w.add(text, "it is written "+k.Form, "", at)
		return
	}
	value := strings.TrimLeft(text[cut+1:], " \t\"'")
	if parenthesis {
		w.value(k, k.Name+"()", span, strings.TrimSuffix(of, ")"), at)
	}
	w.value(k, k.Name, k.Read, value, at)
}

// bare reads a word without a value, or a value without its word.
func (w *PresetWords) bare(text string, at int) {
	if text == "" {
		w.add(text, "a word must stand between two commas", "remove the comma", at)
		return
	}
	if i := w.find(text); i >= 0 && w.product.Keys[i].Read == nil {
		w.set(w.product.Keys[i].Name, PresetValue{Text: text}, at)
		return
	}
	for _, k := range w.product.Keys {
		if k.Bare && !w.Has(k.Name) {
			w.value(k, k.Name, k.Read, text, at)
			return
		}
	}
	if i := w.find(text); i >= 0 {
		w.add(text, "it is written "+w.product.Keys[i].Form, "", at)
		return
	}
	w.unknown(text, at)
}

// value reads the value of a key, and keeps it under name.
func (w *PresetWords) value(k PresetKey, name string, read PresetReader, text string, at int) {
	v, why, mend := read(text)
	if why != "" {
		w.at[name] = at
		w.fail(fmt.Sprintf("%s %q", k.Name, text), why, mend, at)
		return
	}
	w.set(name, v, at)
}

func (w *PresetWords) set(name string, v PresetValue, at int) {
	if w.Has(name) {
		w.add(name, "it is given twice", "remove one", at)
		return
	}
	w.values[name], w.at[name] = v, at
}

// find returns the index of the key with a name; -1 if there is none.
func (w *PresetWords) find(name string) int {
	return slices.IndexFunc(w.product.Keys, func(k PresetKey) bool {
		return k.Name == name || slices.Contains(k.Also, name)
	})
}

// unknown records a word that the product does not have.
func (w *PresetWords) unknown(name string, at int) {
	var names, forms []string
	for _, k := range w.product.Keys {
		names, forms = append(append(names, k.Name), k.Also...), append(forms, k.Form)
	}
	w.add(name, w.product.Name+" takes "+strings.Join(forms, ", "), text.Suggest(name, names), at)
}

func (w *PresetWords) add(what, why, mend string, at int) { w.fail(strconv.Quote(what), why, mend, at) }

// fail records a problem at a place, in bytes from 0.
func (w *PresetWords) fail(what, why, mend string, at int) {
	w.problems = append(w.problems, SpecError{Problem{what, why, mend}, at + 1})
}

// missing records the needed words that are not there, and sets the defaults of the others.
func (w *PresetWords) missing() {
	for _, k := range w.product.Keys {
		switch {
		case w.Has(k.Name):
		case k.Needed:
			w.fail(w.product.Name+" has no "+k.Name, "it is "+k.Form, "write "+w.product.Written(), w.end)
		case w.Has(k.Default):
			w.values[k.Name] = w.Get(k.Default)
		case k.Default != "":
			w.values[k.Name], _, _ = k.Read(k.Default)
		}
	}
}
