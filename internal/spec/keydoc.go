package spec

import (
	_ "embed" // the words of SPECs
	"strconv"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/text"
)

// KeyDoc explains one key of a SPEC, in plain text.
type KeyDoc struct {
	Key string
	// Algorithms are those for which the key has a meaning, in the order of Algorithms.
	Algorithms []Algorithm
	// Values is the form of a value that is no word: N, D (a duration), A..B. It is empty if only words may
	// stand.
	Values string
	// Least is the least number that may stand, if one may.
	Least int
	// Words are the words that may stand, each with its meaning. May be empty.
	Words []WordDoc
	// Text says in whole sentences what the key means. Default is what holds without the key. It is empty for
	// a key that must be given, or that another key may replace.
	Text, Default string
}

// WordDoc explains one word that may stand behind a key; Text is no sentence.
type WordDoc struct{ Word, Text string }

// Sentence returns the text of d and the values that may follow the key, on one line.
func (d KeyDoc) Sentence() string { return d.Text + " Values: " + d.Forms() + "." }

// Forms returns the values that may follow the key, the words with their meanings in parentheses.
func (d KeyDoc) Forms() string {
	var forms []string
	if d.Values != "" {
		forms = append(forms, d.Values)
	}
	for _, w := range d.Words {
		forms = append(forms, w.Word+" ("+w.Text+")")
	}
	return strings.Join(forms, ", ")
}

// wordsText explains every algorithm, and then every key. A key begins with "key NAME FORM", where FORM is
// that of a value which is no word. The lines below it are "text SENTENCES", "default VALUE" and
// "word WORD: MEANING".
//
//go:embed words.txt
var wordsText string

// words are the entries of wordsText.
var words = sync.OnceValue(func() []text.Entry { return text.Entries(wordsText) })

// docOf returns what wordsText says of a key.
func docOf(key string) KeyDoc {
	for _, e := range words() {
		name, form, _ := strings.Cut(e.Name, " ")
		if name != key {
			continue
		}
		d := KeyDoc{Key: name, Values: form, Text: e.Get("text"), Default: e.Get("default")}
		for _, l := range e.Lines {
			if word, meaning, found := strings.Cut(l.Rest, ": "); l.Word == "word" && found {
				d.Words = append(d.Words, WordDoc{word, meaning})
			}
		}
		return d
	}
	return KeyDoc{Key: key}
}

// KeyDocs returns the explanation of every key, in canonical order.
func KeyDocs() []KeyDoc {
	out := make([]KeyDoc, len(keys))
	for i, k := range keys {
		out[i] = docOf(k.name)
		for strings.HasPrefix(out[i].Values, "N") && out[i].Least < 2 &&
			k.read(&Policy{}, strconv.Itoa(out[i].Least)) != nil {
			out[i].Least++
		}
		for _, a := range Algorithms() {
			if familyOf(a)&k.in != 0 {
				out[i].Algorithms = append(out[i].Algorithms, a)
			}
		}
	}
	return out
}

// Doc says in whole sentences how a limits requests. Empty: a is no algorithm.
func (a Algorithm) Doc() string { return words()[0].Get(string(a)) }
