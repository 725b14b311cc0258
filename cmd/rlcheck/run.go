package main

import (
	"crypto/tls"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/output"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/secrets"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// runFlags are the flags of `rlcheck run`.
type runFlags struct {
	target, limit, partition, keys, out, redis, failOn string
	config                                             string
	set, only, skip, outputs, allow, promise           []string
	strict, dryRun, compress                           bool
	seed                                               uint64
	serial, economical                                 bool
	budget                                             string
	retries                                            int
	wallError                                          time.Duration
	request                                            requestFlags
	fleet                                              fleetFlags
	// led is a run with agents; nil for one without.
	led *leading
	// tls is what request says of certificates, read.
	tls *tls.Config
}

func newRunCmd(e *cli.Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO|DIR|builtin:NAME...]",
		Short: "Send the load of scenarios, record it, judge it and report",
		Long: `Run takes scenario files, folders of them, or bundled ones (builtin: for all), sends their
load to the target, judges each recording against the declared limit and writes reports. Scenarios that cannot
disturb each other are recorded at the same time. What fails or shows too little there is recorded again
alone.`,
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
	fl.StringVarP(&f.target, "target", "t", "", "URL of the target, or builtin")
	fl.StringVar(&f.limit, "limit", "", "the declared limit, as a SPEC: ALGORITHM,key=value,...")
	fl.StringVar(&f.partition, "partition", "",
		"how clients are told apart: header:NAME, header:NAME: FORMAT, address, path, query:NAME, "+
			"cookie:NAME, body:NAME or none")
	fl.StringVar(&f.keys, "keys", "", "file of keys that the target has issued, one a client and line; "+
		"they are redacted")
	f.request.add(fl)
	fl.StringVar(&f.config, "config", "", "file of what all runs share (default "+configName+", if there)")
	fl.StringArrayVar(&f.set, "set", nil, "override a value of the scenario: PATH=VALUE (repeatable)")
	fl.StringSliceVar(&f.only, "only", nil, "run only these scenarios: ID, GLOB or TAG")
	fl.StringSliceVar(&f.skip, "skip", nil, "leave these scenarios out: ID, GLOB or TAG")
	fl.BoolVar(&f.strict, "strict", false, "what is recommended counts too: scenarios, and fields never sent")
	promises := strings.Join(wordsOf(verdict.Promises()), ", ")
	fl.StringSliceVar(&f.promise, "promise", nil, "what the target promises to have: "+promises)
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	fl.StringArrayVarP(&f.outputs, "output", "o", nil, "FORMAT[=PATH]: "+strings.Join(report.Formats(), ", ")+
		" (repeatable)")
	fl.StringVar(&f.out, "out", "", "folder of the run (default reports/<start>)")
	fl.BoolVar(&f.compress, "compress", false, "keep recordings as timeline.ndjson.gz")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show requests, duration and hosts, and send nothing")
	fl.StringSliceVar(&f.allow, "allow", nil, "a host that may be reached although its address is public")
	fl.StringVar(&f.redis, "redis", "",
		"where the embedded target keeps its state: a redis:// URL, or embedded (default memory); "+
			"with --agents: where they meet")
	f.fleet.add(fl)
	f.addPace(fl)
	fl.DurationVar(&f.wallError, "wall-error", 0,
		"how far the target's clock may be from ours (default 500ms; on loopback 1ms, but for a FAIL)")
	fl.StringVar(&f.failOn, "fail-on", "",
		"fail: exit 0 for inconclusive; inconclusive: exit 1 for it (default exit 3)")
	return cmd
}

// addPace adds the flags about how much is recorded, and how.
func (f *runFlags) addPace(fl *pflag.FlagSet) {
	fl.BoolVar(&f.serial, "serial", false, "record one scenario after the other")
	fl.BoolVar(&f.economical, "economical", false,
		"sleep until a request is due, and do not spin: for machines that others share")
	fl.StringVar(&f.budget, "budget", "",
		"run what fits into requests=N,time=DURATION, the most telling first")
	fl.IntVar(&f.retries, "retries", 0, "repeat a scenario that was late or showed too little, "+
		"with fresh clients, up to so many times; a FAIL is never repeated")
}

