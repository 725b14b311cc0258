package main

import (
	"os"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// newManifest says what a run was asked to do.
func newManifest(e *cli.Env, t time.Time, chosen []*scenario.Scenario, f runFlags,
	red trial.Redactor) *rundir.Manifest {
	command := append([]string{"rlcheck"}, withoutCurl(e.Args)...)
	set := slices.Concat(f.Set, f.Request.Judged())
	for _, s := range f.slo {
		set = append(set, "expect.slo."+s)
	}
	m := &rundir.Manifest{ID: rundir.ID(t), Version: e.Version, PID: os.Getpid(),
		Started: t.UTC(), Command: red.Words(command), Strict: f.strict,
		Target: red.Replace(f.Target), Limit: f.Limit, Partition: f.Partition,
		Set: red.Words(set)}
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
	opts.Env = func(name string) (string, bool) {
		v, set := e.Getenv(name)
		if set {
			found[name] = red.Replace(v)
		}
		return v, set
	}
	for _, s := range of {
		_, _ = scenario.Parse(textOf(in, s.File), s.File, opts) // it was parsed before
	}
	for _, s := range of {
		for name, v := range found {
			if slices.Contains(s.Secrets, v) {
				found[name] = trial.Redacted // too short to be replaced in texts
			}
		}
	}
	return found
}
