package main

import (
	"crypto/tls"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// runFlags are the flags of `rlcheck run`.
type runFlags struct {
	Target, Limit, Partition, keys, Out, redis, failOn string
	config, live                                       string
	Set, only, skip, Outputs, Allow, promise, slo      []string
	strict, dryRun, compress                           bool
	seed                                               uint64
	serial, economical                                 bool
	budget, cost                                       string
	retries                                            int
	wallError                                          time.Duration
	Request                                            requestFlags
	fleet                                              fleetFlags
	// filed tells that Target comes from a configuration, not from the user. unnamed tells that so do the
	// scenarios, and that nobody named the configuration. commands: its commands may run.
	filed, unnamed, commands bool
	// led is a run with agents, otherwise nil.
	led *leading
	// page is that of --live, otherwise nil.
	page *livePage
	// TLS has the certificates of Request, once they were read.
	TLS *tls.Config
}

// newRunCmd is `rlcheck run`.
func newRunCmd(e *cli.Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO|DIR|builtin:NAME...]",
		Short: "Send the load of scenarios, record and judge it, write reports",
		Long: `Run takes scenario files, folders of them, or bundled ones (builtin: for all). It sends their load to
the target, judges each recording against the declared limit, and writes reports.

Scenarios that cannot disturb each other are recorded at the same time. A scenario that fails or shows too
little beside others is recorded again alone.`,
		Example: `  rlcheck run builtin:
  rlcheck run scenarios/burst.yaml -t http://127.0.0.1:8080/ --limit leaky-bucket,rate=10/s,burst=21`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NotEmpty(cmd, neverEmpty...); err != nil {
				return err
			}
			args, err := configure(e, cmd, args, &f)
			if err != nil {
				return err
			}
			return runAll(e, args, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.Target, "target", "t", "", "URL of the target, or builtin")
	fl.StringVar(&f.Limit, "limit", "", "the declared limit, as a SPEC: ALGORITHM,key=value,...")
	fl.StringVar(&f.Partition, "partition", "", "what identifies a client: header:NAME, header:NAME: "+
		"FORMAT, address, path, query:NAME, cookie:NAME, body:NAME or none")
	fl.StringVar(&f.keys, "api-keys", "", "file of keys that the target issued, one client in each line; "+
		"they are redacted")
	f.Request.Add(fl)
	fl.StringSliceVar(&f.Request.denied, "denied", nil,
		"what a denial is: "+deniedWords+" (default that of the scenario, mostly 429 and 503)")
	fl.StringSliceVar(&f.Request.allowed, "allowed", nil,
		"statuses that are admissions, such as 2xx,404 (default all below 400 that are no denials)")
	fl.StringVar(&f.config, "config", "",
		"file with settings for all runs (default "+configName+", if there)")
	fl.StringArrayVar(&f.Set, "set", nil, "override a value of the scenario: PATH=VALUE (repeatable)")
	fl.StringSliceVar(&f.only, "only", nil, "run only these scenarios: ID, GLOB or TAG")
	fl.StringSliceVar(&f.skip, "skip", nil, "leave these scenarios out: ID, GLOB or TAG")
	fl.BoolVar(&f.strict, "strict", false, "recommended scenarios count too, and so do recommended "+
		"fields that are never sent")
	promises := strings.Join(wordsOf(result.Promises()), ", ")
	fl.StringSliceVar(&f.promise, "promise", nil, "what the target promises to have: "+promises)
	fl.StringVar(&f.cost, "cost", "",
		"how many units of the limit each request costs, though it says nothing of it (default 1)")
	fl.StringSliceVar(&f.slo, "slo", nil, "objectives that each scenario must keep: allowed_p99=50ms (or "+
		"denied_, p50, p90, p95, p999, max) and errors=0")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of all random choices")
	fl.StringArrayVarP(&f.Outputs, "output", "o", nil, "FORMAT[=PATH]: "+strings.Join(report.Formats(), ", ")+
		" (repeatable)")
	fl.StringVar(&f.Out, "run-dir", "", "folder of the run (default reports/<start>)")
	fl.BoolVar(&f.compress, "compress", false, "keep recordings as timeline.ndjson.gz")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show requests, duration and hosts, and send nothing")
	fl.StringVar(&f.live, "live", "", "show the run while it goes on, at this port of 127.0.0.1 "+
		"(default any free one)")
	fl.Lookup("live").NoOptDefVal = "0"
	fl.StringSliceVar(&f.Allow, "allow-host", nil, "host that may be reached although its address is public")
	fl.BoolVar(&f.commands, "allow-commands", false,
		"run the commands of scenarios that only "+configName+" names")
	fl.StringVar(&f.redis, "redis", "", "where the embedded target keeps its state: a redis:// URL, or "+
		"embedded (default memory); with --agents, where the agents meet")
	f.fleet.add(fl)
	f.addPace(fl)
	fl.DurationVar(&f.wallError, "wall-error", 0, "how far the target's clock may be from ours (default "+
		"500ms; on loopback 1ms, except to prove a FAIL)")
	fl.StringVar(&f.failOn, "fail-on", "",
		"fail: exit 0 if something is inconclusive; inconclusive: exit 1 (default exit 3)")
	return cmd
}

// addPace adds the flags about how much is recorded, and how.
func (f *runFlags) addPace(fl *pflag.FlagSet) {
	fl.BoolVar(&f.serial, "serial", false, "record one scenario after the other")
	fl.BoolVar(&f.economical, "economical", false,
		"sleep until a request is due instead of spinning: for machines that others share")
	fl.StringVar(&f.budget, "budget", "", "run only what fits into requests=N,time=DURATION; scenarios "+
		"that catch the most faults come first")
	fl.IntVar(&f.retries, "retries", 0, "how often to repeat a scenario that was late or showed too "+
		"little, with fresh clients; a FAIL is never repeated")
}

