package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for --zone, in a container that has nothing but the binary

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// logFlags are the flags of `rlcheck check` that only matter to access logs.
type logFlags struct {
	// Options has what is read as it is given. Its Denied and Allowed are the limiter's own words.
	accesslog.Options
	zone, cost                string
	match, allowed, wouldDeny []string
}

// Add adds the flags about judging a log, and those of AddReading.
func (f *logFlags) Add(cmd *cobra.Command) {
	f.AddReading(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.allowed, "allowed", nil, "")
	fl.StringArrayVar(&f.wouldDeny, "would-deny", nil, "")
	fl.StringVar(&f.cost, "cost", "", "")
	fl.DurationVar(&f.Within, "decided-within", 0, "")
	fl.DurationVar(&f.Lag, "lag", 0, "")
	fl.DurationVar(&f.WallError, "wall-error", 0, "")
	fl.BoolVar(&f.Complete, "complete", false, "")
}

// AddReading adds the flags that say which requests a log has.
func (f *logFlags) AddReading(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.Layout, "log-format", "", "")
	fl.StringVar(&f.PartitionBy, "log-partition", "address", "")
	fl.StringArrayVar(&f.match, "match", nil, "")
	fl.DurationVar(&f.MaxDuration, "max-duration", 0, "")
	fl.StringVar(&f.zone, "zone", "", "")
	fl.BoolVar(&f.SkipBad, "skip-bad", false, "")
}

// onlyLogs are the flags that only an access log uses.
var onlyLogs = []string{"log-format", "log-partition", "match", "max-duration", "lag", "wall-error", "zone",
	"skip-bad", "complete", "would-deny", "decided-within", "cost"}

// logOnly refuses a flag of logs that was given by hand with a recording, which does not use it.
func (f *checkFlags) logOnly() error {
	for _, name := range onlyLogs {
		// A flag that is set for all runs by the environment may be of no use here.
		if f.Typed(name) {
			return cli.Usagef("--%s: the flag is for access logs, but --format is %s (name the server: "+
				"--format nginx)", name, f.Format)
		}
	}
	if len(f.Log.Denied)+len(f.Log.Allowed) > 0 {
		return cli.Usagef("--denied, --allowed: FIELD=VALUE is for access logs, but --format is %s", f.Format)
	}
	return nil
}

// LogFormats lists the formats of access logs.
func LogFormats() string { return text.OneOf(text.Words(accesslog.Formats())) }

// ReadDenied reads --denied, --allowed and --would-deny. The limiter's own word takes the place of 429.
func (f *checkFlags) ReadDenied() error {
	var statuses []string
	for _, text := range append(slices.Clone(f.denied), f.Log.wouldDeny...) {
		if !strings.Contains(text, "=") {
			statuses = append(statuses, text)
			continue
		}
		m, err := accesslog.ParseMatch(text)
		if err != nil {
			return cli.Usagef("--denied: %w", err)
		}
		f.Log.Denied = append(f.Log.Denied, m)
	}
	if len(f.Log.Denied) > 0 && !f.Changed("denied") {
		statuses, f.Denied = nil, nil
	}
	set, err := accesslog.ParseStatuses(statuses)
	if err != nil {
		return cli.Usagef("--denied %s: a status has three digits", strings.Join(statuses, ","))
	}
	f.Denied = append(f.Denied, set...)
	return nil
}

