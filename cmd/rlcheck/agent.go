package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/fleet"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

type agentFlags struct {
	redis, name, keys string
	allow             []string
	request           requestFlags
}

func newAgentCmd(e *cli.Env) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:  "agent --redis URL",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NotEmpty(cmd, "redis", "name", "api-keys", "cacert", "cert", "key",
				"unix-socket"); err != nil {
				return err
			}
			return runAgent(e, &f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.redis, "redis", "", "")
	fl.StringVar(&f.name, "name", "", "")
	fl.StringVar(&f.keys, "api-keys", "", "")
	fl.StringVar(&f.request.Cacert, "cacert", "", "")
	fl.StringVar(&f.request.Cert, "cert", "", "")
	fl.StringVar(&f.request.Key, "key", "", "")
	fl.StringVar(&f.request.UnixSocket, "unix-socket", "", "")
	fl.StringSliceVar(&f.allow, "allow-host", nil, "")
	return cmd
}

func runAgent(e *cli.Env, f *agentFlags) error {
	if f.redis == "" {
		return cli.Usagef("agent: --redis is missing (write --redis redis://HOST:PORT/DATABASE, or set " +
			"RLCHECK_REDIS)")
	}
	keys, lost := readKeys(f.keys)
	tls, bad := f.request.TLS()
	if err := errors.Join(lost, bad); err != nil {
		return err
	}
	client, err := lab.OpenRedis(f.redis)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := cli.Interruptible()
	defer stop()
	name := cmp.Or(f.name, thisAgent())
	e.Say.Notef("agent %s waits for a run", name)
	sender := &trial.Agent{Version: e.Version, Allow: f.allow, Socket: f.request.UnixSocket, Keys: keys,
		TLS: tls, Env: e.Getenv, Spill: rundir.Spill}
	err = fleet.Serve(ctx, lab.Exchanger{RedisClient: client, Prefix: fleet.Prefix}, fleet.AgentOptions{
		Name: name, Version: e.Version, Sender: sender, Say: e.Say.Notef,
		Keep: func(w fleet.Work, tl *timeline.Timeline) error {
			path, err := keepPart(sender.Kept(w, tl))
			if err == nil {
				e.Say.Line(fmt.Sprintf("agent %s: its part of the recording was not taken: %s kept in %s "+
					"(rlcheck check %s judges it)", name, text.Plural(tl.Sent(), "request"), path, path))
			}
			return err
		},
	})
	if errors.Is(err, context.Canceled) {
		return cli.ExitStatus(cli.ExitInterrupted)
	}
	return err
}

// keepPart keeps a part of a recording in a new file of the folder for temporary files.
func keepPart(tl *timeline.Timeline) (path string, err error) {
	f, err := os.CreateTemp("", "rlcheck-part-*.ndjson.gz") // no name that an order or another user chose
	if err != nil {
		return "", err
	}
	_, err = rundir.KeepTimeline(f.Name(), tl)
	return f.Name(), errors.Join(f.Close(), err)
}

// thisAgent returns a name for an agent: its machine and process.
func thisAgent() string {
	host, err := os.Hostname()
	if err != nil {
		host = "agent"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
