package main

import (
	"bytes"
	"cmp"
	_ "embed" // the help
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// helpText has what commands do, in short and at length, examples, and what their flags mean. What a flag of
// an earlier command means needs not be said again. The entry groups has the headings under which the help of
// a command with many flags lists them.
//
//go:embed help.txt
var helpText string

// helped returns helpText with the words that others know.
func helped() []text.Entry {
	list := func(words []string) string { return strings.Join(words, ", ") }
	return text.Entries(strings.NewReplacer("{formats}", list(report.Formats()),
		"{comparison formats}", list(report.ComparisonFormats()),
		"{simulation formats}", list(simulationFormats), "{log formats}", LogFormats(),
		"{languages}", list(languages), "{schemas}", list(schemaNames),
		"{promises}", list(text.Words(result.Promises())), "{gentle}", strconv.Itoa(gentle.MaxRequests),
		"{quick}", strconv.Itoa(quick.MaxRequests)).Replace(helpText))
}

// explainCommands gives commands and flags the words of helpText.
func explainCommands(root *cobra.Command) {
	first := map[string]string{}
	for _, e := range helped() {
		if e.Kind != "command" {
			continue
		}
		usages := map[string]string{}
		for _, l := range e.Lines {
			if name, usage, _ := strings.Cut(l.Rest, " "); l.Word == "flag" {
				usages[name], first[name] = usage, cmp.Or(first[name], usage)
			}
		}
		c := root
		if e.Name != root.Name() {
			c, _, _ = root.Find([]string{e.Name}) // it is there, which the tests of help texts show
		}
		c.Short, c.Long, c.Example = e.Get("short"), e.Get("long"), e.Get("example")
		if c.Example != "" {
			c.Example = "  " + strings.ReplaceAll(c.Example, "\n", "\n  ")
		}
		for _, flags := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) { f.Usage = cmp.Or(usages[f.Name], first[f.Name]) })
		}
	}
}

// mostUngrouped is the most flags that a help text lists without groups.
const mostUngrouped = 25

// groupFlags lets the usage of commands with many flags list them in groups, as wide as the terminal.
func groupFlags(e *cli.Env, root *cobra.Command) {
	plain := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		var b bytes.Buffer
		out := c.OutOrStderr()
		c.SetOut(&b)
		err := plain(c)
		c.SetOut(out)
		all, width := c.LocalFlags(), cli.Terminal(e.Say.Out)
		text := "Flags:\n" + trimmed(all.FlagUsagesWrapped(width))
		if strings.Count(all.FlagUsages(), "\n") > mostUngrouped {
			text = grouped(all, width)
		}
		text = strings.Replace(b.String(), "Flags:\n"+trimmed(all.FlagUsages()), text, 1)
		_, _ = io.WriteString(out, text) // the speaker keeps the error
		return err
	})
}

// grouped returns the usages of flags, by group. Flags of no group come last.
func grouped(all *pflag.FlagSet, width int) string {
	var out, grouped []string
	left := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.VisitAll(left.AddFlag)
	section := func(title string, names func(f *pflag.Flag) bool) {
		some := pflag.NewFlagSet("", pflag.ContinueOnError)
		left.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && names(f) {
				some.AddFlag(f)
			}
		})
		if some.HasFlags() {
			out = append(out, title+":\n"+trimmed(some.FlagUsagesWrapped(width)))
		}
	}
	for _, e := range helped() {
		for _, l := range e.Lines {
			if title, flags, _ := strings.Cut(l.Rest, ": "); l.Word == "group" {
				of := strings.Fields(flags)
				section(title, func(f *pflag.Flag) bool { return slices.Contains(of, f.Name) })
				grouped = append(grouped, of...)
			}
		}
	}
	section("Other flags", func(f *pflag.Flag) bool { return !slices.Contains(grouped, f.Name) })
	return strings.Join(out, "\n\n")
}

func trimmed(usages string) string { return strings.TrimRightFunc(usages, unicode.IsSpace) }

