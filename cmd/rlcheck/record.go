package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// work is a run while it is made.
type work struct {
	*cli.Env
	run    *result.Run
	chosen []*scenario.Scenario
	// courses are those of chosen. nil: the scenario has not begun.
	courses []*course
	// budget bounds the requests of all recordings; 0: it does not.
	budget  int
	sources []scenarioSource
	flags   runFlags
	red     trial.Redactor
	dir     *rundir.Dir
	beat    *cli.Heartbeat
	errs    []error
}

// recordAll runs the chosen scenarios, keeps them in the folder of the run and prints the wanted reports.
func recordAll(ctx context.Context, e *cli.Env, chosen []*scenario.Scenario, given []scenarioSource,
	outs []cli.Output, f runFlags, red trial.Redactor) error {
	started := time.Now()
	m := newManifest(e, started, chosen, f, red)
	m.Env = variablesOf(e, chosen, given, f, red)
	r := &result.Run{ID: m.ID, Started: started, Version: m.Version, Command: m.Command, Host: cli.ThisHost()}
	dir, replaced, err := rundir.New(f.Out, m)
	if err != nil {
		return err
	}
	defer dir.Close()
	if dir.Compress = f.compress; replaced != "" {
		e.Say.Notef("%s: the run that was kept there is replaced (%s)", dir.Path, replaced)
	}
	b, _ := scenario.ParseBudget(f.budget) // it was parsed before
	w := &work{Env: e, run: r, chosen: chosen, courses: make([]*course, len(chosen)), budget: b.Requests,
		sources: given, flags: f, red: red, dir: dir, beat: cli.NewHeartbeat(e, started)}
	sending, stop := b.Deadline(ctx)
	defer stop()
	w.all(sending)
	r.Duration, r.Interrupted = time.Since(started), sending.Err() != nil
	if r.Interrupted && ctx.Err() == nil {
		e.Say.Line("--budget " + f.budget + ": the run took much longer than planned, and was stopped")
	}
	o := cli.ReportOptions(e)
	o.Strict, o.InconclusiveIsError = f.strict, f.failOn == "inconclusive"
	gone, err := dir.Gone()
	w.note(err)
	kept := !gone && cli.Emit(e, dir.Reports(), r, o) && len(w.errs) == 0
	f.page.close(r, o)
	whole := cli.Emit(e, outs, r, o) && kept
	for _, note := range []string{untested(r, chosen, f), unseen(r, chosen, f.strict)} {
		if note != "" {
			e.Say.Notef("%s", note)
		}
	}
	if left := len(r.NotBegun); left > 0 {
		e.Say.Notef("%s, %s not begun", report.Stopped(r), text.Plural(left, "scenario"))
	}
	if kept {
		e.Say.Notef("kept in %s", dir.Path)
	} else if !gone {
		e.Say.Notef("kept in %s in part (make room, or choose another folder with --run-dir)", dir.Path)
	}
	return cli.Ended(cli.StatusFor(r.Verdict(f.strict), ctx.Err() != nil, f.failOn), whole)
}

// untested says that the target passed with clients told apart by the default, and that no scenario asked
// whether the target does so. Empty: it is not so.
func untested(r *result.Run, chosen []*scenario.Scenario, f runFlags) string {
	const asks = "identity-isolation"
	p := chosen[0].Partition
	if f.Partition != "" || !strings.HasPrefix(chosen[0].File, builtinPrefix) || f.Target == "" ||
		f.Target == "builtin" || p.Kind != scenario.ByHeader || r.Verdict(f.strict) != result.Pass ||
		slices.ContainsFunc(chosen, func(s *scenario.Scenario) bool { return s.ID == asks }) {
		return ""
	}
	return fmt.Sprintf("each client had its own %s (the default of --partition); that the target tells "+
		"clients apart by it was not tested (rlcheck run builtin:%s tests it)", p.Name, asks)
}

// unseen says from where on a further limit of a target that passed would not have been seen. Empty: it did
// not pass, or is the embedded one, which has no other.
func unseen(r *result.Run, chosen []*scenario.Scenario, strict bool) string {
	most := 0
	for i := range r.Scenarios {
		for _, c := range r.Scenarios[i].Clients {
			most = max(most, c.Allowed)
		}
	}
	if most == 0 || chosen[0].Target.URL == scenario.Builtin || r.Verdict(strict) != result.Pass {
		return ""
	}
	return fmt.Sprintf("no client was allowed more than %s: a second limit above that, such as one of an "+
		"hour, would not have been seen", text.Plural(most, "request"))
}

