package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/request"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/selftest"
	"github.com/rlcheck/rlcheck/internal/trial"
)

func newSelftestCmd(e *cli.Env) *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove on this machine that correct targets pass and every claimed fault fails",
		Long: `Selftest runs every bundled scenario over loopback against the embedded target. The correct target
must pass, and the target with each fault that the scenario claims to catch must fail. It prints the share of
faults caught, and the faults that no scenario claims.`,
		Example: "  rlcheck selftest --quick",
		Args:    cli.Needs(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := cli.Interruptible()
			defer stop()
			run := func(ctx context.Context, s *scenario.Scenario, id string,
				onlyProofs bool) result.Scenario {
				return trial.Scenario(ctx, s, trial.Options{ID: id, Seed: 1, Version: e.Version,
					OnlyProofs: onlyProofs, Embed: request.Embed("")})
			}
			r, err := selftest.Run(ctx,
				selftest.Options{Quick: quick, Run: run, Progress: selftestProgress(e)})
			if err != nil {
				return err
			}
			e.Say.Resultf("%s", r.Text())
			return cli.StatusFor(r.Verdict(), r.Interrupted, "")
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "try each fault in only one scenario")
	return cmd
}

// selftestProgress prints now and then on a terminal how far a self-test is.
func selftestProgress(e *cli.Env) func(done, planned int) {
	if cli.Terminal(e.Say.Err) == 0 || e.NoProgress {
		return nil
	}
	return func(done, planned int) {
		if done%10 == 0 || done == planned {
			e.Say.Notef("%d of %d trials", done, planned)
		}
	}
}
