package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/fleet"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// fleetFlags are the flags of `rlcheck run` for a run with several agents.
type fleetFlags struct {
	agents int
	deal   string
	within time.Duration
}

func (f *fleetFlags) add(fl *pflag.FlagSet) {
	fl.Var(f, "agents", "")
	fl.StringVar(&f.deal, "deal", string(fleet.ByRequests), "")
	fl.DurationVar(&f.within, "agents-within", 2*time.Minute, "")
	for _, old := range []string{"deal", "agents-within"} {
		fl.Lookup(old).Hidden = true // they are parts of --agents now
	}
}

// Set reads --agents.
func (f *fleetFlags) Set(text string) (err error) {
	for i, part := range strings.Split(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case i == 0:
			f.agents, err = strconv.Atoi(part)
		case key == "deal":
			f.deal = value
		case key == "within":
			f.within, err = time.ParseDuration(value)
		default:
			err = errors.New("unknown")
		}
		if err != nil {
			return fmt.Errorf("%q: the value is N, or N,deal=clients,within=2m", part)
		}
	}
	return nil
}

// String returns the number of agents; empty: none.
func (f *fleetFlags) String() string { return strings.TrimPrefix(strconv.Itoa(f.agents), "0") }

// Type names the values of --agents.
func (f *fleetFlags) Type() string { return "agents" }

// check refuses flags that cannot be used.
func (f *fleetFlags) check(pastCaches bool) error {
	o := fleet.Options{Agents: f.agents, Deal: fleet.Deal(f.deal)}
	switch {
	case f.agents == 0 && f.deal != string(fleet.ByRequests):
		return cli.Usagef("--deal %s: there is only one sender (add --agents N)", f.deal)
	case f.agents == 0:
		return nil
	case pastCaches:
		return cli.Usagef("--past-caches: agents cannot send such requests (leave out --agents)")
	case f.within <= 0:
		return cli.Usagef("--agents-within %s: the value must be more than 0", f.within)
	}
	if err := o.Check(); err != nil {
		return cli.Usagef("--agents %d --deal %s: %w", f.agents, f.deal, err)
	}
	return nil
}

// mostOwn is the most agents that are started on this machine, as more only take the processors from each
// other.
const mostOwn = 32

// ownWithin is how long agents on this machine may take to be ready.
const ownWithin = 20 * time.Second

// leading is a run with several agents.
type leading struct {
	*trial.Fleet
	stops []func() error
}

// store returns where the embedded target keeps its state. In a run with agents, --redis is where they meet.
func (f *runFlags) store() string {
	if f.led != nil {
		return ""
	}
	return f.redis
}

// sender returns what lets agents send a scenario. nil: it is sent from here.
func (f *runFlags) sender() *trial.Fleet {
	if f.led == nil {
		return nil
	}
	return f.led.Fleet
}

// close ends the run, and everything that was started for it, the last first.
func (l *leading) close() error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, stop := range slices.Backward(l.stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

// lead begins a run with several agents. nil: it has none.
func lead(ctx context.Context, e *cli.Env, given []scenarioSource, f *runFlags) (*leading, error) {
	if f.fleet.agents == 0 {
		return nil, nil
	}
	l := &leading{}
	url := f.redis
	if url == "" || url == scenario.EmbeddedRedis {
		if f.fleet.agents > mostOwn {
			return nil, cli.Usagef("--agents %d: at most %d agents are started on one machine (start them "+
				"yourself with rlcheck agent, and name the Redis where they meet: --redis URL)",
				f.fleet.agents, mostOwn)
		}
		var err error
		if url, err = l.embed(e, f); err != nil {
			return nil, errors.Join(err, l.close())
		}
		f.fleet.within = min(f.fleet.within, ownWithin)
	}
	client, err := lab.OpenRedis(url)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.stops = append(l.stops, client.Close)
	c, err := fleet.Lead(ctx, lab.Exchanger{RedisClient: client, Prefix: fleet.Prefix}, fleet.Options{
		Run: rundir.ID(time.Now()) + "-" + rand.Text()[:6], Version: e.Version, Agents: f.fleet.agents,
		Deal: fleet.Deal(f.fleet.deal), Within: f.fleet.within, Spill: rundir.Spill, Say: e.Say.Notef})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.stops = append(l.stops, func() error {
		if err := c.Close(); err != nil {
			e.Say.Notef("agents could not be told to end, and will end by themselves: %v", err)
		}
		return nil
	})
	l.Fleet = &trial.Fleet{Coordinator: c,
		Order: func(s *scenario.Scenario) trial.Order { return orderOf(e, s, given, f) }}
	return l, nil
}

// openly refuses what would bring a secret into a Redis server.
func openly(e *cli.Env, chosen []*scenario.Scenario, given []scenarioSource, f *runFlags) error {
	if f.fleet.agents == 0 || len(chosen) == 0 {
		return nil
	}
	if flag := trial.Secret(orderOf(e, chosen[0], given, f)); flag != "" {
		return cli.Usagef("%s: with --agents the value would be kept in the Redis, and it may be a "+
			"secret (write a variable instead, ${TOKEN}, and set it for the run and for each agent)", flag)
	}
	return nil
}

// orderOf returns how a scenario was read, without secrets.
func orderOf(e *cli.Env, s *scenario.Scenario, given []scenarioSource, f *runFlags) trial.Order {
	opts, err := parseOptions(e, f)
	if err != nil {
		return trial.Order{} // it was parsed before
	}
	o := trial.Order{File: s.File, Text: string(textOf(given, s.File)), Target: opts.Target,
		Limit: opts.Limit, Partition: opts.Partition, Set: opts.Set, Request: opts.Request,
		Promises: opts.Promises, Env: map[string]string{}}
	usedBy(e, []*scenario.Scenario{s}, given, opts, func(name, v string) {
		secret := func(text string) bool { return text != "" && strings.Contains(v, text) }
		if !slices.ContainsFunc(s.Secrets, secret) {
			o.Env[name] = v
		}
	})
	return o
}

// embed starts a Redis server and the agents on this machine, and returns the URL of the server.
func (l *leading) embed(e *cli.Env, f *runFlags) (string, error) {
	url, stop, err := startRedis()
	if err != nil {
		return "", err
	}
	l.stops = append(l.stops, stop)
	words := []string{"agent", "-q"}
	for flag, value := range map[string]string{"--api-keys": f.keys, "--cacert": f.Request.Cacert,
		"--cert": f.Request.Cert, "--key": f.Request.Key, "--unix-socket": f.Request.UnixSocket,
		"--allow-host": strings.Join(f.Allow, ",")} {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	for i := range f.fleet.agents {
		mine := append(slices.Clone(words), "--name", fmt.Sprintf("agent-%d", i+1))
		stop, err := startSelf(e.Say.Err, append(e.Environ(), "RLCHECK_REDIS="+url), mine...)
		if err != nil {
			return "", fmt.Errorf("agent: %w", err)
		}
		l.stops = append(l.stops, stop)
	}
	return url, nil
}
