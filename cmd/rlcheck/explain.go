package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/request"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/sources"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/preset"
	"github.com/rlcheck/rlcheck/internal/report/document"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/spell"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

func newExplainCmd(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "explain [WORD]",
		Short:   "Explain a word of a report, of a SPEC or of a scenario",
		Long:    explainLong,
		Example: "  rlcheck explain too-few\n  rlcheck explain align\n  rlcheck explain reasons",
		RunE: func(_ *cobra.Command, args []string) error {
			entries, err := glossary(e)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				listWords(e, entries)
				return nil
			}
			return explainWord(e, strings.Join(args, " "), entries)
		},
	}
}

const explainLong = `Explain knows every word of the reports, the algorithms and keys of a SPEC, the products
that a SPEC may name, the rules of header fields, the faults, the bundled scenarios, the commands, their
flags and the members of JSON documents. Without a word it lists all words by group. With the name of a group
(reasons, keys) it explains each word of the group.`

// explainWord prints the words of a group, or every entry of a name. A fault and its scenario may have the
// same name.
func explainWord(e *cli.Env, word string, entries []entry) error {
	for _, g := range wordGroups {
		if plain(word) == g.plural || plain(word) == g.kind {
			listGroup(e, g, entries)
			return nil
		}
	}
	i := find(entries, word)
	if name, _, configured := preset.Cut(word); i < 0 && configured {
		limit, err := spec.Parse(word)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		e.Say.Resultf("%s is %s\n", word, limit)
		return explainWord(e, name, entries)
	}
	if i < 0 {
		return cli.Usagef("%q: there is no such word%s", word, cli.Mend(nearestEntry(plain(word),
			entries)))
	}
	for _, en := range entries {
		if en == entries[i] || plain(en.id) == plain(word) || en.id == "--"+word {
			e.Say.Resultf("%s (%s)\n%s\n", en.id, en.kind, en.text)
		}
	}
	return nil
}

// listGroup prints the words of a group, each with the first line of its explanation.
func listGroup(e *cli.Env, g wordGroup, entries []entry) {
	e.Say.Resultf("%s: %s\n", g.plural, g.about)
	for _, en := range entries {
		if en.kind == g.kind {
			first, _, _ := strings.Cut(en.text, "\n")
			e.Say.Resultf("  %-22s %s\n", en.id, first)
		}
	}
}

// listWords prints every word, by group.
func listWords(e *cli.Env, entries []entry) {
	const columns = 100
	for _, g := range wordGroups {
		e.Say.Resultf("%s: %s\n", g.plural, g.about)
		line := " "
		for _, en := range entries {
			if en.kind != g.kind {
				continue
			}
			if len(line)+1+len(en.id) > columns {
				e.Say.Resultf("%s\n", line)
				line = " "
			}
			line += " " + en.id
		}
		e.Say.Resultf("%s\n", line)
	}
}

// plain returns a word as it is compared: lower case, with dashes for spaces and underscores. FAIL is fail,
// and NOT JUDGED is not-judged.
func plain(word string) string {
	return strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(word)))
}

// find returns the index of the entry for a word, -1 if there is none. A flag needs no dashes. A claim with a
// name in it (denials-below, latency-denied-p99) has the entry of its kind. A pair of a SPEC (align=first)
// has the entry of its key.
func find(entries []entry, word string) int {
	word = plain(word)
	if i := slices.IndexFunc(entries, func(en entry) bool { return plain(en.id) == word }); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(entries, func(en entry) bool { return en.id == "--"+word }); i >= 0 {
		return i
	}
	if key, _, pair := strings.Cut(word, "="); pair {
		return slices.IndexFunc(entries, func(en entry) bool { return en.kind == "key" && en.id == key })
	}
	// It may be another name of the product.
	if p, known := preset.Find(word); known {
		return slices.IndexFunc(entries,
			func(en entry) bool { return en.kind == "preset" && en.id == p.Name })
	}
	kind := string(verdict.KindOf(word))
	return slices.IndexFunc(entries, func(en entry) bool { return en.kind == "claim" && en.id == kind })
}

// nearestEntry suggests the word that the user meant.
func nearestEntry(word string, entries []entry) string {
	ids := make([]string, len(entries))
	for i, en := range entries {
		ids[i] = plain(en.id)
	}
	if near := spell.Suggest(word, ids); near != "" {
		return near
	}
	return "rlcheck explain lists all words"
}

// entry explains one word of rlcheck.
type entry struct{ id, kind, text string }

