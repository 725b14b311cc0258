package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// The exit statuses. They are part of the interface.
const (
	ExitPass         = 0
	ExitFail         = 1
	ExitNothing      = 2 // nothing was judged: usage, an unreadable file, a crash
	ExitInconclusive = 3
	ExitInterrupted  = 130
)

// ExitStatus is an error that was already printed and only carries the exit status.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// StatusOf returns the exit status of an error. Exit statuses are set nowhere else.
func StatusOf(err error) int {
	var s ExitStatus
	switch {
	case err == nil:
		return ExitPass
	case errors.As(err, &s):
		return int(s)
	default:
		return ExitNothing
	}
}

// Ended returns the exit status of a command. If something that the user asked for could not be kept or
// printed, a FAIL and an interruption keep their status. Any other status says that nothing can be relied on.
func Ended(status error, whole bool) error {
	if n := StatusOf(status); whole || n == ExitFail || n == ExitInterrupted {
		return status
	}
	return ExitStatus(ExitNothing)
}

// StatusFor returns the exit status of a verdict. failOn is the flag --fail-on.
func StatusFor(v result.Verdict, interrupted bool, failOn string) error {
	switch {
	case interrupted:
		return ExitStatus(ExitInterrupted)
	case v == result.Fail:
		return ExitStatus(ExitFail)
	case v == result.Inconclusive && failOn == "inconclusive":
		return ExitStatus(ExitFail)
	case v == result.Inconclusive && failOn != "fail":
		return ExitStatus(ExitInconclusive)
	default:
		return nil
	}
}

// Usagef returns an error of the command line.
func Usagef(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Mend returns a mend in parentheses to follow an error, or nothing for an empty one.
func Mend(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// FailOnKnown refuses an unknown word of --fail-on.
func FailOnKnown(word string) error {
	words := []string{"", "fail", "inconclusive"}
	if slices.Contains(words, word) {
		return nil
	}
	return Usagef("--fail-on %q: the values are fail and inconclusive%s",
		word, Mend(text.Suggest(word, words[1:])))
}

// NoArguments refuses every argument.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s: %q: the command takes no arguments (%s --help lists the flags)", cmd.Name(),
			args[0], cmd.CommandPath())
	}
	return nil
}

// Needs demands from least to most arguments, or any number of them if most < 0. what says in words what they
// name.
func Needs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("%s: name %s", cmd.Name(), what)
		case most >= 0 && len(args) > most:
			return Usagef("%s: %q: one argument too many: name %s", cmd.Name(), args[most], what)
		}
		return nil
	}
}

// NotEmpty refuses flags with an empty value, as -t "$URL" gives if URL is not set. Otherwise the scenario's
// value would be judged, and the embedded target would pass for another one.
func NotEmpty(cmd *cobra.Command, flags ...string) error {
	var errs []error
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			errs = append(errs, Usagef("--%s \"\": the value is empty (write a value, or leave --%s "+
				"out to use the scenario's)", name, name))
		}
	}
	return errors.Join(errs...)
}
