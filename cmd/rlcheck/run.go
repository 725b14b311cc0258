package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

type runFlags struct {
	selection
	demands
	pace
	settled
	Target, Limit, Partition, keys, Out, redis string
	live, cost                                 string
	Set, Outputs, Allow                        []string
	dryRun, compress                           bool
	seed                                       uint64
	wallError                                  time.Duration
	Request                                    requestFlags
	fleet                                      fleetFlags
	// led is a run with agents, otherwise nil.
	led *leading
	// page is that of --live, otherwise nil.
	page *livePage
	// TLS has the certificates of Request, once they were read.
	TLS *tls.Config
}

// demands are the flags about what a target must do, and which verdicts end a run as an error.
type demands struct {
	promise, slo []string
	strict       bool
	failOn       string
}

// pace are the flags about how much is recorded, and how.
type pace struct {
	serial, economical bool
	budget             string
	retries            int
}

// settled says what a configuration has settled.
type settled struct {
	config string
	// filed tells that Target comes from a configuration, not from the user. unnamed tells that so do the
	// scenarios, and that nobody named the configuration. commands: its commands may run.
	filed, unnamed, commands bool
}

func newRunCmd(e *cli.Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run [SCENARIO|DIR|builtin:NAME...]",
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
	fl.StringVarP(&f.Target, "target", "t", "", "")
	fl.StringVar(&f.Limit, "limit", "", "")
	fl.StringVar(&f.Partition, "partition", "", "")
	fl.StringVar(&f.keys, "api-keys", "", "")
	f.Request.Add(fl)
	fl.StringSliceVar(&f.Request.denied, "denied", nil, "")
	fl.StringSliceVar(&f.Request.allowed, "allowed", nil, "")
	fl.StringVar(&f.config, "config", "", "")
	fl.StringArrayVar(&f.Set, "set", nil, "")
	f.selection.add(fl)
	fl.BoolVar(&f.strict, "strict", false, "")
	fl.StringSliceVar(&f.promise, "promise", nil, "")
	fl.StringVar(&f.cost, "cost", "", "")
	fl.StringSliceVar(&f.slo, "slo", nil, "")
	fl.Uint64Var(&f.seed, "seed", 1, "")
	fl.StringArrayVarP(&f.Outputs, "output", "o", nil, "")
	fl.StringVar(&f.Out, "run-dir", "", "")
	fl.BoolVar(&f.compress, "compress", false, "")
	fl.BoolVar(&f.dryRun, "dry-run", false, "")
	fl.StringVar(&f.live, "live", "", "")
	fl.Lookup("live").NoOptDefVal = "0"
	fl.StringSliceVar(&f.Allow, "allow-host", nil, "")
	fl.BoolVar(&f.commands, "allow-commands", false, "")
	fl.StringVar(&f.redis, "redis", "", "")
	f.fleet.add(fl)
	f.pace.add(fl)
	fl.DurationVar(&f.wallError, "wall-error", 0, "")
	fl.StringVar(&f.failOn, "fail-on", "", "")
	return cmd
}

