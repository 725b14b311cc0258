package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/internal/check"
)

// The exit statuses, an API.
const (
	exitPass         = 0
	exitFail         = 1
	exitNothing      = 2 // nothing was judged: usage, an unreadable file, a crash
	exitInconclusive = 3
	exitInterrupted  = 130
)

// exitStatus is an error that has been told already and only carries the exit status.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// statusOf is the one place where exit statuses are set.
func statusOf(err error) int {
	var s exitStatus
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &s):
		return int(s)
	default:
		return exitNothing
	}
}

// statusFor turns a verdict into an exit status; failOn is the flag --fail-on.
func statusFor(v check.Verdict, interrupted bool, failOn string) error {
	switch {
	case interrupted:
		return exitStatus(exitInterrupted)
	case v == check.Fail:
		return exitStatus(exitFail)
	case v == check.Inconclusive && failOn == "inconclusive":
		return exitStatus(exitFail)
	case v == check.Inconclusive && failOn != "fail":
		return exitStatus(exitInconclusive)
	default:
		return nil
	}
}

// usagef is an error of the command line.
func usagef(format string, args ...any) error { return fmt.Errorf(format, args...) }

// fromEnvironment sets the flags that were not given from RLCHECK_* variables: a flag goes over the environment, and that
// over a file.
func fromEnvironment(cmd *cobra.Command, getenv func(string) (string, bool)) error {
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" {
			return
		}
		if v, set := getenv(variable(f.Name)); set && v != "" {
			if err := cmd.Flags().Set(f.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s=%q: %w", variable(f.Name), v, err))
			}
		}
	})
	return errors.Join(errs...)
}
