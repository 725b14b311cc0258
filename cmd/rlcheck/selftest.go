package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

func newSelftestCmd(e *cli.Env) *cobra.Command {
	var quick bool
	var at atLimit
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove on this machine that correct targets pass and every claimed fault fails",
		Long: `Selftest runs every bundled scenario over loopback against the embedded target. The correct target
must pass, and the target with each fault that the scenario claims to catch must fail. It prints the share of
faults caught, and the faults that no scenario claims.

With --limit it tries the scenarios at your limit, in virtual time and without a network: which faults they catch
there, and which the limit cannot show, with the reason. Then a PASS of a run says what it can say. It ends
with 0 if nothing was missed that the limit can show.`,
		Example: "  rlcheck selftest --quick\n" +
			"  rlcheck selftest --limit token-bucket,rate=100/s,burst=20 --distance 20ms",
		Args: cli.Needs(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := cli.Interruptible()
			defer stop()
			if at.limit != "" {
				return at.run(ctx, e)
			}
			run := func(ctx context.Context, s *scenario.Scenario, id string,
				onlyProofs bool) result.Scenario {
				return trial.Scenario(ctx, s, trial.Options{ID: id, Seed: 1, Version: e.Version,
					OnlyProofs: onlyProofs, Embed: embedTarget("")})
			}
			r, err := lab.Selftest(ctx,
				lab.SelftestOptions{Quick: quick, Run: run, Progress: selftestProgress(e)})
			if err != nil {
				return err
			}
			e.Say.Resultf("%s", r.Text())
			return cli.StatusFor(r.Verdict(), r.Interrupted, "")
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "try each fault in only one scenario")
	cmd.Flags().StringVar(&at.limit, "limit", "", "try the scenarios at this limit (a SPEC), in virtual time")
	cmd.Flags().DurationVar(&at.distance, "distance", 0, "the time to the target and back, with --limit")
	cmd.Flags().BoolVar(&at.play, "play", false, "play the trials in this process")
	_ = cmd.Flags().MarkHidden("play") // the flag exists
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
