package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// judgeFile reads and judges a file or standard input.
// Several names are those of the files of one log.
func judgeFile(e *cli.Env, names []string, f *checkFlags) (*result.Judgement, timeline.Counts, error) {
	f.kept.found, f.kept.others = map[string]bool{}, map[string]bool{}
	if len(names) > 1 {
		files, shut, err := f.openAll(names)
		defer shut()
		if err != nil {
			return nil, timeline.Counts{}, err
		}
		return judgeLog(e, files, f)
	}
	in, name, shut, err := input(e, names[0])
	if err != nil {
		return nil, timeline.Counts{}, err
	}
	defer shut()
	if f.Format != "ndjson" && ours(in) {
		return nil, timeline.Counts{}, cli.Usagef("%s: the file is a recording of rlcheck, but --format "+
			"is %s (leave --format out)", name, f.Format)
	}
	if in, err = recordedLog(e, in, f); err != nil {
		return nil, timeline.Counts{}, err
	}
	open, err := f.opener()
	switch {
	case err != nil:
		return nil, timeline.Counts{}, err
	case open == nil:
		return judgeLog(e, []accesslog.File{{Name: name, In: in}}, f)
	default:
		return judgeTimeline(e, in, name, f, open)
	}
}

// opener opens a recording of one format.
type opener func(io.Reader, string, timeline.ReadOptions) *timeline.Reader

// opener returns what opens a recording in the format of --format. nil: it is that of an access log.
func (f *checkFlags) opener() (opener, error) {
	switch {
	case f.Format == "ndjson":
		return timeline.NewReader, nil
	case f.Format == "csv":
		return timeline.NewCSVReader, nil
	case slices.Contains(accesslog.Formats(), accesslog.Format(f.Format)):
		return nil, nil
	}
	return nil, cli.Usagef("--format %q: the formats are ndjson, csv, %s", f.Format, LogFormats())
}

// judgeTimeline judges a recording with the members of a timeline.
func judgeTimeline(e *cli.Env, in io.Reader, name string, f *checkFlags, open opener) (*result.Judgement,
	timeline.Counts, error) {
	if err := f.logOnly(); err != nil {
		return nil, timeline.Counts{}, err
	}
	outcome, err := f.outcome(timeline.StatusOutcome)
	if err != nil {
		return nil, timeline.Counts{}, err
	}
	opts := timeline.ReadOptions{Columns: f.Columns, Outcome: outcome}
	r := open(in, name, opts)
	h, err := r.Header()
	if err != nil {
		return nil, timeline.Counts{}, f.OtherFormat(name, err)
	}
	h.Tick = cmp.Or(h.Tick, f.tick)
	h.ClockError, h.DriftPPM = cmp.Or(h.ClockError, f.clockError), cmp.Or(h.DriftPPM, f.drift)
	j, counts, err := f.judge(e, name, h, func(take func(*timeline.Observation, int) bool) error {
		return r.Each(func(o *timeline.Observation, line int) bool {
			f.kept.ends = f.kept.ends || o.Done > 0
			result.DoubtCached(o, f.kept.caches.Gave)
			if !o.Answered && o.Outcome != timeline.Unknown {
				// The answer, and the decision, may have come after the last time in the file.
				o.Outcome = timeline.Unknown
				f.kept.timeless++
			}
			return take(o, line)
		})
	})
	if err == nil {
		if why := result.ForeignDetail(h.Notes); why != "" {
			j.Doubt(result.UnclassifiedStatus, why)
		}
		reopen := func(in io.Reader) *timeline.Reader { return open(in, name, opts) }
		_ = f.kept.Around(j, f.again(e, in, reopen))
		remarkTimeline(e, r, name, f)
	}
	return j, counts, f.OtherFormat(name, err)
}

// OtherFormat adds to the error of a file how to name its format, if nobody named one.
func (f *checkFlags) OtherFormat(name string, err error) error {
	var problems timeline.Errors
	if !errors.As(err, &problems) || f.Changed("format") {
		return err
	}
	if log := guessed(name); log != "" {
		return fmt.Errorf("%s: the file looks like an access log, not like a recording (write --format %s)",
			name, log)
	}
	if first := problems[0]; first.Line == 1 && errors.Is(first, timeline.ErrNotJSON) &&
		filepath.Ext(name) != ".ndjson" {
		return fmt.Errorf("%w\n%s was read as NDJSON; if it has another format, name it (--format csv, "+
			"nginx, haproxy and so on)", err, name)
	}
	return err
}