// all records all scenarios. First come those that may be recorded beside each other, and then the others,
// one by one.
func (w *work) all(ctx context.Context) {
	w.keepSoFar()
	w.beside(ctx, besides(w.chosen, w.flags.serial))
	for i := range w.chosen {
		if w.courses[i] != nil || ctx.Err() != nil || w.dead(i) {
			continue
		}
		c := w.course(i)
		w.note(w.enough(ctx, c))
		w.courses[i] = c
		w.keepSoFar()
		w.beat.Tell(time.Now(), w.run.Scenarios, len(w.chosen))
	}
	w.settle(ctx)
	w.note(w.resolve(ctx))
	w.together()
	w.run.Hint, w.run.Scenarios = trial.Explain(w.run.Scenarios)
}

// dead tells whether the target of a scenario took no connection in any recording so far, or answered nearly
// all of them with nothing that is an admission or a denial, such as 404.
func (w *work) dead(i int) bool {
	refused, mute, heard := 0, 0, 0
	for j, c := range w.courses {
		if c == nil || w.chosen[j].Target.URL != w.chosen[i].Target.URL {
			continue
		}
		switch n := c.out.Counts; {
		case c.out.Timeline != nil && transport.CauseLasting(c.out.Timeline):
			refused++
		case n.Sent == 0: // it was not recorded
		case n.Unknown > 0 && n.Allowed+n.Denied == 0, c.out.Reason == result.UnclassifiedStatus:
			mute++
		default:
			heard++
		}
	}
	return refused > 0 && mute+heard == 0 || cli.Mute(mute, heard)
}

// note keeps an error, and prints it at once.
func (w *work) note(err error) {
	if err != nil {
		w.errs = append(w.errs, err)
		w.Say.Problem(err)
	}
}

// course begins one scenario.
func (w *work) course(i int) *course {
	s := w.chosen[i]
	label, begun := s.ID, 1
	var after []*scenario.Scenario
	for j, c := range w.courses {
		if c != nil {
			begun++
		} else if j != i {
			after = append(after, w.chosen[j])
		}
	}
	if len(w.chosen) > 1 {
		label = fmt.Sprintf("%d/%d %s", begun, len(w.chosen), s.ID)
	}
	return &course{s: s, t: trialOf{label: label, keys: w.run.ID,
		after: scenario.Lasting(after, true).Duration,
		text:  textOf(w.sources, s.File), dir: w.dir, flags: w.flags, red: w.red, beat: w.beat}}
}

// beside records the scenarios with these indices beside each other.
func (w *work) beside(ctx context.Context, places []int) {
	if len(places) == 0 {
		return
	}
	var all, after []*scenario.Scenario
	requests := 0
	for i, s := range w.chosen {
		if !slices.Contains(places, i) {
			after = append(after, s)
			continue
		}
		all = append(all, s)
		requests += s.Summary().Requests
	}
	label := fmt.Sprintf("%d of %s", len(all), text.Plural(len(w.chosen), "scenario"))
	lasts := scenario.Lasting(all, false).Duration
	bar := cli.NewBar(w.Env, w.beat, label, lasts, scenario.Lasting(after, true).Duration)
	sending, stop := context.WithCancel(ctx)
	defer stop()
	c := cli.NewCrowd(bar, requests, len(all), stop)
	courses, errs := make([]*course, len(all)), make([]error, len(all))
	trial.Beside(sending, all, func(i int, judging func() func()) {
		one := w.course(places[i])
		one.t.crowd, one.t.judging = c, judging
		one.out, errs[i] = recordOne(sending, w.Env, one.s, one.t)
		one.t.crowd, one.t.judging = nil, nil
		if stopped := sending.Err() != nil && ctx.Err() == nil; !stopped || one.out.Counts.Sent > 0 {
			courses[i] = one
		}
	})
	bar.Stop()
	w.note(errors.Join(errs...))
	for i, one := range courses {
		w.courses[places[i]] = one
	}
	w.keepSoFar()
}

// keepSoFar keeps the report of what is done already.
func (w *work) keepSoFar() {
	w.together()
	w.run.Interrupted, w.run.Duration = true, time.Since(w.run.Started) // until it is done
	w.note(w.dir.KeepSoFar(w.run, w.flags.strict))
}

// trialOf is what one scenario of a run needs beside itself.
type trialOf struct {
	label, keys string
	// after is how long the scenarios that follow take by their plans.
	after time.Duration
	text  []byte
	dir   *rundir.Dir
	flags runFlags
	red   trial.Redactor
	beat  *cli.Heartbeat
	// crowd and judging are those of a scenario that is recorded beside others; otherwise they are nil.
	crowd   *cli.Crowd
	judging func() (judged func())
}

