package main

import (
	"cmp"
	"embed"
	_ "embed" // the words
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

func newExplainCmd(e *cli.Env) *cobra.Command {
	client, manual := "", ""
	cmd := &cobra.Command{
		Use: "explain [WORD]",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case manual != "":
				return writeManuals(cmd.Root(), manual)
			case len(args) > 1 && strings.TrimSuffix(plain(args[0]), ":") == "retry-after":
				return explainRetryAfter(e, strings.Join(args[1:], " "), client)
			}
			all, err := glossary(e)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				all.list(e)
				return nil
			}
			return all.explain(e, strings.Join(args, " "))
		},
	}
	addClient(cmd, &client)
	cmd.Flags().StringVar(&manual, "man", "", "")
	return cmd
}

// words is a group of words. Each kind of word has one, such as reason and its plural, reasons.
type words struct {
	kind, plural, about string
	all                 []word
}

type word struct{ id, text string }

// vocabulary are the groups in the order in which explain lists them.
type vocabulary []words

// wordsText has the groups: "KIND PLURAL WHAT THEY ARE ABOUT", and then "WORD TEXT" for each word that
// nothing else defines.
//
//go:embed words.txt
var wordsText string

// glossary returns all words. Those of the program itself come from what it is made of.
func glossary(e *cli.Env) (vocabulary, error) {
	var out vocabulary
	for _, w := range text.Entries(wordsText) {
		plural, about, _ := strings.Cut(w.Name, " ")
		out = append(out, words{kind: w.Kind, plural: plural, about: about})
		for _, l := range w.Lines {
			out.add(w.Kind, l.Word, l.Rest)
		}
	}
	out.spec()
	out.verdicts()
	for _, of := range report.Described() {
		for _, m := range of.Lines {
			out.add("member", m.Word, "of "+of.Kind+": "+m.Rest)
		}
	}
	out.commands(e)
	return out, out.scenarios(e)
}

// add adds a word to the group of a kind. A word that is there already gets one more line.
func (v vocabulary) add(kind, id, text string) {
	g := &v[slices.IndexFunc(v, func(g words) bool { return g.kind == kind })]
	if i := slices.IndexFunc(g.all, func(w word) bool { return w.id == id }); i >= 0 {
		g.all[i].text += "\n" + text
	} else {
		g.all = append(g.all, word{id, text})
	}
}

// verdicts adds the words of verdicts, the rules and the formats.
func (v vocabulary) verdicts() {
	for _, k := range result.FindingKinds() {
		v.add("finding", string(k), k.About())
	}
	for _, k := range result.ClaimKinds() {
		v.add("claim", string(k), k.About())
	}
	for _, name := range report.Formats() {
		v.add("format", name, report.About(name))
	}
	for _, r := range headers.Rules() {
		about, _ := r.About()
		v.add("rule", string(r), about.Text+"\nlevel: "+string(about.Level)+"\nsource: "+about.Source+
			some("\nobserved: ", r.Seen())+some("\nnot judged: ", r.Unseen()))
	}
}

