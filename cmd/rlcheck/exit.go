package main

import (
	"errors"
	"fmt"

	"github.com/rlcheck/rlcheck/internal/verdict"
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

// afterTrouble is the exit status of a run of which something that was asked for could not be kept or
// printed: a FAIL and an interruption stay what they are, all else says that nothing can be relied on.
func afterTrouble(status int) int {
	if status == exitFail || status == exitInterrupted {
		return status
	}
	return exitNothing
}

// statusFor turns a verdict into an exit status; failOn is the flag --fail-on.
func statusFor(v verdict.Verdict, interrupted bool, failOn string) error {
	switch {
	case interrupted:
		return exitStatus(exitInterrupted)
	case v == verdict.Fail:
		return exitStatus(exitFail)
	case v == verdict.Inconclusive && failOn == "inconclusive":
		return exitStatus(exitFail)
	case v == verdict.Inconclusive && failOn != "fail":
		return exitStatus(exitInconclusive)
	default:
		return nil
	}
}
