package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/field"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/target"
)

func newExplainCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [ID]",
		Short: "What a reason, finding, claim, rule, fault or scenario means, and how it is observed",
		Args:  needs(0, 1, "one word (rlcheck explain lists them all)"),
		RunE: func(_ *cobra.Command, args []string) error {
			entries, err := e.glossary()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				for _, en := range entries {
					e.say.resultf("%-28s %s\n", en.id, en.kind)
				}
				return nil
			}
			i := find(entries, args[0])
			if i < 0 {
				return usagef("%q: there is nothing of that name%s", args[0], mend(nearestEntry(args[0], entries)))
			}
			for _, en := range entries { // a fault and the scenario that is for it may share a name
				if en == entries[i] || en.id == args[0] {
					e.say.resultf("%s (%s)\n%s\n", en.id, en.kind, en.text)
				}
			}
			return nil
		},
	}
}

// find returns the index of the entry for a word, -1 for none. A claim with a name in it (denials-below, latency-denied-p99)
// is explained with its kind.
func find(entries []entry, word string) int {
	if i := slices.IndexFunc(entries, func(en entry) bool { return en.id == word }); i >= 0 {
		return i
	}
	return slices.IndexFunc(entries, func(en entry) bool { return en.kind == "claim" && strings.HasPrefix(word, en.id+"-") })
}

// nearestEntry suggests the word that was meant.
func nearestEntry(word string, entries []entry) string {
	ids := make([]string, len(entries))
	for i, en := range entries {
		ids[i] = en.id
	}
	if near := scenario.Suggest(word, ids); near != "" {
		return near
	}
	return "rlcheck explain lists them all"
}

// entry explains one word of rlcheck.
type entry struct{ id, kind, text string }

// glossary is every word that a verdict uses, and every fault, rule of a field and bundled scenario.
func (e *env) glossary() ([]entry, error) {
	out := slices.Clone(words)
	catches, err := caughtBy(e.getenv)
	if err != nil {
		return nil, err
	}
	for _, f := range target.Faults() {
		text := f.Sentence + "\nseen: " + f.Citation
		if by := catches[f.Name]; len(by) > 0 {
			text += "\ncaught by: " + strings.Join(by, ", ") + promisedOnly(f)
		}
		out = append(out, entry{f.Name, "fault", text})
	}
	for _, r := range field.Rules() {
		about, _ := r.About()
		text := fmt.Sprintf("%s\nlevel: %s\nsource: %s", about.Text, about.Level, about.Source)
		out = append(out, entry{string(r), "rule", text})
	}
	sources, err := readBuiltin("")
	if err != nil {
		return nil, err
	}
	for _, src := range sources {
		s, err := scenario.Parse(src.text, src.name, scenario.ParseOptions{Env: e.getenv})
		if err != nil {
			return nil, err
		}
		out = append(out, entry{s.ID, "scenario", fmt.Sprintf("%s\nkind: %s\nsource: %s\ncatches: %s\nlimit: %s", s.Title, s.Kind, s.Source, strings.Join(s.Catches, ", "), s.Limit)})
	}
	return out, nil
}