// remarkTimeline says what a recording lacks for the limits, and what was not read of it.
func remarkTimeline(e *cli.Env, r *timeline.Reader, name string, f *checkFlags) {
	if !f.kept.ends && slices.ContainsFunc(f.kept.judges.Limits(), spec.Limit.Completes) {
		remark(e, f, true, endless("no observation has done_ns", "done_ns in each line"))
	}
	if f.kept.timeless > 0 {
		remark(e, f, true, fmt.Sprintf("%s: %s have an outcome but no time of the answer "+
			"(first_byte_ns): they count as unknown, since they may have been decided at any time "+
			"after they were sent", name, text.Plural(f.kept.timeless, "request")))
	}
	if names := r.Ignored(); len(names) > 0 {
		remark(e, f, false, name+": ignored, since a timeline has no such member: "+strings.Join(names, ", "))
	}
}

// ours tells whether a file is a recording of rlcheck in NDJSON. It consumes nothing of a pipe.
func ours(in io.Reader) bool {
	file, ok := in.(*os.File)
	const begin = `{"rlcheck":"`
	buf := make([]byte, len(begin))
	if !ok {
		return false
	}
	n, _ := file.ReadAt(buf, 0) // a pipe has no places
	return string(buf[:n]) == begin
}

// guessed returns the format that a file seems to have. Empty: it is that of no access log, or not known.
func guessed(name string) accesslog.Format {
	file, err := os.Open(name)
	if err != nil { // standard input
		return ""
	}
	defer file.Close()
	begin := make([]byte, 64<<10)
	n, _ := io.ReadFull(file, begin) // short files end before
	return accesslog.Guess(begin[:n])
}

// judge judges a recording or a log while it is read. each yields its requests, with their lines.
func (f *checkFlags) judge(e *cli.Env, name string, h timeline.Header,
	each func(take func(o *timeline.Observation, line int) bool) error) (_ *result.Judgement,
	_ timeline.Counts, err error) {
	var garbage rundir.Garbage
	defer garbage.Over()
	if f.kept.judges, err = f.panel(h); err != nil {
		return nil, timeline.Counts{}, err
	}
	f.kept.header = h
	at := 0 // the line of the first observation that was refused
	err = each(func(o *timeline.Observation, line int) bool {
		garbage.Seen()
		if !f.wants(o.Partition) {
			_ = f.kept.judges.Beside(o) // Finish returns its error
			return true
		}
		f.kept.add(o)
		if f.kept.judges.Observe(o) != nil && at == 0 {
			at = line // Finish returns the error: what is wrong with the file itself comes first
		}
		return true
	})
	if err == nil {
		err = f.absent(name)
	}
	if err != nil {
		return nil, timeline.Counts{}, err
	}
	f.kept.header.Notes = result.NoteCaches(f.kept.header.Notes, f.kept.caches.Text())
	sayTerms(e, name, f, h.Judged)
	garbage.Judging()
	j, _, err := f.kept.judges.Finish()
	return j, f.kept.judges.Counts(), refused(name, at, err)
}

// again returns a second reading of a file, for requests that were not kept. nil: it can be read only once.
func (f *checkFlags) again(e *cli.Env, in io.Reader, open func(io.Reader) *timeline.Reader) rundir.Eacher {
	file, ok := in.(*os.File)
	if !ok || in == e.In {
		return nil
	}
	return func(take func(*timeline.Observation) bool) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		var counted headers.Caches // it is counted already
		return open(file).Each(func(o *timeline.Observation, _ int) bool {
			result.DoubtCached(o, counted.Gave)
			return !f.wants(o.Partition) || take(o)
		})
	}
}

// refused says at which line a recording became too large to be judged. line 0: no observation was refused.
func refused(name string, line int, err error) error {
	if line == 0 || !errors.Is(err, check.ErrTooLarge) {
		return err
	}
	what := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "check: "), ": "+check.ErrTooLarge.Error())
	return timeline.Errors{{File: name, Line: line, What: what, Why: check.ErrTooLarge.Error(),
		Mend: "times are in nanoseconds, costs in units; judge a shorter recording, or write the rate " +
			"over a shorter time", Err: err}}
}