// each returns what each request costs, 0 if --cost is no number.
func (f *logFlags) each() int64 {
	n, err := strconv.ParseInt(f.cost, 10, 32)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// logOptions returns what the flags say about reading a log.
func (f *checkFlags) logOptions() (accesslog.Options, error) {
	o := f.Log.Options
	o.Format, o.Columns = accesslog.Format(f.Format), f.Columns
	o.LagSet, o.WithinSet = f.Changed("lag"), f.Changed("decided-within")
	if o.Each = f.Log.each(); o.Each == 0 {
		o.Cost, o.CostUnit, _ = strings.Cut(f.Log.cost, "/")
	}
	if !f.Changed("log-partition") {
		o.PartitionBy = "" // as the format has it
	}
	if !f.Changed("wall-error") {
		o.WallError = accesslog.WallError(o.Format)
	}
	if f.Log.zone != "" {
		zone, err := time.LoadLocation(f.Log.zone)
		if err != nil {
			return o, cli.Usagef("--zone %q: there is no such time zone (write UTC or Europe/Berlin)",
				f.Log.zone)
		}
		o.Zone = zone
	}
	for _, text := range f.Log.match {
		m, err := accesslog.ParseMatch(text)
		if err != nil {
			return o, err
		}
		o.Match = append(o.Match, m)
	}
	var err error
	o.Outcome, err = f.outcome(accesslog.StatusOutcome)
	o.Allowed = f.Log.Allowed
	return o, err
}

// accessLog reads an access log, which may be in several files.
func (f *checkFlags) accessLog(e *cli.Env, files []accesslog.File, limit spec.Limit) (*accesslog.Log, error) {
	o, err := f.logOptions()
	if err != nil {
		return nil, err
	}
	l, err := readLog(files, o)
	if err != nil {
		return nil, err
	}
	if l.ZoneUnknown && !anyZone(limit) {
		l.Header.Started = time.Time{} // it is not known when a window of the clock begins
	}
	if l.Header.Tick = f.tick; !f.Changed("tick") {
		l.Header.Tick = time.Millisecond
	}
	l.Header.ClockError, l.Header.DriftPPM = f.clockError, f.drift
	f.shared = f.shared || l.Lossy
	if o.Cost != "" && l.Costs == 0 && l.Len() > 0 {
		return nil, cli.Usagef("--cost %s: no line has it as a number (name the field as the log does; "+
			"decimals need a unit: %s/0.01)", f.Log.cost, o.Cost)
	}
	if limit.Completes() && l.Whole == 0 {
		lack, mend := fmt.Sprintf("a log of %s does not say which answers were complete", f.Format),
			"a recording with done_ns"
		if o.Format == accesslog.Nginx || o.Format == accesslog.NginxJSON {
			lack, mend = "no line has $request_completion", "$request_completion in the log_format"
		}
		remark(e, f, true, endless(lack, mend))
	}
	logNotes(e, l, files, f)
	return l, nil
}

func readLog(files []accesslog.File, o accesslog.Options) (*accesslog.Log, error) {
	o.Spill = rundir.Spill
	l, err := accesslog.ReadAll(files, o)
	var problems timeline.Errors
	if !errors.As(err, &problems) || problems[0].Line != 1 {
		return l, err
	}
	if like := guessed(files[0].Name); like != "" && like != o.Format {
		return l, fmt.Errorf("%s: the file has the form of another log (write --format %s)", files[0].Name,
			like)
	}
	return l, err
}

// outcome returns the function from a status to its outcome. byItself says what a status means without flags.
func (f *checkFlags) outcome(byItself func(int) timeline.Outcome) (func(int) timeline.Outcome, error) {
	var statuses []string
	f.Log.Allowed = nil
	for _, text := range f.Log.allowed {
		if m, err := accesslog.ParseMatch(text); err == nil {
			f.Log.Allowed = append(f.Log.Allowed, m)
		} else {
			statuses = append(statuses, text)
		}
	}
	allowed, err := accesslog.ParseStatuses(statuses)
	if err != nil {
		return nil, cli.Usagef("--allowed: %w", err)
	}
	return func(status int) timeline.Outcome {
		o := byItself(status)
		switch {
		case slices.Contains(f.Denied, status):
			return timeline.Denied
		case slices.Contains(allowed, status):
			return timeline.Allowed
		case o == timeline.Denied || len(f.Log.allowed) > 0:
			return timeline.Unknown
		default:
			return o
		}
	}, nil
}

// anyZone tells whether the windows of a limit begin at the same instants in every time zone. Offsets of
// zones are multiples of a quarter of an hour.
func anyZone(limit spec.Limit) bool {
	return !slices.ContainsFunc(limit, func(p spec.Policy) bool {
		return p.Windowed() && 15*time.Minute%p.Rate.Per != 0
	})
}

// logNotes says which requests of a log are judged and which are not.
func logNotes(e *cli.Env, l *accesslog.Log, files []accesslog.File, f *checkFlags) {
	h := l.Header
	note := fmt.Sprintf("%s: %s: %s", files[0].Name, text.Plural(l.Lines, "line"),
		text.Plural(l.Len(), "request"))
	for _, part := range []struct {
		n    int
		text string
	}{{l.Foreign, "that are not requests"}, {l.Unmatched, "that do not match"},
		{l.Keyless, "without " + f.Log.PartitionBy}} {
		if part.n > 0 {
			note += fmt.Sprintf(", %d %s", part.n, part.text)
		}
	}
	if remark(e, f, false, note+" (#N is line N)"); len(files) > 1 {
		note, from := "one recording of "+text.Plural(len(files), "file"), 1
		for i, end := range l.Ends {
			note += fmt.Sprintf("; #%d to #%d are of %s", from, end, files[i].Name)
			from = end + 1
		}
		remark(e, f, false, note)
	}
	for _, text := range l.Flaws {
		remark(e, f, true, files[0].Name+": "+text)
	}
	if l.Copies > 0 {
		remark(e, f, true, fmt.Sprintf("line %d: %s equal to an earlier one to the byte, perhaps a copy: "+
			"unknown outcomes (log the id of each request, such as $request_id, to tell them apart)",
			l.FirstCopy, text.Plural(l.Copies, "line")))
	}
	if l.Respelled > 0 {
		remark(e, f, false, text.Plural(l.Respelled, "spelling")+" of addresses stand for a client that "+
			"has another one, or for its network")
	}
	if l.Headed > 0 {
		remark(e, f, false, text.Plural(l.Headed, "request")+" were decided before the header of their "+
			"answer was sent, as the log says (--decided-within 0 takes the whole time of the request)")
	}
	if l.Shadow > 0 {
		remark(e, f, false, "dry run: "+text.Plural(l.Shadow, "request")+" answered although "+
			"denied by the word of the limiter: judged as denied")
	}
	if l.Skipped > l.Edges { // not even -q hides it
		remark(e, f, true, fmt.Sprintf("skipped %s that cannot be read, the first of them line %d: %s: %s",
			text.Plural(l.Skipped, "line"), l.FirstSkipped.Line, l.FirstSkipped.What, l.FirstSkipped.Why))
	}
	if l.Doubtful > 0 {
		remark(e, f, false, text.Plural(l.Doubtful, "request")+
			": their path (//, /./, %2F) or host may match or not: they count as unknown")
	}
	if len(l.Absent) > 0 {
		remark(e, f, true, "--match: no line has the field "+strings.Join(l.Absent, ", "))
	}
	if statuses := unnamed(l); statuses != "" {
		remark(e, f, false, "some requests may have been admitted or denied: status "+statuses+
			" (name them with --allowed or --denied)")
	}
	switch {
	case f.Log.Complete && l.Lossy:
		remark(e, f, true, "requests may be missing all the same, so no denial is judged")
	case f.Log.Complete:
	case l.Lossy:
		remark(e, f, false, "requests may be missing, so no denial is judged (write --complete if none "+
			"is missing)")
	case h.CompleteUntil <= h.CompleteFrom:
		remark(e, f, false, "the log is too short to judge a denial: requests before its start, or "+
			"unfinished at its end, may explain every denial (write --complete if the limiter saw "+
			"nothing else)")
	}
}

// unnamed lists the statuses of answers that are neither admissions nor denials, the most frequent first.
func unnamed(l *accesslog.Log) string {
	counts := l.Unnamed
	statuses := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(statuses, func(a, b int) int { return counts[b] - counts[a] })
	var out []string
	for _, s := range statuses {
		out = append(out, fmt.Sprintf("%d (%d)", s, counts[s]))
	}
	return few(out)
}

// stamps are what rotations add to the name of a log: a number, or a date with or without a time.
var stamps = regexp.MustCompile(`([._-](` +
	`\d{4}-?\d{2}-?\d{2}([T_.-]?\d{2}[-:]?\d{2}([-:]?\d{2})?Z?)?|\d{1,3}))+$`)

// unrotated returns the name of a log without what a rotation added: a.log for a.log.2.gz and a-20261126.log.
func unrotated(name string) string {
	name = filepath.Clean(name)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	bare, isLog := strings.CutSuffix(name, ".log")
	if bare = stamps.ReplaceAllString(bare, ""); isLog {
		bare += ".log"
	}
	return bare
}

// oneLog groups the files of each log: those of one name but for its rotations, and all parts of a log that
// is delivered in parts. Recordings are groups of one.
func (f *checkFlags) oneLog(names []string) [][]string {
	var groups [][]string
	format := accesslog.Format(f.Format)
	for _, name := range names {
		same := func(group []string) bool {
			return name != "-" && group[0] != "-" && slices.Contains(accesslog.Formats(), format) &&
				(unrotated(group[0]) == unrotated(name) || accesslog.InParts(format))
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			if !slices.Contains(groups[i], name) {
				groups[i] = append(groups[i], name)
			}
		} else {
			groups = append(groups, []string{name})
		}
	}
	return groups
}

// openAll opens the files of one log in the order of their first requests. shut closes them.
func (f *checkFlags) openAll(names []string) (files []accesslog.File, shut func(), err error) {
	var closers []func() error
	shut = func() {
		for _, c := range closers {
			_ = c() // nothing was written
		}
	}
	o, err := f.logOptions()
	if err != nil {
		return nil, shut, err
	}
	o.SkipBad, o.Match = true, nil
	began := map[string]int64{}
	for _, name := range names {
		file, err := openTimeline(name)
		if err != nil {
			return nil, shut, err
		}
		closers = append(closers, file.Close)
		began[name], _ = accesslog.Began(file, o)
		if _, err := file.Seek(0, 0); err != nil {
			return nil, shut, err
		}
		files = append(files, accesslog.File{Name: name, In: file})
	}
	slices.SortStableFunc(files, func(a, b accesslog.File) int {
		return cmp.Compare(began[a.Name], began[b.Name])
	})
	return files, shut, nil
}
