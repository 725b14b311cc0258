package cli

import (
	"errors"
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
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

// AfterTrouble returns the exit status of a run if something that the user asked for could not be kept or
// printed. A FAIL and an interruption keep their status. Any other status says that nothing can be relied on.
func AfterTrouble(status int) int {
	if status == ExitFail || status == ExitInterrupted {
		return status
	}
	return ExitNothing
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