// judgeLog judges an access log. It is read whole before, since its lines are in the order of their ends, and
// its own end is known only at the end.
func judgeLog(e *cli.Env, files []accesslog.File, f *checkFlags) (*result.Judgement, timeline.Counts, error) {
	limit, err := spec.Parse(f.Limit)
	if err != nil {
		return nil, timeline.Counts{}, err
	}
	l, err := f.accessLog(e, files, limit)
	if err != nil {
		return nil, timeline.Counts{}, err
	}
	defer l.Close()
	f.kept.untimed, f.kept.caches = true, l.Caches
	j, counts, err := f.judge(e, files[0].Name, l.Header,
		func(take func(*timeline.Observation, int) bool) error {
			return l.Each(func(o *timeline.Observation) bool { return take(o, o.Seq) })
		})
	if err == nil {
		if j.Verdict != result.Fail && l.Widest > longRequest && !f.Changed("decided-within") {
			remark(e, f, true, fmt.Sprintf("a request may have been decided at any time of up to %s that it "+
				"took, which hides much (if the limiter decides at its beginning, write "+
				"--decided-within 50ms)", l.Widest.Round(time.Millisecond)))
		}
		_ = f.kept.Around(j, l.Each) // a report without pictures says so
		if j.Verdict == result.Fail && !f.Changed("log-partition") {
			remark(e, f, true, "clients were told apart by address: if the limiter has another key, such as "+
				"X-Api-Key, the FAIL means nothing (name the key with --log-partition)")
		}
	}
	return j, counts, err
}

// longRequest is how long a request may take without hiding when it was decided.
const longRequest = 2 * time.Second

// endless says what cannot be shown if no answer has a known end, followed by a mend.
func endless(lack, mend string) string {
	return lack + ": the end of an answer is not recorded, so rlcheck cannot show that too many " +
		"requests were in flight, or that a charge was late (" + mend + " would record it)"
}

// wants tells whether a partition is to be judged.
func (f *checkFlags) wants(partition string) bool {
	if len(f.only) == 0 {
		return true
	}
	const mostOthers = 100
	if !slices.Contains(f.only, partition) {
		if len(f.kept.others) < mostOthers {
			f.kept.others[partition] = true
		}
		return false
	}
	f.kept.found[partition] = true
	return true
}

// input opens a recording, or standard input for -. It returns its name in messages. shut closes it.
func input(e *cli.Env, name string) (in io.Reader, as string, shut func(), err error) {
	if name == "-" {
		return e.In, "stdin", func() {}, nil
	}
	file, err := openTimeline(name)
	return file, name, func() { file.Close() }, err
}

func openTimeline(name string) (*os.File, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		for _, end := range []string{".part", cli.PackedEnd,
			cli.LongEnd} { // of a killed run, or compressed
			if other, err := os.Open(name + end); err == nil {
				return other, nil
			}
		}
		return nil, fmt.Errorf("%s: there is no such file%s", name, hintFile(name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read: %w", name, cli.Cause(err))
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // nothing was written
		file := filepath.Join(name, rundir.TimelineName)
		for _, folder := range []string{"*", ""} { // of a run of several scenarios, and of one
			if all, _ := filepath.Glob(filepath.Join(name, folder, rundir.TimelineName+"*")); len(all) > 0 {
				file = all[0]
			}
		}
		return nil, fmt.Errorf("%s: this is a folder, a recording is a file (write %s)", name, file)
	}
	return f, nil
}

// readTimeline reads a whole recording, NDJSON or CSV by its name.
func readTimeline(name string) (*timeline.Timeline, error) {
	file, err := openTimeline(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if filepath.Ext(name) == ".csv" {
		return timeline.ReadCSV(file, name, timeline.ReadOptions{})
	}
	return timeline.Read(file, name, timeline.ReadOptions{})
}

// recordedLog returns what `rlcheck check` reads of a file. For the journal of a killed run, it is a
// timeline.
func recordedLog(e *cli.Env, in io.Reader, f *checkFlags) (io.Reader, error) {
	file, is := in.(*os.File)
	if !is || !rundir.IsJournal(file) {
		return in, nil
	}
	tl, err := rundir.ReadRecording(file.Name())
	if err != nil {
		return nil, err
	}
	notes := tl.Header.Notes
	if tl.Sent() == 0 {
		return nil, fmt.Errorf("%s: the file has no observation: %s", file.Name(), notes[len(notes)-1])
	}
	remark(e, f, false, filepath.Base(file.Name())+": "+notes[len(notes)-1])
	trial.CutClock(tl)
	out, to := io.Pipe()
	go func() { to.CloseWithError(timeline.Write(to, tl)) }() // it ends with the program if nobody reads
	return out, nil
}