// renamed returns the flags of a command that have another name now, old name to new. The old ones were
// mistaken for other flags: --key, --output, --allowed, and the --partition of run. They mean the same as
// before, also as variables.
func renamed(command string) map[string]string {
	all := map[string]string{"keys": "api-keys", "out": "run-dir", "allow": "allow-host",
		"partition-by": "log-partition"}
	if command == "check" { // its partition is not what identifies a client
		all["partition"] = "only-partition"
	}
	return all
}

// keepOldNames lets the flags of a command be written by their old names too.
func keepOldNames(c *cobra.Command) {
	now := map[string]string{}
	for old, name := range renamed(c.Name()) {
		if f := c.Flags().Lookup(name); f != nil {
			f.Usage += " (before: --" + old + ")"
			now[old] = name
		}
	}
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(now[name], name))
	})
}

// variables returns the environment variables of a flag, its own and that of its old name: --max-rate is
// RLCHECK_MAX_RATE.
func variables(command, flag string) []string {
	out := []string{variable(flag)}
	for old, name := range renamed(command) {
		if name == flag {
			out = append(out, variable(old))
		}
	}
	return out
}

// variable returns the environment variable of a flag: --max-rate is RLCHECK_MAX_RATE.
func variable(flag string) string {
	return "RLCHECK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// namesakes are flags that mean something else in `run`, which has their variable.
var namesakes = map[string][]string{"proxy": {"set"}, "report": {"only", "skip"}}

// fromEnvironment sets the flags that were not given from RLCHECK_* variables, and returns their names. A
// flag wins over the environment, which wins over a file.
func fromEnvironment(cmd *cobra.Command, getenv func(string) (string, bool)) (map[string]bool, error) {
	var errs []error
	set := make(map[string]bool)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || slices.Contains(namesakes[cmd.Name()], f.Name) {
			return
		}
		name, v := "", ""
		for _, name = range variables(cmd.Name(), f.Name) {
			if v, _ = getenv(name); v != "" {
				break
			}
		}
		if v == "" || name == "RLCHECK_PARTITION" && cmd.Name() == "check" { // it means that of run
			return
		}
		set[f.Name] = true
		if f.Name == "set" && commands(v) {
			const why = "a command cannot come from the environment (write --set, or a scenario)"
			errs = append(errs, cli.Usagef("%s: "+why, name))
			return
		}
		var value *pflag.InvalidValueError
		switch err := cmd.Flags().Set(f.Name, v); {
		case errors.As(err, &value):
			errs = append(errs, badValue(name, value))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	})
	return set, errors.Join(errs...)
}

// commands tells whether a setting may bring a command: it names one, or replaces a whole phase.
func commands(setting string) bool {
	path, value, _ := strings.Cut(setting, "=")
	steps := strings.Split(path, ".")
	whole := strings.ContainsAny(value[:min(len(value), 1)], "[{")
	return slices.Contains(steps, "command") || steps[0] == "phases" && whole
}

// ownVariables are for the tests and benchmarks of rlcheck, not for its commands.
var ownVariables = regexp.MustCompile(`^RLCHECK_(BENCH|LIVE|TEST)_|^RLCHECK_(REQUIRE_SERVERS|SOAK)$`)

// strayVariables looks for RLCHECK_* variables that belong to no flag of any command. A name that is similar
// to a flag's is an error, since a misspelt RLCHECK_STRICT could make a PASS. The others are returned,
// ascending.
func strayVariables(root *cobra.Command, environ []string) (stray []string, err error) {
	var known []string
	for _, c := range append(root.Commands(), root) {
		add := func(f *pflag.Flag) { known = append(known, variables(c.Name(), f.Name)...) }
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
	}
	var errs []error
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case value == "" || !strings.HasPrefix(name, "RLCHECK_"):
			continue
		case slices.Contains(known, name) || ownVariables.MatchString(name):
			continue
		}
		if near := nearVariable(name, known); near != "" {
			errs = append(errs, cli.Usagef("%s: no flag has this variable (did you mean %q?)", name, near))
			continue
		}
		stray = append(stray, name)
	}
	slices.Sort(stray)
	return stray, errors.Join(errs...)
}