// runAll is `rlcheck run`.
func runAll(e *cli.Env, args []string, f runFlags) error {
	err := errors.Join(cli.FailOnKnown(f.failOn), f.fleet.check(f.Request.PastCaches))
	if err != nil {
		return err
	}
	if f.retries < 0 || f.retries > maxRetries {
		return cli.Usagef("--retries %d: the value is 0 to %d", f.retries, maxRetries)
	}
	if f.wallError < 0 {
		return cli.Usagef("--wall-error %s: the value may not be negative", f.wallError)
	}
	if f.live != "" && f.fleet.agents > 0 {
		return cli.Usagef("--live: what agents record comes at the end (leave out --live or --agents)")
	}
	f.serial = f.serial || f.fleet.agents > 0 // agents send one schedule at a time
	outs, err := cli.ParseOutput(f.Outputs, report.Formats(), "table")
	if err != nil {
		return err
	}
	given, err := readSources(withLong(args, f.only))
	if err != nil {
		return err
	}
	opts, err := parseOptions(e, &f)
	if err != nil {
		return err
	}
	chosen, notes, err := pickScenarios(given, opts, f.only, f.skip)
	if err != nil {
		return err
	}
	for _, note := range notes {
		e.Say.Line(note)
	}
	red := trial.NewRedactor(chosen, opts.Set, f.redis)
	err = errors.Join(placeless(&f, chosen), limitSaid(chosen, red), openly(e, chosen, given, &f),
		unasked(&f, chosen))
	if err != nil {
		return err
	}
	if chosen, err = affordableOf(e, chosen, f); err != nil {
		return err
	}
	shareKeys(chosen)
	if f.dryRun {
		return dryRun(e, chosen, f, red)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	if err := preflight(ctx, e, chosen, f); err != nil {
		return err
	}
	if which := unverified(chosen); which != "" { // not even -q hides it
		e.Say.Line("certificates are not verified, any server is accepted as the target: " +
			"target.insecure of " + which)
	}
	sayLength(e, chosen, f)
	if f.led, err = lead(ctx, e, given, &f); err != nil {
		return err
	}
	defer f.led.close()
	if f.page, err = serveLive(ctx, e, f.live, len(chosen)); err != nil {
		return err
	}
	return recordAll(ctx, e, chosen, given, outs, f, red)
}

// parseOptions turns the flags that change scenarios into the options of their decoder.
func parseOptions(e *cli.Env, f *runFlags) (scenario.ParseOptions, error) {
	opts := scenario.ParseOptions{Env: e.Getenv, Target: f.Target, Limit: f.Limit, Partition: f.Partition}
	for _, text := range f.Set {
		s, err := tree.ParseSetting(text)
		if err != nil {
			return opts, err
		}
		opts.Set = append(opts.Set, s)
	}
	for _, text := range f.slo {
		name, value, _ := strings.Cut(text, "=")
		opts.Set = append(opts.Set, tree.Setting{Path: "expect.slo." + name, Value: value, Flag: "--slo"})
	}
	if f.cost != "" {
		opts.Set = append(opts.Set, tree.Setting{Path: "cost.each", Value: f.cost, Flag: "--cost"})
	}
	var bad, err error
	opts.Request, bad = settingsOf(e, &f.Request, f.Target)
	if bad == nil {
		f.TLS, bad = f.Request.TLS()
	}
	var lost error
	opts.Keys, lost = readKeys(f.keys)
	opts.Promises, err = parsePromises(f.promise, f.strict)
	return opts, errors.Join(bad, lost, err)
}

// dryRun prints what the scenarios would send.
func dryRun(e *cli.Env, chosen []*scenario.Scenario, f runFlags, red trial.Redactor) error {
	hosts := map[string]bool{}
	var order []string
	for _, s := range chosen {
		sum := s.Summary()
		e.Say.Resultf("%s  %s\n  limit %s\n", s.ID, s.Title, s.Limit)
		if why := s.Unmet(); why != "" {
			e.Say.Resultf("  not run: %s\n\n", why)
			continue
		}
		for _, p := range sum.Phases {
			e.Say.Resultf("  %s: %s\n", p.Name, p.Text)
		}
		for _, note := range []string{s.Unfit, s.Likely} {
			if note != "" {
				e.Say.Resultf("  %s\n", note)
			}
		}
		// If nothing is sent at once, the number of connections depends on how fast the target answers.
		over := ""
		if sum.Connections > 0 {
			over = " over " + text.Plural(sum.Connections, "connection")
		}
		e.Say.Resultf("  at most %s%s, %s, to %s\n\n", text.Plural(sum.Requests, "request"),
			over, sum.Span, red.Replace(strings.Join(sum.Hosts, " and ")))
		for _, h := range sum.Hosts {
			if !hosts[h] {
				hosts[h] = true
				order = append(order, h+needsAllow(h, f.Allow))
			}
		}
	}
	if len(order) == 0 {
		e.Say.Resultf("in all no request; nothing was sent\n")
		return nil
	}
	e.Say.Resultf("in all at most %s, %s, to %s; nothing was sent\n", text.Plural(mostRequests(chosen, f),
		"request"), scenario.Lasting(chosen, f.serial), red.Replace(strings.Join(order, ", ")))
	return nil
}

func textOf(given []scenarioSource, name string) []byte {
	for _, s := range given {
		if s.Name == name {
			return s.Text
		}
	}
	return nil
}
