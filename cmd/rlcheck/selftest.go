package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

func newSelftestCmd(e *cli.Env) *cobra.Command {
	var quick bool
	var at atLimit
	cmd := &cobra.Command{
		Use:  "selftest",
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
	cmd.Flags().BoolVar(&quick, "quick", false, "")
	cmd.Flags().StringVar(&at.limit, "limit", "", "")
	cmd.Flags().DurationVar(&at.distance, "distance", 0, "")
	cmd.Flags().BoolVar(&at.play, "play", false, "")
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

// atLimit are the flags of a self-test at one limit.
type atLimit struct {
	limit    string
	distance time.Duration
	// play: this process is the child that plays the trials.
	play bool
}

// run tries the fault matrix at the limit in virtual time. The bubbles of testing/synctest need package
// testing, which takes over the flags and the exit of a process. So a child plays the trials.
func (a *atLimit) run(ctx context.Context, e *cli.Env) error {
	trials, err := lab.Trials(a.limit)
	if err != nil {
		return err
	}
	if a.distance < 0 || a.distance > time.Minute {
		return cli.Usagef("--distance %s: the value is 0 to 1m", a.distance)
	}
	if a.play {
		testing.Main(func(string, string) (bool, error) { return true, nil },
			[]testing.InternalTest{{Name: "matrix", F: func(t *testing.T) {
				a.try(t, trials, e.Say.Out)
			}}}, nil, nil)
	}
	began := time.Now()
	var out, said strings.Builder
	err = Run(ctx, &out, &said, e.Environ(), "selftest", "--limit", a.limit, "--distance",
		a.distance.String(), "--play")
	if err != nil {
		return err
	}
	shown := lab.AtLimit(lab.Read(out.String()))
	if ctx.Err() != nil {
		return cli.ExitStatus(cli.ExitInterrupted)
	}
	e.Say.Resultf("%s", shown.Text())
	e.Say.Notef("%s, %s away, in %s", text.Plural(len(shown), "trial"), text.Short(a.distance),
		time.Since(began).Round(100*time.Millisecond))
	if len(shown) < len(trials) {
		return fmt.Errorf("selftest: %d of %d trials have no result: %s", len(trials)-len(shown), len(trials),
			strings.TrimSpace(said.String()))
	}
	return cli.StatusFor(shown.Verdict(), false, "")
}

// try tries trials in virtual time, several at a time, and writes each Shown to w as a line of JSON.
func (a *atLimit) try(t *testing.T, trials []lab.Trial, w io.Writer) {
	var mu sync.Mutex
	lines := json.NewEncoder(w)
	for _, x := range trials {
		t.Run(x.Scenario.ID+"/"+x.Fault, func(t *testing.T) {
			t.Parallel()
			shown := x.Try(func(s *scenario.Scenario) result.Scenario { return a.virtually(t, s) })
			mu.Lock()
			defer mu.Unlock()
			if err := lines.Encode(shown); err != nil {
				t.Error(err)
			}
		})
	}
}

// virtually runs a scenario in virtual time, on a network in memory. The first proof of a failure is enough:
// nothing is measured, and no other limit is tried as an explanation.
func (a *atLimit) virtually(t *testing.T, s *scenario.Scenario) (out result.Scenario) {
	synctest.Test(t, func(t *testing.T) {
		out = trial.Scenario(t.Context(), s, trial.Options{ID: "m", Seed: 1, Pacer: transport.SleepingPacer(),
			Network:    &lab.PipeNetwork{Pipes: transport.Pipes{Way: a.distance / 2}},
			OnlyProofs: true, Embed: embedTarget("")})
		time.Sleep(time.Minute) // what was on its way at the end comes to its end
	})
	if out.Timeline != nil && out.Verdict != result.Fail {
		trial.Judge(&out, s, out.Timeline)
	}
	return out
}
