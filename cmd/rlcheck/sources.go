package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/scenarios"
)

// scenarioSource is a scenario file that was read but not parsed.
type scenarioSource struct {
	Name string
	Text []byte
}

// builtinPrefix is the beginning of the name of a bundled scenario.
const builtinPrefix = "builtin:"

// configName is the configuration that is read if --config names none.
const configName = "rlcheck.yaml"

// readSources reads files, folders, and builtin:NAME. A folder means all *.yaml and *.yml in it by name,
// without a configuration. builtin: alone means all bundled scenarios. Every name that cannot be read is
// reported.
func readSources(args []string) ([]scenarioSource, error) {
	var out []scenarioSource
	var errs []error
	for _, arg := range args {
		found, err := readSource(arg)
		out = append(out, found...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return out, errors.Join(errs...)
}

// tagLong is the tag of bundled scenarios that last for minutes.
const tagLong = "long"

// withLong adds to builtin: the scenarios that it leaves out, if --only names them by their id or by the tag
// long.
func withLong(args, only []string) []string {
	if !slices.Contains(args, builtinPrefix) {
		return args
	}
	for _, name := range namedOnly() {
		arg := builtinPrefix + name
		found, err := readBuiltin(name)
		if err != nil || slices.Contains(args, arg) {
			continue
		}
		noVariables := func(string) (string, bool) { return "", false }
		s, err := scenario.Parse(found[0].Text, name, scenario.ParseOptions{Env: noVariables})
		if err == nil && (slices.Contains(only, s.ID) ||
			slices.Contains(only, tagLong) && slices.Contains(s.Tags, tagLong)) {
			args = append(slices.Clone(args), arg)
		}
	}
	return args
}

func readSource(arg string) ([]scenarioSource, error) {
	if name, ok := strings.CutPrefix(arg, builtinPrefix); ok {
		return readBuiltin(name)
	}
	info, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file%s", arg, hintBuiltin(arg))
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := scenario.ReadFile(arg)
		if err != nil {
			return nil, err
		}
		return []scenarioSource{{arg, text}}, nil
	}
	return readFolder(arg)
}

// hintBuiltin suggests the bundled scenario that a missing file may have meant, or a file with a similar
// name.
func hintBuiltin(arg string) string {
	name := strings.TrimSuffix(filepath.Base(arg), filepath.Ext(arg))
	if strings.Contains(arg, "=") {
		return " (a value with spaces needs quotes: --limit 'nginx:rate=10r/s burst=20')"
	}
	known := append(builtinNames(), namedOnly()...)
	if slices.Contains(known, name) {
		return " (write \"" + builtinPrefix + name + "\")"
	}
	if near := hintFile(arg); near != "" || name != arg {
		return near
	}
	near := text.Suggest(name, known)
	if near == "" {
		return ""
	}
	return " (" + strings.Replace(near, `"`, `"`+builtinPrefix, 1) + ")"
}

// hintFile suggests a file with a similar name beside a missing one.
func hintFile(name string) string {
	entries, _ := os.ReadDir(filepath.Dir(name)) // none if the folder is missing too
	var stems []string
	ext := filepath.Ext(name)
	for _, e := range entries {
		if stem, ok := strings.CutSuffix(e.Name(), ext); ok && filepath.Ext(e.Name()) == ext {
			stems = append(stems, stem)
		}
	}
	near := text.Suggest(strings.TrimSuffix(filepath.Base(name), ext), stems)
	if near == "" {
		return ""
	}
	return " (" + strings.TrimSuffix(near, `"?`) + ext + `"?)`
}

func readFolder(dir string) ([]scenarioSource, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []scenarioSource
	var errs []error
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || ext != ".yaml" && ext != ".yml" || e.Name() == configName {
			continue
		}
		name := filepath.Join(dir, e.Name())
		text, err := scenario.ReadFile(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, scenarioSource{name, text})
	}
	if len(out) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("%s: the folder has no scenario: a scenario file ends in .yaml", dir)
	}
	return out, errors.Join(errs...)
}

