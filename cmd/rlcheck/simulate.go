package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

type simulateFlags struct {
	selection
	limits, set, outputs []string
	from, beside         string
	answer               time.Duration
	seed                 uint64
	// read are the flags for reading a recording. Those of its limit are not used.
	read checkFlags
}

// simulationFormats are the formats of simulate, the usual one first.
var simulationFormats = []string{"table", "json", "html", "ndjson", "csv", "clients"}

func newSimulateCmd(e *cli.Env) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use: "simulate [SCENARIO|DIR|builtin:NAME...] [--limit SPEC]",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.read.Changed = cmd.Flags().Changed
			f.read.Typed = func(flag string) bool { return cmd.Flags().Changed(flag) && !e.Unspoken[flag] }
			if f.beside != "" {
				return simulateBeside(e, args, f)
			}
			return simulateAll(e, args, f)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.limits, "limit", nil, "")
	fl.StringVar(&f.from, "from", "", "")
	fl.StringVar(&f.beside, "beside", "", "")
	fl.StringArrayVarP(&f.outputs, "output", "o", nil, "")
	fl.StringArrayVar(&f.set, "set", nil, "")
	f.selection.add(fl)
	fl.Uint64Var(&f.seed, "seed", 1, "")
	fl.DurationVar(&f.answer, "answer", time.Millisecond, "")
	fl.StringVar(&f.read.Format, "format", "ndjson", "")
	fl.StringToStringVar(&f.read.Columns, "columns", nil, "")
	f.read.Log.AddReading(cmd)
	return cmd
}

// simulateAll is `rlcheck simulate`.
func simulateAll(e *cli.Env, args []string, f simulateFlags) error {
	outs, err := cli.ParseOutput(f.outputs, simulationFormats, "table")
	if err != nil {
		return err
	}
	switch {
	case f.answer <= 0:
		return cli.Usagef("--answer %s: an answer takes time", f.answer)
	case f.from != "" && len(args) > 0:
		return cli.Usagef("simulate: %q: with --from, no scenario can be named", args[0])
	case f.from == "" && len(f.limits) > 1:
		return cli.Usagef("--limit: a scenario has one limit (several limits need --from)")
	case f.from != "" && len(f.limits) == 0:
		return cli.Usagef("simulate: --limit is missing (write --limit token-bucket,rate=10/s,burst=20)")
	}
	r := newRun(e)
	if f.from != "" {
		r.Scenarios, err = simulateFile(e, f)
	} else {
		r.Scenarios, err = simulateScenarios(e, args, f)
	}
	if err != nil {
		return err
	}
	r.Duration = time.Since(r.Started)
	o := cli.ReportOptions(e)
	o.Simulated = true
	whole := cli.EmitEach(e, outs, func(w io.Writer, format string) error {
		if format == "table" {
			return report.WriteSimulation(w, r, o)
		}
		return report.Write(w, format, r, o)
	})
	return cli.Ended(nil, whole)
}

// simulateScenarios decides the requests of scenarios.
func simulateScenarios(e *cli.Env, args []string, f simulateFlags) (out []result.Scenario, err error) {
	if len(args) == 0 {
		return nil,
			cli.Usagef("simulate: name a scenario file, a folder or builtin:NAME, or a log with --from")
	}
	_, _, chosen, err := f.selection.read(e, args, &runFlags{Limit: strings.Join(f.limits, ""), Set: f.set})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, s := range chosen {
		if why := s.Unmet(); why != "" {
			e.Say.Line(s.ID + ": not simulated: " + why)
			continue
		}
		x, err := trial.Simulate(s, trial.Options{ID: "sim", Seed: f.seed, Version: e.Version}, f.answer)
		if err != nil {
			errs = append(errs, cli.Usagef("simulate %s: %w", s.ID, err))
			continue
		}
		out = append(out, x)
	}
	if len(out)+len(errs) == 0 {
		return nil, cli.Usagef("simulate: no scenario applies to this limit")
	}
	return out, errors.Join(errs...)
}

