package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

type checkFlags struct {
	Limit, Format, conformance string
	outputs                    []string
	Columns                    map[string]string
	// Denied are the statuses of denials. denied are they and the words of the limiter, as they are written.
	Denied             []int
	denied             []string
	shared, exactBurst bool
	burst, rate        float64
	tick, clockError   time.Duration
	drift              int64
	Log                logFlags
	clients            clientFlags
	// Changed tells whether a flag was given, also by the environment. Typed tells whether it was given by
	// hand.
	Changed, Typed func(flag string) bool
	// only names the partitions to judge. Empty: all.
	only []string
	// kept has what is found out while a recording is judged.
	kept keeper
	// replay returns the words of the command that judges a recording again.
	replay func(names []string) []string
}

func newCheckCmd(e *cli.Env) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:  "check TIMELINE... [--limit SPEC]",
		Args: cli.Needs(1, -1, "one or several timeline files, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Changed = cmd.Flags().Changed
			f.Typed = func(flag string) bool { return cmd.Flags().Changed(flag) && !e.Unspoken[flag] }
			f.replay = func(names []string) []string { return replayWords(cmd, names) }
			if err := f.ReadDenied(); err != nil {
				return err
			}
			if f.clients.on {
				if len(args) > 1 {
					return cli.Usagef("check: %q: --client judges one recording at a time", args[1])
				}
				return checkClients(e, args[0], f)
			}
			if err := f.clients.alone(f.Typed); err != nil {
				return err
			}
			return checkAll(e, args, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Limit, "limit", "", "")
	fl.StringArrayVarP(&f.outputs, "output", "o", nil, "")
	fl.StringVar(&f.Format, "format", "ndjson", "")
	fl.StringToStringVar(&f.Columns, "columns", nil, "")
	fl.StringSliceVar(&f.denied, "denied", []string{"429"}, "")
	fl.StringVar(&f.conformance, "conformance", "exact", "")
	fl.StringArrayVar(&f.only, "only-partition", nil, "")
	fl.BoolVar(&f.shared, "shared", false, "")
	fl.BoolVar(&f.exactBurst, "exact-burst", false, "")
	fl.Float64Var(&f.burst, "burst-resolution", 0, "")
	fl.Float64Var(&f.rate, "rate-resolution", 0, "")
	fl.DurationVar(&f.tick, "tick", 0, "")
	fl.DurationVar(&f.clockError, "clock-error", 0, "")
	fl.Int64Var(&f.drift, "drift-ppm", 0, "")
	f.Log.Add(cmd)
	f.clients.add(cmd)
	return cmd
}

// checkAll is `rlcheck check`.
func checkAll(e *cli.Env, names []string, f checkFlags) error {
	outs, err := cli.ParseOutput(f.outputs, checkFormats(), "text")
	if err != nil {
		return err
	}
	if err := f.sound(); err != nil {
		return err
	}
	kinds, isAny, err := spec.Any(f.Limit)
	if !isAny && f.Limit != "" {
		var limit spec.Limit
		limit, err = spec.Parse(f.Limit)                  // before anything is read
		if err == nil && strings.Contains(f.Limit, ":") { // the words of a product
			e.Say.Notef("--limit %s is %s", cli.Visible(f.Limit), limit)
		}
	}
	if err != nil {
		return err
	}
	f.kept.wanted = len(names) > 1 || slices.ContainsFunc(outs, cli.Output.Shows)
	f.kept.Whole = slices.ContainsFunc(outs, cli.Output.Whole)
	var all checked
	if isAny {
		all, err = checkAny(e, names, f, kinds)
	} else {
		all, err = judgeAll(e, names, f)
	}
	if err != nil {
		return err
	}
	whole := emitChecked(e, outs, all.run, all.run.Scenarios[0].Judgement, func(w io.Writer) {
		for i := range all.run.Scenarios {
			writeChecked(e, w, &all.run.Scenarios[i], all.judges[i], len(all.judges) > 1)
		}
		if all.run.Hint != nil {
			fmt.Fprintf(w, "perhaps: %s\n", all.run.Hint.Text)
		}
	})
	return cli.Ended(cli.StatusFor(all.worst, false, ""), whole)
}