// builtinNames lists the bundled scenarios, ascending.
func builtinNames() []string { return bundledIn("*.yaml") }

// namedOnly returns the bundled scenarios that builtin: alone leaves out, as they take minutes.
func namedOnly() []string { return bundledIn("more/*.yaml") }

func bundledIn(pattern string) []string {
	names, _ := fs.Glob(scenarios.FS, pattern) // an embedded folder is always readable
	for i, name := range names {
		names[i] = strings.TrimSuffix(path.Base(name), ".yaml")
	}
	return names
}

// coreName is the name of the bundled scenarios to begin with.
const coreName = "core"

// coreNames returns the bundled scenarios to begin with, the most important first, and what each catches.
func coreNames() (names, catches []string) {
	list, _ := fs.ReadFile(scenarios.FS, coreName+".txt") // an embedded file is always readable
	for line := range strings.Lines(string(list)) {
		name, what, _ := strings.Cut(line, " ")
		names, catches = append(names, name), append(catches, strings.TrimSpace(what))
	}
	return names, catches
}

// readBuiltin reads a bundled scenario, or those of builtin:core. If name is empty, it reads all that need
// not be named.
func readBuiltin(name string) ([]scenarioSource, error) {
	names := builtinNames()
	switch name {
	case "":
	case coreName:
		names, _ = coreNames()
	default:
		if text, err := fs.ReadFile(scenarios.FS, "more/"+name+".yaml"); err == nil {
			return []scenarioSource{{builtinPrefix + name, text}}, nil
		}
		if names = append(names, namedOnly()...); !slices.Contains(names, name) {
			names = append(names, coreName)
			hint := strings.Replace(text.Suggest(name, names), `"`, `"`+builtinPrefix, 1)
			switch {
			case strings.Contains(name, ","):
				hint = "separate several names by spaces"
			case hint == "":
				hint = "rlcheck list shows the bundled scenarios"
			}
			return nil, fmt.Errorf("%s%s: there is no such bundled scenario%s", builtinPrefix, name,
				cli.Mend(hint))
		}
		names = []string{name}
	}
	var out []scenarioSource
	for _, n := range names {
		text, err := fs.ReadFile(scenarios.FS, n+".yaml")
		if err != nil {
			return nil, err
		}
		out = append(out, scenarioSource{builtinPrefix + n, text})
	}
	return out, nil
}

// selection are the flags that choose among scenarios, by their ids, globs over them, or tags.
type selection struct{ only, skip []string }

func (x *selection) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&x.only, "only", nil, "")
	fl.StringSliceVar(&x.skip, "skip", nil, "")
}

// read reads scenarios with the flags that change them, and keeps those that are chosen.
func (x selection) read(e *cli.Env, args []string, f *runFlags) (given []scenarioSource,
	opts scenario.ParseOptions, chosen []*scenario.Scenario, err error) {
	if given, err = readSources(withLong(args, x.only)); err != nil {
		return nil, opts, nil, err
	}
	if opts, err = parseOptions(e, f); err != nil {
		return nil, opts, nil, err
	}
	chosen, notes, err := x.pick(given, opts)
	for _, note := range notes {
		e.Say.Line(note)
	}
	return given, opts, chosen, err
}

// matches tells whether one of the words selects a scenario: its id, a glob over ids, or a tag.
func matches(id string, tags, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		ok, _ := path.Match(w, id) // a bad pattern was refused before
		return ok || slices.Contains(tags, w)
	})
}

// selected tells whether a scenario is chosen.
func (x selection) selected(id string, tags []string) bool {
	return (len(x.only) == 0 || matches(id, tags, x.only)) && !matches(id, tags, x.skip)
}

func wordsToSelect(all []*scenario.Scenario) (words []string) {
	for _, s := range all {
		words = append(append(words, s.ID), s.Tags...)
	}
	return words
}

