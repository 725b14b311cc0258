package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// runFlags are the flags of `rlcheck run`.
type runFlags struct {
	target, limit, partition, keys, out, redis, failOn string
	config                                             string
	set, only, skip, outputs, allow, promise           []string
	strict, dryRun, compress                           bool
	seed                                               uint64
	retries                                            int
	wallError                                          time.Duration
	request                                            requestFlags
	// tls is what request says of certificates, read.
	tls *tls.Config
}

func newRunCmd(e *env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO|DIR|builtin:NAME...]",
		Short: "Send the load of scenarios, record it, judge it and report",
		Long: `Run takes scenario files, folders of them, or bundled ones (builtin: for all), sends their load to the target one after the
other, judges each recording against the declared limit and writes reports.`,
		Example: `  rlcheck run builtin:
  rlcheck run scenarios/burst.yaml -t http://127.0.0.1:8080/ --limit leaky-bucket,rate=10/s,burst=21`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notEmpty(cmd, neverEmpty...); err != nil {
				return err
			}
			args, err := e.configure(cmd, args, &f)
			if err != nil {
				return err
			}
			return e.run(args, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.target, "target", "t", "", "URL of the target, or builtin")
	fl.StringVar(&f.limit, "limit", "", "the declared limit, as a SPEC: ALGORITHM,key=value,...")
	fl.StringVar(&f.partition, "partition", "",
		"how clients are told apart: header:NAME, header:NAME: FORMAT, address, path, query:NAME, "+
			"cookie:NAME or none")
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
		"where the embedded target keeps its state: a redis:// URL, or embedded (default memory)")
	fl.IntVar(&f.retries, "retries", 0, "repeat a scenario that was late or showed too little, "+
		"with fresh clients, up to so many times; a FAIL is never repeated")
	fl.DurationVar(&f.wallError, "wall-error", 0,
		"how far the target's clock may be from ours (default 500ms; on loopback 1ms, but for a FAIL)")
	fl.StringVar(&f.failOn, "fail-on", "",
		"fail: exit 0 for inconclusive; inconclusive: exit 1 for it (default exit 3)")
	return cmd
}

// run is `rlcheck run`.
func (e *env) run(args []string, f runFlags) error {
	if f.failOn != "" && f.failOn != "fail" && f.failOn != "inconclusive" {
		return usagef("--fail-on %q: it is fail or inconclusive", f.failOn)
	}
	if f.retries < 0 || f.retries > maxRetries {
		return usagef("--retries %d: it is 0 to %d", f.retries, maxRetries)
	}
	if f.wallError < 0 {
		return usagef("--wall-error %s: it is not negative", f.wallError)
	}
	outs, err := parseOutputs(f.outputs, report.Formats(), "table")
	if err != nil {
		return err
	}
	sources, err := readSources(args)
	if err != nil {
		return err
	}
	opts, err := e.parseOptions(&f)
	if err != nil {
		return err
	}
	chosen, notes, err := pick(sources, opts, f.only, f.skip)
	if err != nil {
		return err
	}
	for _, note := range notes {
		e.say.line(note)
	}
	shareKeys(chosen)
	if err := limitSaid(chosen); err != nil {
		return err
	}
	if f.dryRun {
		return e.dryRun(chosen, f)
	}
	ctx, stop := interruptible()
	defer stop()
	if err := e.preflight(ctx, chosen, f); err != nil {
		return err
	}
	if ids := unverified(chosen); len(ids) > 0 { // not even -q hides it
		e.say.line("certificates are not verified, whoever answers is taken for the target: " +
			"target.insecure of " + strings.Join(ids, ", "))
	}
	e.sayLength(chosen)
	return e.record(ctx, chosen, sources, outs, f, newRedactor(chosen, opts.Set, f.redis))
}

// parseOptions turns the flags that change scenarios into what their decoder takes.
func (e *env) parseOptions(f *runFlags) (scenario.ParseOptions, error) {
	opts := scenario.ParseOptions{Env: e.getenv, Target: f.target, Limit: f.limit, Partition: f.partition}
	for _, text := range f.set {
		s, err := scenario.ParseSetting(text)
		if err != nil {
			return opts, err
		}
		opts.Set = append(opts.Set, s)
	}
	var bad, err error
	opts.Request, bad = e.requestOf(&f.request, f.target)
	if bad == nil {
		f.tls, bad = f.request.tls()
	}
	var lost error
	opts.Keys, lost = readKeys(f.keys)
	opts.Promises, err = parsePromises(f.promise, f.strict)
	return opts, errors.Join(bad, lost, err)
}