// some returns a text behind its label, or nothing for an empty one.
func some(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// spec adds the algorithms and the keys of a SPEC, and the products.
func (v vocabulary) spec() {
	for _, a := range spec.Algorithms() {
		v.add("algorithm", string(a), a.Doc()+"\nkeys: "+strings.Join(spec.Keys(a), ", "))
	}
	for _, d := range spec.KeyDocs() {
		text := d.Text
		if d.Values != "" {
			text += "\n" + d.Key + "=" + strings.ReplaceAll(d.Values, " or ", " or "+d.Key+"=")
		}
		for _, w := range d.Words {
			text += "\n" + d.Key + "=" + w.Word + ": " + w.Text
		}
		of := strings.Trim(fmt.Sprint(d.Algorithms), "[]")
		v.add("key", d.Key, text+some("\nwithout it: ", d.Default)+"\nof: "+strings.ReplaceAll(of, " ", ", "))
	}
	for _, p := range spec.Products() {
		text := fmt.Sprintf("%s: %s\n%s is %s", p.Title, p.Proof(), p.Written(), becomes(p.Written()))
		for _, k := range p.Keys {
			text += "\n" + k.Form
			switch {
			case k.Needed:
				text += " (needed)"
			case k.Default != "":
				text += " (default " + k.Default + ")"
			}
		}
		v.add("preset", p.Name, text+some("\nalso: ", strings.Join(p.Also, ", "))+some("\nknow: ", p.Differs)+
			"\nsource: "+p.Source)
	}
}

// becomes returns the SPEC of a preset. The examples of all products have one, which a test ensures.
func becomes(written string) string {
	limit, err := spec.Parse(written)
	if err != nil {
		return err.Error()
	}
	return limit.String()
}

// scenarios adds the faults and the bundled scenarios.
func (v vocabulary) scenarios(e *cli.Env) error {
	all, err := lab.AllScenarios(e.Getenv)
	catches := lab.CaughtBy(all)
	for _, f := range lab.Faults() {
		text := f.Sentence + "\nseen: " + f.Citation
		if by := catches[f.Name]; len(by) > 0 {
			text += "\ncaught by: " + strings.Join(by, ", ") + promisedOnly(f)
		}
		v.add("fault", f.Name, text)
	}
	for _, s := range all {
		v.add("scenario", s.ID, fmt.Sprintf("%s\nkind: %s\nsource: %s\ncatches: %s\nlimit: %s",
			s.Title, s.Kind, s.Source, strings.Join(s.Catches, ", "), s.Limit))
	}
	return err
}

// commands adds the commands and their flags. A flag that several commands share is explained once.
func (v vocabulary) commands(e *cli.Env) {
	root := newRootCmd(&cli.Env{Say: &cli.Speaker{}, Getenv: e.Getenv}) // its flags are set nowhere else
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		v.add("flag", "--"+f.Name, "of every command: "+f.Usage)
	})
	flags := &v[slices.IndexFunc(v, func(g words) bool { return g.kind == "flag" })]
	for _, c := range root.Commands() {
		v.add("command", c.Name(), cmp.Or(c.Long, c.Short))
		names := renamed(c.Name())
		for _, old := range slices.Sorted(maps.Keys(names)) {
			if now := names[old]; c.Flags().Lookup(now) != nil {
				v.add("flag", "--"+old, "of "+c.Name()+": the old name of --"+now)
			}
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			i := slices.IndexFunc(flags.all, func(w word) bool { return w.id == "--"+f.Name })
			if i >= 0 && strings.HasSuffix(flags.all[i].text, ": "+f.Usage) {
				before := strings.TrimSuffix(flags.all[i].text, f.Usage)
				flags.all[i].text = strings.TrimSuffix(before, ": ") + ", " + c.Name() + ": " + f.Usage
				return
			}
			v.add("flag", "--"+f.Name, "of "+c.Name()+": "+f.Usage)
		})
	}
}

// plain returns a word as it is compared: lower case, with dashes for spaces and underscores. FAIL is fail,
// and NOT JUDGED is not-judged.
func plain(word string) string {
	return strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(word)))
}

// find returns the id of a word; "" if there is none. A flag needs no dashes. A claim with a name in it
// (denials-below, latency-denied-p99) is a word of its kind. A pair of a SPEC (align=first) is its key. A
// product may have other names.
func (v vocabulary) find(text string) (id string) {
	key, _, _ := strings.Cut(plain(text), "=")
	product, _ := spec.FindProduct(plain(text))
	for _, try := range []struct{ kind, id string }{{"", plain(text)}, {"flag", "--" + plain(text)},
		{"key", key}, {"preset", product.Name}, {"claim", string(result.KindOf(plain(text)))}} {
		for _, g := range v {
			for _, w := range g.all {
				if (try.kind == "" || try.kind == g.kind) && plain(w.id) == plain(try.id) && w.id != "" {
					return w.id
				}
			}
		}
	}
	return ""
}