// checkPatterns refuses invalid patterns in --only and --skip.
func (x selection) checkPatterns() error {
	for _, w := range slices.Concat(x.only, x.skip) {
		if _, err := path.Match(w, ""); err != nil {
			return cli.Usagef("%q: not a pattern: a [ is not closed", w)
		}
	}
	return nil
}

// pick parses the sources and keeps those that are chosen. All mistakes of all files are reported. notes
// names a word of skip that selects nothing and looks misspelt. It may be meant for other runs.
func (x selection) pick(sources []scenarioSource, opts scenario.ParseOptions) (out []*scenario.Scenario,
	notes []string, err error) {
	if err := x.checkPatterns(); err != nil {
		return nil, nil, err
	}
	var all []*scenario.Scenario
	var errs []error
	ids := map[string]string{}
	for _, src := range sources {
		s, err := scenario.Parse(src.Text, src.Name, opts)
		if err != nil {
			// What is not selected may not suit the settings of the run.
			if plain, bad := scenario.Parse(src.Text, src.Name,
				scenario.ParseOptions{Env: opts.Env}); bad != nil || x.selected(plain.ID, plain.Tags) {
				errs = append(errs, err)
			} else {
				all = append(all, plain)
			}
			continue
		}
		if other, twice := ids[s.ID]; twice {
			errs = append(errs, fmt.Errorf("%s: id %q: %s has the same id", src.Name, s.ID, other))
		}
		ids[s.ID] = src.Name
		all = append(all, s)
		if x.selected(s.ID, s.Tags) {
			out = append(out, s)
		}
	}
	known := func(w string) bool {
		return slices.ContainsFunc(all, func(s *scenario.Scenario) bool {
			return matches(s.ID, s.Tags, []string{w})
		})
	}
	const nothing = "%s: no scenario has this id or tag%s"
	for _, w := range x.only {
		if !known(w) && len(errs) == 0 {
			errs = append(errs, cli.Usagef("--only "+nothing, w, cli.Mend(
				cmp.Or(text.Suggest(w, wordsToSelect(all)), "rlcheck list shows their ids and tags"))))
		}
	}
	if err := errors.Join(onceEach(errs, len(sources))...); err != nil {
		return nil, nil, err
	}
	if len(out) == 0 {
		return nil, nil, cli.Usagef("no scenario is left: --only and --skip select none of %s "+
			"(rlcheck list shows their ids and tags)", text.Plural(len(sources), "scenario"))
	}
	for _, w := range x.skip {
		if hint := text.Suggest(w, wordsToSelect(all)); !known(w) && hint != "" {
			notes = append(notes, fmt.Sprintf("--skip "+nothing, cli.Visible(w), cli.Mend(hint)))
		}
	}
	return out, notes, nil
}

// onceEach reports a mistake of a setting once, with the number of scenarios that refuse it, perhaps in other
// words, if others accept it. Mistakes in files stay as they are.
func onceEach(errs []error, all int) []error {
	type mistake struct{ setting, path string }
	first, refuse := map[mistake]*scenario.Problem{}, map[mistake]int{}
	var out []error
	for _, err := range errs {
		var problems, left scenario.Errors
		if !errors.As(err, &problems) {
			out = append(out, err)
			continue
		}
		here := map[mistake]bool{}
		for i := range problems {
			m := mistake{problems[i].File, problems[i].Path}
			switch {
			case problems[i].Line > 0:
				left = append(left, problems[i])
				continue
			case first[m] == nil:
				first[m] = &problems[i]
				out = append(out, first[m])
			}
			here[m] = true
		}
		for m := range here {
			refuse[m]++
		}
		if len(left) > 0 {
			out = append(out, left)
		}
	}
	for m, n := range refuse {
		if all > n {
			first[m].Why += fmt.Sprintf("; %d of %d scenarios refuse it", n, all)
		}
	}
	return out
}