// record runs the chosen scenarios, keeps them in the folder of the run and prints what was asked for.
func (e *env) record(ctx context.Context, chosen []*scenario.Scenario, sources []source, outs []output,
	f runFlags, red redactor) error {
	started := time.Now()
	m := e.newManifest(started, chosen, f, red)
	m.Env = e.variables(chosen, sources, f, red)
	r := &result.Run{ID: m.ID, Started: started, Version: m.Version, Command: m.Command,
		Host: thisHost()}
	dir, replaced, err := newRunDir(f.out, m)
	if err != nil {
		return err
	}
	defer dir.close()
	if dir.compress = f.compress; replaced != "" {
		e.say.notef("%s: the run that was kept in it is replaced (%s)", dir.path, replaced)
	}
	keys := r.ID // two runs at the same target must not share the keys of their clients
	var all []*course
	whole, beat := true, e.newHeartbeat(started)
	for i, s := range chosen {
		if ctx.Err() != nil {
			break
		}
		r.NotBegun, r.Interrupted, r.Duration = m.ids()[i:], true, time.Since(started) // until it is done
		if err := dir.keepSoFar(r, f.strict); err != nil {
			e.say.problem(err)
			whole = false
		}
		label := s.ID
		if len(chosen) > 1 {
			label = fmt.Sprintf("%d/%d %s", i+1, len(chosen), s.ID)
		}
		after := lasting(chosen[i+1:])
		c := &course{s: s, t: trialOf{label, keys, after, textOf(sources, s.File), dir, f, red}}
		if err := e.enough(ctx, c); err != nil {
			whole = false
			e.say.problem(err)
		}
		all = append(all, c)
		together(all, r)
		beat.tell(time.Now(), r.Scenarios, len(chosen))
	}
	if err := e.resolve(ctx, all, r); err != nil {
		whole = false
		e.say.problem(err)
	}
	r.Duration, r.Interrupted, r.NotBegun = time.Since(started), ctx.Err() != nil, m.ids()[len(r.Scenarios):]
	o := e.reportOptions()
	o.Strict, o.InconclusiveIsError = f.strict, f.failOn == "inconclusive"
	whole = e.emit(dir.reports(), r, o) && whole
	whole = e.emit(outs, r, o) && whole
	if left := len(chosen) - len(r.Scenarios); left > 0 {
		e.say.notef("interrupted, %s not begun", quantity.Plural(left, "scenario"))
	}
	e.say.notef("kept in %s", dir.path)
	verdict := statusFor(r.Verdict(f.strict), r.Interrupted, f.failOn)
	if !whole {
		return exitStatus(afterTrouble(statusOf(verdict)))
	}
	return verdict
}

// thisHost is the machine that generates the load, or judges.
func thisHost() result.Host {
	return result.Host{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
	}
}

// trialOf is what one scenario of a run needs beside itself.
type trialOf struct {
	label, keys string
	// after is how long the scenarios take at least that follow.
	after time.Duration
	text  []byte
	dir   *runDir
	flags runFlags
	red   redactor
}

// sayLength says beforehand how much a long run sends, and how long it takes.
func (e *env) sayLength(chosen []*scenario.Scenario) {
	requests, rests := 0, time.Duration(0)
	for _, s := range chosen {
		requests += s.Summary().Requests
		rests += s.Rests()
	}
	if took := lasting(chosen); took >= time.Minute {
		how := ""
		if rests > 0 {
			how = fmt.Sprintf(", %s of them silence in which the limit recovers", roughly(rests))
		}
		e.say.notef("at most %s, at least %s%s", quantity.Plural(requests, "request"), roughly(took), how)
	}
}

// lasting is how long the load of scenarios takes at least.
func lasting(scenarios []*scenario.Scenario) (d time.Duration) {
	for _, s := range scenarios {
		d += s.Summary().Duration
	}
	return d
}

// one runs one scenario and keeps its files.
func (e *env) one(ctx context.Context, s *scenario.Scenario, t trialOf) (result.Scenario, error) {
	var bar *meter
	var planErr, keepErr error
	kept := &recording{dir: t.dir, id: s.ID, red: t.red}
	out := trial.Scenario(ctx, s, trial.Options{
		ID: t.keys + "-" + s.ID, Seed: t.flags.seed, Version: version(), Allow: t.flags.allow,
		Redis: t.flags.redis, Output: e.say.err,
		WallError: t.flags.wallError, TLS: t.flags.tls,
		Planned: func(plan *timeline.Schedule) {
			planErr = t.dir.keepPlan(s.ID, t.text, plan)
			_, lasts := plan.Planned()
			bar = e.newMeter(t.label, lasts, t.after)
		},
		Journal:  kept.begin,
		Recorded: kept.whole,
		Progress: func(p load.Progress) { bar.update(p) },
	})
	bar.stop()
	t.red.scenario(&out)
	if out.Timeline != nil {
		out.TimelinePath = t.dir.recordings(s.ID)[0]
		kept.settled(out.Timeline)
		keepErr = t.dir.keepLatency(s.ID, out.Timeline, out.Header.Started)
	}
	if e.verbose { // the report has it
		e.say.notef("%s: %s", s.ID,
			strings.TrimSpace(strings.ToUpper(out.Verdict.String())+" "+string(out.Reason)))
	}
	return out, errors.Join(planErr, errors.Join(kept.errs...), keepErr)
}

// dryRun prints what the scenarios would send.
func (e *env) dryRun(chosen []*scenario.Scenario, f runFlags) error {
	requests, duration := 0, time.Duration(0)
	hosts := map[string]bool{}
	var order []string
	for _, s := range chosen {
		sum := s.Summary()
		e.say.resultf("%s  %s\n  limit %s\n", s.ID, s.Title, s.Limit)
		if why := s.Unmet(); why != "" {
			e.say.resultf("  not run: %s\n\n", why)
			continue
		}
		for _, p := range sum.Phases {
			e.say.resultf("  %s: %s\n", p.Name, p.Text)
		}
		if s.Unfit != "" {
			e.say.resultf("  %s\n", s.Unfit)
		}
		// where nothing is sent at once, how many there will be depends on how fast the target answers
		over := ""
		if sum.Connections > 0 {
			over = " over " + quantity.Plural(sum.Connections, "connection")
		}
		e.say.resultf("  at most %s%s, at least %s, to %s\n\n", quantity.Plural(sum.Requests, "request"),
			over, roughly(sum.Duration), strings.Join(sum.Hosts, " and "))
		requests, duration = requests+(1+f.retries)*sum.Requests, duration+sum.Duration
		for _, h := range sum.Hosts {
			if !hosts[h] {
				hosts[h] = true
				order = append(order, h+needsAllow(h, f.allow))
			}
		}
	}
	e.say.resultf("in all at most %s, at least %s, to %s; nothing was sent\n",
		quantity.Plural(requests, "request"), roughly(duration), strings.Join(order, ", "))
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