// explain prints the words of a group, or every word of a name. A fault and its scenario may have the same
// name.
func (v vocabulary) explain(e *cli.Env, s string) error {
	var ids []string
	for _, g := range v {
		if plain(s) == g.plural || plain(s) == g.kind {
			e.Say.Resultf("%s: %s\n", g.plural, g.about)
			for _, w := range g.all {
				first, _, _ := strings.Cut(w.text, "\n")
				e.Say.Resultf("  %-22s %s\n", w.id, first)
			}
			return nil
		}
		for _, w := range g.all {
			ids = append(ids, plain(w.id))
		}
	}
	id := v.find(s)
	if name, _, configured := spec.CutPreset(s); id == "" && configured {
		limit, err := spec.Parse(s)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		e.Say.Resultf("%s is %s\n", s, limit)
		return v.explain(e, name)
	}
	if id == "" {
		near := cmp.Or(text.Suggest(plain(s), ids), "rlcheck explain lists all words")
		return cli.Usagef("%q: there is no such word%s", s, cli.Mend(near))
	}
	for _, g := range v {
		for _, w := range g.all {
			if w.id == id || plain(w.id) == plain(s) || w.id == "--"+s {
				e.Say.Resultf("%s (%s)\n%s\n", w.id, g.kind, w.text)
			}
		}
	}
	return nil
}

// list prints every word, by group.
func (v vocabulary) list(e *cli.Env) {
	const columns = 100
	for _, g := range v {
		e.Say.Resultf("%s: %s\n", g.plural, g.about)
		line := " "
		for _, w := range g.all {
			if len(line)+1+len(w.id) > columns {
				e.Say.Resultf("%s\n", line)
				line = " "
			}
			line += " " + w.id
		}
		e.Say.Resultf("%s\n", line)
	}
}

// snippets are clients that honor Retry-After, one file for each language.
//
//go:embed snippet
var snippets embed.FS

var languages = []string{"curl", "go", "python", "javascript"}

// newRetryAfterCmd is the old form of `rlcheck explain retry-after VALUE`.
func newRetryAfterCmd(e *cli.Env) *cobra.Command {
	client := ""
	cmd := &cobra.Command{
		Use:    "retry-after VALUE",
		Hidden: true,
		Args:   cli.Needs(1, 1, "one value, such as 120 or 'Fri, 20 Nov 2026 10:00:00 GMT'"),
		RunE:   func(_ *cobra.Command, args []string) error { return explainRetryAfter(e, args[0], client) },
	}
	addClient(cmd, &client)
	return cmd
}

func addClient(cmd *cobra.Command, client *string) {
	cmd.Flags().StringVar(client, "client", "", "")
	_ = cmd.RegisterFlagCompletionFunc("client",
		cobra.FixedCompletions(languages, cobra.ShellCompDirectiveNoFileComp))
}

// explainRetryAfter says what a value of Retry-After means, and how a client in some language honours it.
func explainRetryAfter(e *cli.Env, value, client string) error {
	m, err := headers.Explain(value, time.Now())
	if err != nil {
		return err
	}
	e.Say.Resultf("%s\n", m.String())
	if _, offset := m.At.Local().Zone(); offset != 0 && m.Wait < math.MaxInt64 {
		e.Say.Resultf("here: %s\n", m.At.Local().Format("Mon, 02 Jan 2006 15:04:05 MST (-0700)"))
	}
	if client == "" {
		return nil
	}
	text, err := snippets.ReadFile("snippet/" + client + ".txt")
	if err != nil {
		return cli.Usagef("--client %q: the clients are %s", client, strings.Join(languages, ", "))
	}
	e.Say.Resultf("\n%s", text)
	return nil
}