// runAll is `rlcheck run`.
func runAll(e *cli.Env, args []string, f runFlags) error {
	if err := cli.FailOnKnown(f.failOn); err != nil {
		return err
	}
	if f.retries < 0 || f.retries > maxRetries {
		return cli.Usagef("--retries %d: it is 0 to %d", f.retries, maxRetries)
	}
	if f.wallError < 0 {
		return cli.Usagef("--wall-error %s: it is not negative", f.wallError)
	}
	if err := f.fleet.check(f.request.pastCaches); err != nil {
		return err
	}
	f.serial = f.serial || f.fleet.agents > 0 // agents send one schedule at a time
	outs, err := output.Parse(f.outputs, report.Formats(), "table")
	if err != nil {
		return err
	}
	sources, err := readSources(withLong(args, f.only))
	if err != nil {
		return err
	}
	opts, err := parseOptionsOf(e, &f)
	if err != nil {
		return err
	}
	chosen, notes, err := pick(sources, opts, f.only, f.skip)
	if err != nil {
		return err
	}
	for _, note := range notes {
		e.Say.Line(note)
	}
	if err := errors.Join(placeless(&f, chosen), limitSaid(chosen), openly(e, chosen, sources,
		&f)); err != nil {
		return err
	}
	if chosen, err = affordableOf(e, chosen, f); err != nil {
		return err
	}
	shareKeys(chosen)
	if f.dryRun {
		return dryRun(e, chosen, f)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	if err := preflight(ctx, e, chosen, f); err != nil {
		return err
	}
	if ids := unverified(chosen); len(ids) > 0 { // not even -q hides it
		e.Say.Line("certificates are not verified, whoever answers is taken for the target: " +
			"target.insecure of " + strings.Join(ids, ", "))
	}
	sayLength(e, chosen, f)
	if f.led, err = lead(ctx, e, sources, &f); err != nil {
		return err
	}
	defer f.led.close()
	return recordAll(ctx, e, chosen, sources, outs, f, secrets.New(chosen, opts.Set, f.redis))
}

// parseOptionsOf turns the flags that change scenarios into what their decoder takes.
func parseOptionsOf(e *cli.Env, f *runFlags) (scenario.ParseOptions, error) {
	opts := scenario.ParseOptions{Env: e.Getenv, Target: f.target, Limit: f.limit, Partition: f.partition}
	for _, text := range f.set {
		s, err := tree.ParseSetting(text)
		if err != nil {
			return opts, err
		}
		opts.Set = append(opts.Set, s)
	}
	var bad, err error
	opts.Request, bad = requestOf(e, &f.request, f.target)
	if bad == nil {
		f.tls, bad = f.request.tls()
	}
	var lost error
	opts.Keys, lost = readKeys(f.keys)
	opts.Promises, err = parsePromises(f.promise, f.strict)
	return opts, errors.Join(bad, lost, err)
}

// thisHost is the machine that generates the load, or judges.
func thisHost() result.Host {
	return result.Host{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
	}
}

// dryRun prints what the scenarios would send.
func dryRun(e *cli.Env, chosen []*scenario.Scenario, f runFlags) error {
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
		for _, note := range []string{s.Unfit, s.Likely()} {
			if note != "" {
				e.Say.Resultf("  %s\n", note)
			}
		}
		// where nothing is sent at once, how many there will be depends on how fast the target answers
		over := ""
		if sum.Connections > 0 {
			over = " over " + quantity.Plural(sum.Connections, "connection")
		}
		e.Say.Resultf("  at most %s%s, at least %s, to %s\n\n", quantity.Plural(sum.Requests, "request"),
			over, roughly(sum.Duration), strings.Join(sum.Hosts, " and "))
		for _, h := range sum.Hosts {
			if !hosts[h] {
				hosts[h] = true
				order = append(order, h+needsAllow(h, f.allow))
			}
		}
	}
	e.Say.Resultf("in all at most %s, at least %s, to %s; nothing was sent\n",
		quantity.Plural(mostRequests(chosen, f), "request"), roughly(scenario.Lasting(chosen, f.serial)),
		strings.Join(order, ", "))
	return nil
}

// roughly rounds a duration for a reader, to 10 ms from a second on and to 10 µs below.
func roughly(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

func textOf(sources []source, name string) []byte {
	for _, s := range sources {
		if s.name == name {
			return s.text
		}
	}
	return nil
}
