package spec

import (
	"strings"
	"testing"
)

// TestEveryKeyIsExplained: each key has one explanation, with exactly the words that its reader accepts.
func TestEveryKeyIsExplained(t *testing.T) {
	docs := KeyDocs()
	if explained := len(words()) - 1; len(docs) != explained {
		t.Errorf("%d keys are known, %d are explained", len(docs), explained)
	}
	if known, explained := len(Algorithms()), len(words()[0].Lines); known != explained {
		t.Errorf("%d algorithms are known, %d are explained", known, explained)
	}
	for i, d := range docs {
		if !strings.HasSuffix(d.Text, ".") || d.Values == "" && len(d.Words) == 0 || len(d.Algorithms) == 0 {
			t.Errorf("%s: got %+v, want a sentence, values and algorithms", d.Key, d)
		}
		var words []string
		for _, w := range d.Words {
			words = append(words, w.Word)
			if wrong := keys[i].read(&Policy{}, w.Word); wrong != nil {
				t.Errorf("%s=%s: %s", d.Key, w.Word, wrong.Why)
			}
		}
		wrong := keys[i].read(&Policy{}, "no such word")
		if wrong == nil {
			t.Errorf("%s takes every word", d.Key)
			continue
		}
		listed := strings.Fields(strings.ReplaceAll(wrong.Why, " or ", " "))
		for _, w := range words {
			if !strings.Contains(wrong.Why, w) {
				t.Errorf("%s: %q is explained, and not in %q", d.Key, w, wrong.Why)
			}
		}
		if d.Values == "" && len(listed) != len(words)+2 { // KEY is a, b or c
			t.Errorf("%s: %q has other words than %q", d.Key, wrong.Why, words)
		}
	}
	for _, a := range Algorithms() {
		if !strings.HasSuffix(a.Doc(), ".") {
			t.Errorf("%s: got %q, want sentences", a, a.Doc())
		}
	}
}

// TestEveryKeyIsPrinted: the SPEC of a policy has all that was said of a key, since a recording is judged
// again by it.
func TestEveryKeyIsPrinted(t *testing.T) {
	values := map[string]string{"N/PER": "3/7s", "N": "3", "N or A..B": "203..204", "D": "3s",
		"D or A..B": "3s..4s", "A..B or A..": "1s..2s",
		"a name such as Asia/Shanghai": "Asia/Shanghai"}
	for i, d := range KeyDocs() {
		if d.Key == "slots" { // it is printed as the log that it is
			continue
		}
		said := []string{values[d.Values]}
		if d.Values == "" {
			said = nil
		}
		for _, w := range d.Words {
			said = append(said, w.Word)
		}
		for _, value := range said {
			p := blank(d.Algorithms[0])
			if wrong := keys[i].read(&p, value); wrong != nil {
				t.Errorf("%s=%s: %s", d.Key, value, wrong.Why)
			}
			if got := p.String(); !strings.Contains(got, ","+d.Key+"="+value) && value != d.Default {
				t.Errorf("%s=%s: got %s", d.Key, value, got)
			}
		}
	}
}