func (f *pace) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.serial, "serial", false, "")
	fl.BoolVar(&f.economical, "economical", false, "")
	fl.StringVar(&f.budget, "budget", "", "")
	fl.IntVar(&f.retries, "retries", 0, "")
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
	given, opts, chosen, err := f.selection.read(e, args, &f)
	if err != nil {
		return err
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
	if err := preflight(ctx, chosen, f); err != nil {
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
		s, err := scenario.ParseSetting(text)
		if err != nil {
			return opts, err
		}
		opts.Set = append(opts.Set, s)
	}
	for _, text := range f.slo {
		name, value, _ := strings.Cut(text, "=")
		opts.Set = append(opts.Set, scenario.Setting{Path: "expect.slo." + name, Value: value, Flag: "--slo"})
	}
	if f.cost != "" {
		opts.Set = append(opts.Set, scenario.Setting{Path: "cost.each", Value: f.cost, Flag: "--cost"})
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

// affordableOf returns the scenarios that fit into --budget, and prints which do not.
func affordableOf(e *cli.Env, chosen []*scenario.Scenario, f runFlags) ([]*scenario.Scenario, error) {
	b, err := scenario.ParseBudget(f.budget)
	if err != nil {
		return nil, cli.Usagef("--%s", err)
	}
	fit, left := b.Pick(chosen, f.serial)
	if len(fit) == 0 {
		return nil, cli.Usagef("--budget %s: no scenario fits into %s (--dry-run without --budget says "+
			"what each takes)", f.budget, b)
	}
	var ids []string
	for _, s := range left {
		ids = append(ids, s.ID)
	}
	if len(ids) > 0 {
		e.Say.Line(fmt.Sprintf("%s left out, to keep to %s: %s", text.Plural(len(ids), "scenario"), b,
			strings.Join(ids, ", ")))
	}
	return fit, nil
}

// runPatience is the longest run that is begun without a word of --budget.
const runPatience = 10 * time.Minute

// sayLength says in advance how much a long run, or one of several scenarios, sends, and how long it takes.
func sayLength(e *cli.Env, chosen []*scenario.Scenario, f runFlags) {
	took := scenario.Lasting(chosen, f.serial)
	if took.Duration < time.Minute && len(chosen) < 2 {
		return
	}
	rests := time.Duration(0)
	for _, s := range chosen {
		if s.Unmet() == "" {
			rests += s.Rests()
		}
	}
	how := ""
	if rests > 0 {
		how = fmt.Sprintf(", %s of them silence in which the limit recovers", text.Rough(rests))
	}
	if took.Duration > runPatience && len(chosen) > 1 && f.budget == "" {
		how += " (--budget time=5m runs only what fits)"
	}
	most := mostRequests(chosen, f)
	e.Say.Notef("%s are likely, at most %s, %s%s",
		text.Plural(min(likelyRequests(chosen), most), "request"), text.Thousands(most), took, how)
}

// mostSimulated is how many requests of a scenario are simulated to learn how many are likely.
const mostSimulated = 100_000

// likelyRequests returns how many requests the scenarios send if a right limiter answers within a millisecond
// and none is repeated.
func likelyRequests(chosen []*scenario.Scenario) (n int) {
	for _, s := range chosen {
		if s.Unmet() != "" {
			continue
		}
		sends := s.Summary().Requests
		if sends <= mostSimulated {
			x, err := trial.Simulate(s, trial.Options{ID: "likely"}, time.Millisecond)
			if err == nil {
				sends = x.Counts.Planned
			}
		}
		n += sends
	}
	return n
}

// mostRequests returns how many requests a run sends at most. A scenario that was recorded beside others may
// be recorded again alone, and any scenario as often as --retries says, once if it may miss a boundary.
// Within a budget, that holds only while the budget allows it.
func mostRequests(chosen []*scenario.Scenario, f runFlags) (n int) {
	beside := besides(chosen, f.serial)
	for i, s := range chosen {
		times := 1 + f.retries
		edge := func(p scenario.Phase) bool { return p.Shape == timeline.Boundary }
		if slices.ContainsFunc(s.Phases, edge) {
			times = max(times, 2)
		}
		if slices.Contains(beside, i) {
			times++
		}
		n += times * s.Summary().Requests
	}
	if b, err := scenario.ParseBudget(f.budget); err == nil && b.Requests > 0 {
		n = min(n, b.Requests)
	}
	return n
}

// besides returns the indices of the scenarios that are recorded beside each other: none, or at least two.
func besides(chosen []*scenario.Scenario, serial bool) (places []int) {
	for i, s := range chosen {
		if !serial && s.Unmet() == "" && s.Alone() == "" {
			places = append(places, i)
		}
	}
	if len(places) < 2 {
		return nil
	}
	return places
}