// recordOne runs one scenario and keeps its files.
func recordOne(ctx context.Context, e *cli.Env, s *scenario.Scenario, t trialOf) (result.Scenario, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var bar *cli.Bar
	var planErr error
	kept := rundir.NewRecording(t.dir, s.ID, t.red)
	over := func() {}
	t.flags.page.begin(s, t.dir)
	out := trial.Scenario(ctx, s, trial.Options{
		ID: t.keys + "-" + s.ID, Seed: t.flags.seed, Version: e.Version, Allow: t.flags.Allow,
		Socket: t.flags.Request.UnixSocket,
		Redis:  t.flags.store(), Embed: embedTarget(t.flags.store()), Fleet: t.flags.sender(),
		Output:    e.Say.Err,
		WallError: t.flags.wallError, TLS: t.flags.TLS, Economical: t.flags.economical,
		PastCaches: t.flags.Request.PastCaches,
		Spill: rundir.SpillAlso(t.dir.Path, func(why error, to string) {
			e.Say.Notef("%s: it goes on in %s: %v", s.ID, to, why)
		}),
		Planned: func(plan *timeline.Schedule) {
			planErr = t.dir.KeepPlan(s.ID, t.text, plan)
			if _, lasts := plan.Planned(); t.crowd == nil {
				bar = cli.NewBar(e, t.beat, t.label, lasts, t.after)
			}
		},
		Journal: kept.Begin,
		Recorded: func(tl *timeline.Timeline) {
			over = kept.Recorded(tl)
			if t.crowd != nil {
				t.crowd.Over()
			}
		},
		Judging: t.judging,
		Progress: func(p load.Progress) {
			if t.crowd != nil {
				t.crowd.Update(s.ID, p)
			} else {
				bar.Update(t.label, p)
				if p.Unknown >= cli.LeastAnswers && p.Allowed+p.Denied == 0 {
					stop() // nothing can be judged
				}
			}
		},
	})
	bar.Stop()
	over()
	t.red.Scenario(&out)
	if out.Timeline != nil {
		out.TimelinePath = kept.Path
		kept.Settled(out.Timeline)
		out.Digest = kept.Digest
		rundir.Shorten(&out)
	}
	t.flags.page.judged(&out)
	if e.Verbose { // the report has it
		e.Say.Notef("%s: %s", s.ID,
			strings.TrimSpace(strings.ToUpper(out.Verdict.String())+" "+string(out.Reason)))
	}
	return out, errors.Join(planErr, errors.Join(kept.Errs...))
}

// newManifest says what a run was asked to do.
func newManifest(e *cli.Env, t time.Time, chosen []*scenario.Scenario, f runFlags,
	red trial.Redactor) *rundir.Manifest {
	command := append([]string{"rlcheck"}, withoutCurl(e.Args)...)
	set := slices.Concat(f.Set, f.Request.Judged())
	for _, s := range f.slo {
		set = append(set, "expect.slo."+s)
	}
	m := &rundir.Manifest{ID: rundir.ID(t), Version: e.Version, PID: os.Getpid(), Started: t.UTC(),
		Command: red.Words(command), Strict: f.strict, Target: red.Replace(f.Target), Limit: f.Limit,
		Partition: f.Partition, Set: red.Words(set)}
	m.Promises, _ = parsePromises(f.promise, f.strict) // they were parsed before
	for _, s := range chosen {
		m.Scenarios = append(m.Scenarios, rundir.Planned{ID: s.ID, File: s.File})
	}
	return m
}

// variablesOf returns the variables of the environment that the files of scenarios use, without secrets.
func variablesOf(e *cli.Env, of []*scenario.Scenario, in []scenarioSource, f runFlags,
	red trial.Redactor) map[string]string {
	opts, err := parseOptions(e, &f)
	if err != nil {
		return nil // it was parsed before
	}
	found := map[string]string{}
	usedBy(e, of, in, opts, func(name, v string) { found[name] = red.Replace(v) })
	for _, s := range of {
		for name, v := range found {
			if slices.Contains(s.Secrets, v) {
				found[name] = trial.Redacted // too short to be replaced in texts
			}
		}
	}
	return found
}

// usedBy calls found with each variable of the environment that the files of scenarios use.
func usedBy(e *cli.Env, of []*scenario.Scenario, in []scenarioSource, opts scenario.ParseOptions,
	found func(name, value string)) {
	opts.Env = func(name string) (string, bool) {
		v, set := e.Getenv(name)
		if set {
			found(name, v)
		}
		return v, set
	}
	for _, s := range of {
		_, _ = scenario.Parse(textOf(in, s.File), s.File, opts) // it was parsed before
	}
}

// embedTarget returns what starts the embedded target of a scenario. redis says where it keeps its state, as
// in lab.OpenStore.
func embedTarget(redis string) func(*scenario.Scenario, uint64, trial.Network) (trial.Embedded, error) {
	return func(s *scenario.Scenario, seed uint64, n trial.Network) (trial.Embedded, error) {
		return lab.Embed(s, seed, redis, n)
	}
}
