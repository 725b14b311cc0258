package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/text"
)

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