// simulateFile decides the requests of a file under each limit.
func simulateFile(e *cli.Env, f simulateFlags) (out []result.Scenario, err error) {
	var tries []*try
	for _, text := range f.limits {
		limit, err := spec.Parse(text)
		if err != nil {
			return nil, err
		}
		tries = append(tries, &try{limit: limit})
	}
	f.read.Limit = f.limits[0]
	h, err := eachRequest(e, &f, func(h timeline.Header, o *timeline.Observation) error {
		for _, t := range tries {
			if err := t.decide(h, o, f.answer); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range tries {
		s, err := t.scenario(fileOf(f.from), h)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// fileOf returns the name of the --from file in reports.
func fileOf(name string) string {
	if name == "-" {
		return "stdin"
	}
	return filepath.Base(name)
}

// try is one limit for the requests of a file.
type try struct {
	limit   spec.Limit
	limiter *reference.Simulation
	clients result.ClientTally
	counts  timeline.Counts
	kept    []timeline.Observation
}

// decide decides one request, whatever its recorded outcome.
func (t *try) decide(h timeline.Header, o *timeline.Observation, answer time.Duration) (err error) {
	if t.limiter == nil {
		if t.limiter, err = reference.NewSimulation(t.limit, h.Started, answer); err != nil {
			return cli.Usagef("--%w", err)
		}
	}
	d := t.limiter.Decide(o.Partition, o.Sent, max(o.Cost, 1))
	x := timeline.Observation{Arrival: o.Arrival, Sent: o.Sent, FirstByte: o.Sent + d.Delay + answer,
		Answered: true, Outcome: timeline.Denied, Status: 429}
	x.Seq, x.Cost, x.Done = t.counts.Sent, max(o.Cost, 1), x.FirstByte
	if d.Allow {
		x.Outcome, x.Status = timeline.Allowed, t.limit.Admission()
		if t.limit[0].Clears(o.Status) {
			x.Status = o.Status
			t.limiter.Clear(o.Partition)
		}
	}
	t.counts.Add(&x)
	t.clients.Add(&x)
	if len(t.kept) < rundir.MostInMemory {
		t.kept = append(t.kept, x)
	}
	return nil
}

// scenario returns what reports show of a try. Of a large file they show only the numbers.
func (t *try) scenario(name string, h timeline.Header) (result.Scenario, error) {
	h = timeline.Header{Started: h.Started, Notes: append(h.Notes, "simulated: the requests are those of "+
		name+", the answers those of a correct limiter")}
	if t.counts.Sent > len(t.kept) {
		return result.Scenario{ID: name, Limit: t.limit, Kind: result.Informative, Header: h,
			Answers: result.Answers{Counts: t.counts, Clients: t.clients.Clients()},
			Kept:    result.Kept{Excerpt: "too many requests to draw: " + text.Thousands(t.counts.Sent)}}, nil
	}
	slices.SortStableFunc(t.kept, timeline.BySent)
	return trial.Simulated(name, t.limit, &timeline.Timeline{Header: h, Observations: t.kept})
}

// eachRequest reads the requests of --from, in the order in which they were sent.
func eachRequest(e *cli.Env, f *simulateFlags,
	take func(timeline.Header, *timeline.Observation) error) (timeline.Header, error) {
	in, name, shut, err := input(e, f.from)
	if err != nil {
		return timeline.Header{}, err
	}
	defer shut()
	if in, err = recordedLog(e, in, &f.read); err != nil {
		return timeline.Header{}, err
	}
	open, err := f.read.opener()
	if err != nil {
		return timeline.Header{}, err
	}
	var stop error
	if open == nil {
		f.read.Log.Complete = true // what a log misses is not judged
		f.read.Log.WithoutCached = true
		l, err := f.read.accessLog(e, []accesslog.File{{Name: name, In: in}}, nil)
		if err != nil {
			return timeline.Header{}, err
		}
		defer l.Close()
		err = l.Each(func(o *timeline.Observation) bool {
			stop = take(l.Header, o)
			return stop == nil
		})
		return withoutCached(l.Header, l.Caches), errors.Join(err, stop)
	}
	var caches headers.Caches
	r := open(in, name, timeline.ReadOptions{Columns: f.read.Columns, Outcome: timeline.StatusOutcome})
	h, err := r.Header()
	if err == nil {
		err = r.Each(func(o *timeline.Observation, _ int) bool {
			if !o.Answered || !caches.Gave(o.Seq, o.Fields.Get) {
				stop = take(h, o)
			}
			return stop == nil
		})
	}
	return withoutCached(h, caches), errors.Join(f.read.OtherFormat(name, err), stop)
}

// withoutCached notes how many requests of a file a cache answered. A limiter behind the cache does not see
// them.
func withoutCached(h timeline.Header, c headers.Caches) timeline.Header {
	h.Notes = nil // the notes of the recording are on its answers
	if c.Hits > 0 {
		h.Notes = []string{fmt.Sprintf("%s: %d of %d (%s) left out: a limiter behind the cache does "+
			"not see such requests", result.FromCaches, c.Hits, c.Answers, c.First)}
	}
	return h
}

// simulateBeside is `rlcheck simulate --beside RUN`.
func simulateBeside(e *cli.Env, args []string, f simulateFlags) error {
	outs, err := cli.ParseOutput(f.outputs, report.BesideFormats(), "table")
	if err != nil {
		return err
	}
	switch {
	case f.from != "" || len(args) > 0:
		return cli.Usagef("--beside: the requests are those of the run: leave out scenarios and --from")
	case len(f.limits) > 1:
		return cli.Usagef("--limit: only one limit can be drawn beside a run")
	}
	for _, flag := range []string{"set", "seed", "answer", "format", "columns"} {
		if f.read.Changed(flag) {
			return cli.Usagef("--%s: the flag has no meaning with --beside: a run is as it was recorded",
				flag)
		}
	}
	r, err := readBeside(e, f.beside)
	if err != nil {
		return err
	}
	if err := f.choose(r); err != nil {
		return err
	}
	all, err := decideBeside(e, r, f.limits)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return cli.Usagef("--beside %s: none of its scenarios can be drawn", f.beside)
	}
	return cli.Ended(nil, cli.EmitEach(e, outs, func(w io.Writer, format string) error {
		return report.WriteBeside(w, format, all, cli.ReportOptions(e))
	}))
}

// decideBeside decides the requests of recorded scenarios, by the given limit or else by their own.
func decideBeside(e *cli.Env, r *result.Run, given []string) (all []report.Beside, err error) {
	for _, s := range r.Scenarios {
		limits, why := besideLimits(&s, given)
		if why != "" {
			e.Say.Notef("%s is left out: %s", s.ID, why)
			continue
		}
		right, err := reference.Beside(s.Timeline, limits)
		if err != nil {
			return nil, cli.Usagef("simulate %s: %w", s.ID, err)
		}
		if s.Limit, err = spec.Parse(limits[0].Limit); err != nil || len(limits) > 1 {
			s.Limit = nil // several
		}
		if len(given) > 0 {
			s.Judgement, s.Claims = nil, nil // by another limit
		}
		all = append(all, report.Beside{Scenario: s, Right: right})
	}
	return all, nil
}

// readBeside reads a kept run, or a recording alone.
func readBeside(e *cli.Env, name string) (*result.Run, error) {
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if !strings.HasSuffix(plain, ".ndjson") {
		return rundir.Read(e, name)
	}
	tl, err := readTimeline(name)
	if err != nil {
		return nil, err
	}
	return &result.Run{Scenarios: []result.Scenario{{ID: fileOf(name), Timeline: tl, Header: tl.Header,
		Answers: result.Answers{Counts: tl.Counts()}}}}, nil
}

// besideLimits returns the limits that count the requests of a recorded scenario: the declared limits, or
// --limit instead of all. why says what is missing.
func besideLimits(s *result.Scenario, given []string) (limits []timeline.PhaseLimit, why string) {
	switch declared := s.Timeline; {
	case declared != nil && s.Counts.Sent > rundir.MostInMemory &&
		len(declared.Observations) <= rundir.MostInMemory:
		return nil, fmt.Sprintf("it has over %s: only its recording can be read whole (write --beside %s)",
			text.Plural(rundir.MostInMemory, "request"), s.TimelinePath)
	case declared == nil || len(declared.Observations) == 0:
		return nil, "its recording is missing"
	case len(declared.Header.Judged.Limits) > 0:
		limits = declared.Header.Judged.Limits
	case len(given) == 0:
		return nil, "no limit judges its requests (write --limit SPEC)"
	}
	if len(given) == 0 {
		return limits, ""
	}
	return inPlaceOf(limits, given[0]), ""
}