// checked are judged recordings, one scenario each, and what judged them.
type checked struct {
	run    *result.Run
	judges []*check.Panel
	worst  result.Verdict
}

// newRun returns a run that begins now.
func newRun(e *cli.Env) *result.Run {
	now := time.Now()
	return &result.Run{ID: rundir.ID(now), Started: now, Version: e.Version, Host: cli.ThisHost(),
		Command: append([]string{"rlcheck"}, e.Args...)}
}

func judgeAll(e *cli.Env, names []string, f checkFlags) (checked, error) {
	r, worst := newRun(e), result.Pass
	groups := f.oneLog(names)
	several := len(groups) > 1
	all := make([]*check.Panel, len(groups))
	for i, group := range groups {
		one, name := f, group[0]
		j, counts, err := judgeFile(e, group, &one)
		if err != nil {
			return checked{}, err
		}
		one.kept.replay, all[i] = f.replay(group), one.kept.judges
		r.Scenarios = append(r.Scenarios, one.kept.scenario(name, one.kept.judges, j, counts))
		worst = result.Worst(worst, r.Scenarios[i].Verdict)
		if several {
			one.asJudged(&r.Scenarios[i], name)
		}
	}
	if several {
		r.Hint, r.Scenarios = trial.Explain(r.Scenarios)
	}
	r.Duration = time.Since(r.Started)
	return checked{r, all, worst}, nil
}

// checkAny judges the recordings by each kind of limit that any:RATE stands for. It returns the judgement of
// the first that explains all, or of the first that is not refuted. If each is refuted, it is that of the
// first, with the findings of all.
func checkAny(e *cli.Env, names []string, f checkFlags, kinds []spec.Limit) (checked, error) {
	var input []byte
	if slices.Contains(names, "-") {
		var err error
		if input, err = io.ReadAll(e.In); err != nil {
			return checked{}, err
		}
	}
	var open, first checked
	promise := f.Limit
	for _, kind := range kinds {
		if f.Limit = kind.String(); input != nil {
			e.In = bytes.NewReader(input)
		}
		one, err := judgeAll(e, names, f)
		switch {
		case err != nil:
			return checked{}, err
		case one.worst == result.Pass:
			e.Say.Notef("%s explains what --limit %s promises", f.Limit, cli.Visible(promise))
			return one, nil
		case one.worst == result.Inconclusive && open.run == nil:
			open = one
		case first.run == nil:
			first = one
		}
		if one.worst == result.Fail {
			first.refutedToo(one, f.Limit)
		}
	}
	if open.run != nil {
		return open, nil
	}
	e.Say.Notef("no kind of limit explains what --limit %s promises", cli.Visible(promise))
	return first, nil
}

// refutedToo adds the findings of the same recordings under another kind of limit.
func (c *checked) refutedToo(other checked, kind string) {
	for i := range other.run.Scenarios {
		mine, its := c.run.Scenarios[i].Judgement, other.run.Scenarios[i].Judgement
		for k := range its.Partitions {
			found := slices.Clone(its.Partitions[k].Findings)
			for n := range found {
				found[n].Text = "as " + kind + ": " + found[n].Text
			}
			p := &mine.Partitions[k]
			if mine != its {
				found = append(p.Findings, found...)
			}
			if p.Findings = found; len(found) > 0 {
				p.Verdict, p.Reason, p.Detail = result.Fail, "", ""
			}
		}
		mine.Hint, mine.Explanations = "", nil
	}
}

// asJudged gives one of several recordings its own id, and the terms by which it was judged, for the common
// hint.
func (f *checkFlags) asJudged(s *result.Scenario, name string) {
	s.ID = cli.Visible(name)
	if s.Timeline == nil || len(s.Limit) == 0 || f.Limit == "" {
		return
	}
	o, t := f.options(s.Header.Judged), &s.Timeline.Header.Judged
	if t.Conformance, t.Shared = string(o.Conformance), o.Shared; len(t.Limits) != 1 {
		*t = timeline.Terms{Conformance: t.Conformance, Shared: t.Shared, SingleUnits: t.SingleUnits,
			Limits: []timeline.PhaseLimit{{}}}
	}
	t.Limits = slices.Clone(t.Limits)
	t.Limits[0].Limit = f.Limit
}