// glossary returns every word of a report and of a SPEC, and every fault, rule of a field and bundled
// scenario.
func glossary(e *cli.Env) ([]entry, error) {
	out := slices.Concat(words, findingWords(), claimWords(), vocabulary, closedLists, formatWords(),
		specWords(), presetWords())
	catches, err := sources.CaughtBy(e.Getenv)
	if err != nil {
		return nil, err
	}
	for _, f := range target.Faults() {
		text := f.Sentence + "\nseen: " + f.Citation
		if by := catches[f.Name]; len(by) > 0 {
			text += "\ncaught by: " + strings.Join(by, ", ") + request.PromisedOnly(f)
		}
		out = append(out, entry{f.Name, "fault", text})
	}
	for _, r := range headers.Rules() {
		about, _ := r.About()
		text := fmt.Sprintf("%s\nlevel: %s\nsource: %s", about.Text, about.Level, about.Source)
		if seen := r.Seen(); seen != "" {
			text += "\nobserved: " + seen
		}
		if why := r.Unseen(); why != "" {
			text += "\nnot judged: " + why
		}
		out = append(out, entry{string(r), "rule", text})
	}
	given, err := sources.ReadBuiltin("")
	if err != nil {
		return nil, err
	}
	for _, name := range sources.NamedOnly() {
		more, err := sources.ReadBuiltin(name)
		if err != nil {
			return nil, err
		}
		given = append(given, more...)
	}
	for _, src := range given {
		s, err := grammar.Parse(src.Text, src.Name, grammar.Options{Env: e.Getenv})
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%s\nkind: %s\nsource: %s\ncatches: %s\nlimit: %s",
			s.Title, s.Kind, s.Source, strings.Join(s.Catches, ", "), s.Limit)
		out = append(out, entry{s.ID, "scenario", text})
	}
	return slices.Concat(out, memberWords(), commandWords(e)), nil
}

// memberWords returns the members of JSON documents. A name that several objects use is one word.
func memberWords() (out []entry) {
	for _, m := range document.Members() {
		text := "of " + m.Object + ": " + m.About
		if i := slices.IndexFunc(out, func(en entry) bool { return en.id == m.Name }); i >= 0 {
			out[i].text += "\n" + text
		} else {
			out = append(out, entry{m.Name, "member", text})
		}
	}
	return out
}

// commandWords returns the commands and their flags. A flag that several commands share is explained once.
func commandWords(e *cli.Env) (out []entry) {
	root := newRootCmd(&cli.Env{Say: &cli.Speaker{}, Getenv: e.Getenv}) // its flags are set nowhere else
	var flags []entry
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		flags = append(flags, entry{"--" + f.Name, "flag", "of every command: " + f.Usage})
	})
	for _, c := range root.Commands() {
		text := c.Short
		if c.Long != "" {
			text = c.Long
		}
		out = append(out, entry{c.Name(), "command", text})
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			i := slices.IndexFunc(flags, func(en entry) bool { return en.id == "--"+f.Name })
			switch own := "of " + c.Name() + ": " + f.Usage; {
			case i < 0:
				flags = append(flags, entry{"--" + f.Name, "flag", own})
			case strings.HasSuffix(flags[i].text, ": "+f.Usage):
				flags[i].text = strings.TrimSuffix(flags[i].text, ": "+f.Usage) + ", " + c.Name() + ": " +
					f.Usage
			default:
				flags[i].text += "\n" + own
			}
		})
	}
	return append(out, flags...)
}

// claimWords returns the kinds of claims.
func claimWords() (out []entry) {
	for _, k := range verdict.ClaimKinds() {
		out = append(out, entry{string(k), "claim", k.About()})
	}
	return out
}

// specWords returns the algorithms and the keys of a SPEC.
func specWords() (out []entry) {
	for _, a := range spec.Algorithms() {
		text := a.Doc() + "\nkeys: " + strings.Join(spec.Keys(a), ", ")
		out = append(out, entry{string(a), "algorithm", text})
	}
	for _, d := range spec.KeyDocs() {
		text := d.Text + "\n" + d.Key + "=" + strings.ReplaceAll(d.Values, " or ", " or "+d.Key+"=")
		if d.Values == "" {
			text = d.Text
		}
		for _, w := range d.Words {
			text += "\n" + d.Key + "=" + w.Word + ": " + w.Text
		}
		if d.Default != "" {
			text += "\nwithout it: " + d.Default
		}
		var of []string
		for _, a := range d.Algorithms {
			of = append(of, string(a))
		}
		out = append(out, entry{d.Key, "key", text + "\nof: " + strings.Join(of, ", ")})
	}
	return out
}
