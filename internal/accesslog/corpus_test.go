package accesslog

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// corpus returns some hundred logs of all servers, by name, with the options to read each: the samples, the
// single lines of the edge cases that can be read, and traffic as each server writes it.
func corpus(t *testing.T) (names []string, texts map[string]string, options map[string]Options) {
	t.Helper()
	texts, options = map[string]string{}, map[string]Options{}
	add := func(name, text string, o Options) {
		names = append(names, name)
		texts[name], options[name] = text, o
	}
	for _, s := range samples {
		text, err := os.ReadFile(filepath.Join("testdata", s.file+".log"))
		if err != nil {
			t.Fatal(err)
		}
		add("sample "+s.file, string(text), s.o)
	}
	for _, c := range edgeCases {
		if c.wrong == "" {
			add("edge "+c.name, c.line+"\n", c.o)
		}
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range writers {
			if !yield(name) {
				return
			}
		}
	}) {
		w := writers[name]
		for seed := range 6 {
			rng := rand.New(rand.NewPCG(uint64(seed), 5))
			var text strings.Builder
			limit := mustParse(t, "token-bucket,rate=10/s,burst=20")
			for _, r := range traffic(t, rng, limit, 60, []time.Duration{2 * time.Millisecond,
				90 * time.Millisecond, 2900 * time.Millisecond}[seed%3]) {
				if line := w.write(r, rng) + "\n"; !strings.HasSuffix(text.String(), line) {
					text.WriteString(line) // equal lines would be taken for copies
				}
			}
			add(fmt.Sprintf("traffic %s %d", name, seed), text.String(), w.o)
		}
	}
	return names, texts, options
}

// TestWhatWasReadIsReadAlike: every log of the corpus is read as it was when its line in corpus.golden was
// written: the same intervals, partitions, statuses, outcomes and bounds.
func TestWhatWasReadIsReadAlike(t *testing.T) {
	golden := filepath.Join("testdata", "corpus.golden")
	names, texts, options := corpus(t)
	if len(names) < 100 {
		t.Errorf("got %d logs", len(names))
	}
	var got strings.Builder
	for _, name := range names {
		l, err := Read(strings.NewReader(texts[name]), "x", options[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fmt.Fprintf(&got, "%s: %d requests, %x\n", name, l.Len(), sha256.Sum256([]byte(dump(l))))
		if dir := os.Getenv("CORPUS_DUMP"); dir != "" { // to see what differs
			file := strings.NewReplacer(" ", "_", ",", "", "/", "_").Replace(name)
			if err := os.WriteFile(filepath.Join(dir, file), []byte(dump(l)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(string(want), "\n")
	for line := range strings.Lines(got.String()) {
		if !slices.Contains(wanted, strings.TrimSpace(line)) {
			t.Errorf("got %s", line)
		}
	}
}