// emitChecked writes judged recordings in every wanted format. A single one is j in JSON. It returns whether
// all was written.
func emitChecked(e *cli.Env, outs []cli.Output, r *result.Run, j *result.Judgement,
	asText func(io.Writer)) bool {
	return cli.EmitEach(e, outs, func(w io.Writer, format string) error {
		switch {
		case format == "text":
			asText(w)
			return nil
		case format == "json" && len(r.Scenarios) == 1:
			// The document has no place for the note.
			if note := result.CacheNote(r.Scenarios[0].Header.Notes); note != "" {
				e.Say.Line(note)
			}
			text, err := report.VerdictDocument(j)
			_, _ = w.Write(text) // in memory
			return err
		default:
			return report.Write(w, format, r, cli.ReportOptions(e))
		}
	})
}

// writeChecked prints a judged recording as text, under its name if there are several.
func writeChecked(e *cli.Env, w io.Writer, s *result.Scenario, judges *check.Panel, named bool) {
	if named {
		fmt.Fprintf(w, "%s:\n", s.ID)
	}
	if note := result.CacheNote(s.Header.Notes); note != "" {
		fmt.Fprintln(w, cli.Visible(note))
	}
	writeVerdict(e, w, s, judges)
	if named {
		fmt.Fprintln(w)
	}
}

// checkFormats returns the formats of run, and before them the format of check alone.
func checkFormats() []string { return append([]string{"text"}, report.Formats()...) }

// sound checks the words and numbers of the flags.
func (f *checkFlags) sound() error {
	if f.Limit == "" && f.Format != "ndjson" {
		return cli.Usagef("check: --limit is missing (write --limit token-bucket,rate=10/s,burst=20)")
	}
	switch result.Conformance(f.conformance) {
	case result.Exact, result.UpperBound, result.LowerBound:
	default:
		return cli.Usagef("--conformance %q: the values are exact, upper-bound and lower-bound",
			f.conformance)
	}
	switch {
	case f.tick < 0 || f.clockError < 0:
		return cli.Usagef("--tick %s, --clock-error %s: neither may be negative", f.tick, f.clockError)
	case f.drift < 0 || f.drift > timeline.MaxDriftPPM:
		return cli.Usagef("--drift-ppm %d: the value is 0 to %d, a tenth", f.drift, timeline.MaxDriftPPM)
	case !(f.burst >= 0 && f.burst <= 1) || !(f.rate >= 0 && f.rate <= 1): // also NaN
		return cli.Usagef("--burst-resolution %g, --rate-resolution %g: a share is 0 to 1, such as "+
			"0.02 for 2 %%", f.burst, f.rate)
	}
	return nil
}

// absent returns the error that no request has a partition that is to be judged. A verdict without it could
// be mistaken for one on it.
func (f *checkFlags) absent(name string) error {
	var errs []error
	for _, p := range f.only {
		if !f.kept.found[p] {
			known := slices.Sorted(maps.Keys(f.kept.others))
			hint := text.Suggest(p, known)
			if hint == "" && len(known) > 0 {
				hint = "it has " + excerpts(known)
			}
			errs = append(errs, cli.Usagef("--only-partition %s: %s has no request of this partition%s",
				cli.Visible(p), name, cli.Visible(cli.Mend(hint))))
		}
	}
	return errors.Join(errs...)
}

// few lists the first of some words.
func few(words []string) string {
	const most = 5
	if len(words) > most {
		words = append(slices.Clone(words[:most]), "...")
	}
	return strings.Join(words, ", ")
}

// excerpts lists the first names.
func excerpts(names []string) string {
	quoted := slices.Clone(names)
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return few(quoted)
}

