package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/sources"
	"github.com/rlcheck/rlcheck/internal/preset"
	"github.com/rlcheck/rlcheck/internal/scenario/grammar"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// noSpace tells a shell that the word continues, and that it names no file.
const noSpace = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp

// completeSpec offers the algorithms of a SPEC and the products that it may name. After these it offers the
// keys of the algorithm that are not yet given, and then the words for a key. What is typed already stands in
// front of each.
func completeSpec(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	policy := strings.TrimLeft(typed[strings.LastIndex(typed, "+")+1:], " ")
	if _, _, named := preset.Cut(policy); named {
		return completePreset(policy, strings.TrimSuffix(typed, policy)), noSpace
	}
	parts := strings.Split(policy, ",")
	last := parts[len(parts)-1]
	before := strings.TrimSuffix(typed, last)
	var out []string
	if len(parts) == 1 {
		for _, a := range spec.Algorithms() {
			out = append(out, before+string(a)+",\t"+firstSentence(a.Doc()))
		}
		return append(out, completePreset("", before)...), noSpace
	}
	key, _, named := strings.Cut(last, "=")
	for _, d := range spec.KeyDocs() {
		if !slices.Contains(d.Algorithms, spec.Algorithm(parts[0])) {
			continue
		}
		given := func(pair string) bool { return strings.HasPrefix(pair, d.Key+"=") }
		switch {
		case named && d.Key == key:
			for _, w := range d.Words {
				out = append(out, before+d.Key+"="+w.Word+"\t"+w.Text)
			}
		case !named && !slices.ContainsFunc(parts, given):
			out = append(out, before+d.Key+"=\t"+firstSentence(d.Text))
		}
	}
	return out, noSpace
}

// completePreset offers the products, or the words of a product that are not yet given. before stands in
// front of the typed policy.
func completePreset(policy, before string) (out []string) {
	name, words, named := preset.Cut(policy)
	if !named {
		for _, p := range preset.All() {
			out = append(out, before+p.Name+":\t"+p.Title)
		}
		return out
	}
	p, _ := preset.Find(name)
	if words == "" && p.Name != "" {
		out = append(out, before+p.Written()+"\tan example")
	}
	given := words[:strings.LastIndex(words, ",")+1]
	for _, k := range p.Keys {
		if strings.Contains(","+given, ","+k.Name) {
			continue
		}
		word, _, pair := strings.Cut(k.Form(), "=")
		if pair {
			word += "="
		}
		out = append(out, before+name+":"+given+word+"\t"+k.Form()+needed(k))
	}
	return out
}

// firstSentence returns the first sentence of a text, without its full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// completeList offers words after the last comma of a list.
func completeList(words func(args []string) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		out := slices.Clone(words(args))
		for i := range out {
			out[i] = before + out[i]
		}
		return out, noSpace
	}
}

// selectableWords returns the ids and tags of the given scenarios, or of the bundled ones.
func selectableWords(e *cli.Env, args []string) (out []string) {
	given, err := sources.Read(args)
	if err != nil || len(args) == 0 {
		given, _ = sources.ReadBuiltin("") // embedded
	}
	var tags []string
	for _, src := range given {
		s, err := grammar.Parse(src.Text, src.Name, grammar.Options{Env: e.Getenv})
		if err != nil {
			continue // lint says what is wrong
		}
		out, tags = append(out, s.ID+"\t"+s.Title), append(tags, s.Tags...)
	}
	slices.Sort(tags)
	for _, tag := range slices.Compact(tags) {
		out = append(out, tag+"\ttag")
	}
	return out
}

// completionBash prints the script for bash. Cobra's script compares what is typed with each word as bash
// would quote it, with a backslash before every comma. Nobody types that, so a list would end at its first
// comma.
func completionBash(e *cli.Env, cmd *cobra.Command) error {
	var script bytes.Buffer
	bare, err := cmd.Flags().GetBool("no-descriptions")
	if err = errors.Join(err, cmd.Root().GenBashCompletionV2(&script, !bare)); err != nil {
		return err
	}
	for line := range strings.Lines(script.String()) {
		e.Say.Resultf("%s", line)
		for _, name := range []string{"comp", "COMPREPLY[0]"} {
			if strings.Contains(line, name+`=$(printf "%q"`) {
				e.Say.Resultf("%s=${%s//\\\\,/,}\n", name, name)
			}
		}
	}
	return nil
}

// completeWord offers the words of explain, and the names of its groups.
func completeWord(e *cli.Env, args []string) ([]string, cobra.ShellCompDirective) {
	entries, err := glossary(e)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, g := range wordGroups {
		out = append(out, g.plural+"\tall of them")
	}
	for _, en := range entries {
		first, _, _ := strings.Cut(en.text, "\n")
		out = append(out, en.id+"\t"+en.kind+": "+first)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