// nearVariable returns the variable that a name was surely meant to be: it differs by one slip, or by two if
// it is long. Empty: none.
func nearVariable(name string, known []string) string {
	best, least := "", 2
	if len(name) > len("RLCHECK_")+6 {
		least = 3
	}
	for _, k := range known {
		if d := text.Slips(strings.ToUpper(name), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// unknownCommand returns the error for words that name no command, or nil if they name one.
func unknownCommand(root *cobra.Command, words []string) error {
	if len(words) > 0 && strings.HasPrefix(words[0], cobra.ShellCompRequestCmd) {
		return nil // a shell asks for completions: cobra adds that command when it runs
	}
	_, rest, err := root.Find(words)
	if err == nil {
		return nil
	}
	word := firstWord(root, rest)
	names := []string{"help"}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	hint := text.Suggest(word, names)
	if hint == "" {
		hint = "rlcheck --help lists the commands"
		if _, err := readSource(word); err == nil || slices.Contains(builtinNames(), word) {
			hint = "write rlcheck run " + word
		}
	}
	return cli.Usagef("%q: there is no such command%s", word, cli.Mend(hint))
}

// firstWord returns the first of words that is neither a flag nor the value of a global flag.
func firstWord(root *cobra.Command, words []string) string {
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "--")
		if f := root.PersistentFlags().Lookup(name); isFlag && f != nil && f.NoOptDefVal == "" {
			i++
			continue
		}
		if !strings.HasPrefix(words[i], "-") {
			return words[i]
		}
	}
	return ""
}

// flagError explains an error of a flag in our words.
func flagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help lists the flags"
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return cli.Usagef("-%s: there is no such flag (%s)", unknown.GetSpecifiedName(), help)
	case errors.As(err, &unknown):
		return cli.Usagef("--%s: there is no such flag (%s)", unknown.GetSpecifiedName(),
			cmp.Or(nearFlag(cmd.Flags(), unknown.GetSpecifiedName()), help))
	case errors.As(err, &bare):
		return cli.Usagef("--%s: it needs a value: %s", bare.GetFlag().Name, bare.GetFlag().Usage)
	case errors.As(err, &value):
		return badValue("--"+value.GetFlag().Name, value)
	default:
		return cli.Usagef("%w (%s)", err, help)
	}
}

// nearFlag suggests a flag for one that is misspelt, cut short (--ca) or a format of -o (--junit); empty for
// others.
func nearFlag(flags *pflag.FlagSet, name string) string {
	var names, longer []string
	flags.VisitAll(func(f *pflag.Flag) {
		if names = append(names, f.Name); strings.HasPrefix(f.Name, name) {
			longer = append(longer, f.Name)
		}
	})
	near := text.Suggest(name, names)
	switch {
	case near != "":
		return strings.Replace(near, `"`, `"--`, 1)
	case len(longer) == 1:
		return fmt.Sprintf(`did you mean "--%s"?`, longer[0])
	case flags.Lookup("output") != nil && slices.Contains(report.Formats(), name):
		return fmt.Sprintf(`did you mean "-o %s=FILE"?`, name)
	}
	return ""
}

// badValue says what belongs in place of an invalid value. where is the flag or the variable.
func badValue(where string, err *pflag.InvalidValueError) error {
	what := map[string]string{
		"bool": "true or false", "int": "a whole number", "uint64": "a whole number, 0 or more",
		"float64":  "a number",
		"duration": "a duration such as 10ms", "intSlice": "a list of whole numbers with commas between them",
		"stringToString": "a list of pairs NAME=VALUE with commas between them",
		"stringSlice":    "a list of words with commas between them",
	}[err.GetFlag().Value.Type()]
	if what == "" {
		return cli.Usagef("%s %q: %w", where, err.GetValue(), err.Unwrap())
	}
	return cli.Usagef("%s %q: the value must be %s", where, err.GetValue(), what)
}