// writeVerdict prints a judgement as text.
func writeVerdict(e *cli.Env, w io.Writer, s *result.Scenario, judges *check.Panel) {
	j, c := s.Judgement, s.Counts
	for _, line := range j.Lines(e.Verbose, worth(judges, j)) {
		fmt.Fprintln(w, cli.Visible(line))
	}
	if mend := report.RecordedMend(s, j.Reason); j.Verdict == result.Inconclusive && mend != "" {
		fmt.Fprintf(w, "mend: %s\n", mend)
	}
	for i := range s.Claims {
		if basis := s.Claims[i].Basis(); j.Verdict == result.Pass && basis != "" {
			fmt.Fprintf(w, "      %s\n", basis)
		}
	}
	fmt.Fprintf(w, "%s in %s: %s allowed, %s denied, %s unknown\n", text.Plural(c.Sent, "request"),
		text.Plural(len(j.Partitions), "partition"), text.Thousands(c.Allowed),
		text.Thousands(c.Denied), text.Thousands(c.Unknown))
}

// keeper collects from a recording, while it is judged, what reports show beside the verdict. Its memory is
// bounded. Of a large recording it keeps the requests around the first findings, and says so.
type keeper struct {
	// wanted: some report is wanted. untimed: intervals are wider than the requests took.
	wanted, untimed bool
	header          timeline.Header
	latencies       timeline.LatencyTally
	clients         result.ClientTally
	rundir.Kept
	// notes are the remarks on the recording. replay is the command that judges it again.
	notes, replay []string
	// judges are the limits that judge. They are set when the header has been read.
	judges *check.Panel
	// ends: the end of an answer was recorded.
	ends bool
	// timeless counts the outcomes without the time of an answer, caches the answers that a cache gave.
	timeless int
	caches   headers.Caches
	// found are those of the partitions to judge that were read. others are some that are not to be judged.
	found, others map[string]bool
}

// add takes the next observation.
func (k *keeper) add(o *timeline.Observation) {
	if !k.wanted {
		return
	}
	k.clients.Add(o)
	if !k.untimed {
		k.latencies.Add(o)
	}
	k.Keep(o)
}

// scenario returns what reports show of a judged recording.
func (k *keeper) scenario(name string, judges *check.Panel, j *result.Judgement,
	c timeline.Counts) result.Scenario {
	var one spec.Limit
	if limits := judges.Limits(); len(limits) == 1 {
		one = limits[0]
	}
	s := trial.Recording(one, worth(judges, j), j)
	s.ID, s.Counts, s.Header, s.Latency = "stdin", c, k.header, k.latencies.Summary()
	s.Clients = k.clients.Clients()
	if name != "-" { // a pipe cannot be judged again
		s.ID, s.TimelinePath, s.Replay = filepath.Base(name), name, k.replay
	}
	s.Header.Notes = append(slices.Clone(s.Header.Notes), k.notes...)
	if trial.BlameCache(&s); s.FromCache() && j.Verdict == result.Inconclusive {
		j.Reason, j.Detail = s.Reason, s.Detail
	}
	if k.N > 0 {
		s.Timeline = &timeline.Timeline{Header: k.header, Observations: k.Observations, Spool: k.Spool}
	}
	if why, _ := s.Coarse(); j.Unresolved && why != "" {
		s.Detail += "; " + why
	}
	s.Excerpt = k.Excerpt()
	return s
}

// remark says something about a recording, on standard error and in its reports. -q hides it from standard
// error unless must is true.
func remark(e *cli.Env, f *checkFlags, must bool, text string) {
	f.kept.notes = append(f.kept.notes, text)
	if must {
		e.Say.Line(text)
		return
	}
	e.Say.Notef("%s", text)
}

// replayWords returns the words of the command that judges a recording again: the flags that matter to the
// verdict, also those of the environment.
func replayWords(cmd *cobra.Command, names []string) []string {
	words := append([]string{"rlcheck", "check"}, names...)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "output" {
			words = append(words, given(f)...)
		}
	})
	return words
}

// given returns the words by which a flag is given, each value behind its name.
func given(f *pflag.Flag) (words []string) {
	name, value := "--"+f.Name, f.Value.String()
	switch list, many := f.Value.(pflag.SliceValue); {
	case many:
		for _, v := range list.GetSlice() {
			words = append(words, name, v)
		}
		return words
	case f.Value.Type() == "bool":
		return []string{strings.TrimSuffix(name+"="+value, "=true")}
	case f.Value.Type() == "stringToString":
		value = strings.Trim(value, "[]")
	}
	return []string{name, value}
}
