package main

import (
	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/selftest"
)

func newSelftestCmd(e *env) *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove on this machine that right targets pass and every claimed fault fails",
		Long: `Selftest runs every bundled scenario over loopback against the embedded target: the right one, which must pass, and one
with each fault that the scenario claims to catch, which must fail. It prints the kill score and the faults that no scenario
claims.`,
		Example: "  rlcheck selftest --quick",
		Args:    needs(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := interruptible()
			defer stop()
			r, err := selftest.Run(ctx,
				selftest.Options{Quick: quick, Version: version(), Progress: e.selftestProgress()})
			if err != nil {
				return err
			}
			e.say.resultf("%s", r.Text())
			return statusFor(r.Verdict(), r.Interrupted, "")
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "try each fault in one scenario only")
	return cmd
}

// selftestProgress tells a terminal now and then how far a self-test has come.
func (e *env) selftestProgress() func(done, planned int) {
	if _, width := terminal(e.say.err); width == 0 || e.noProgress {
		return nil
	}
	return func(done, planned int) {
		if done%10 == 0 || done == planned {
			e.say.notef("%d of %d trials", done, planned)
		}
	}
}
