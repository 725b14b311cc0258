package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/text"
)

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
