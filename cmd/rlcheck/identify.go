package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// identifyFlags are the flags of `rlcheck identify` beside those that it shares with run.
type identifyFlags struct {
	runFlags
	most        string
	maxRequests int
	maxRate     string
	maxTime     time.Duration
	polite      bool
	clients     bool
	format      string
	log         logFlags
}

// probes is the scenario of which identify uses everything but the phases and the limit.
//
//go:embed identify.yaml
var probes []byte

func newIdentifyCmd(e *cli.Env) *cobra.Command {
	var f identifyFlags
	cmd := &cobra.Command{
		Use:  "identify URL|RECORDING|LOG",
		Args: cli.Needs(0, 1, "one URL, such as http://127.0.0.1:8080/, or one recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(f.Target) == 0 || len(args) == 1 && f.Target != "" {
				return cli.Usagef("identify: name one URL (write rlcheck identify http://127.0.0.1:8080/)")
			}
			if len(args) == 1 {
				if _, err := os.Stat(args[0]); err == nil {
					return identifyRecording(e, args[0], &f, cmd.Flags().Changed)
				}
			}
			if f.format != "" {
				return cli.Usagef("identify: --format %s needs an access log: name a file that exists",
					f.format)
			}
			for _, name := range onlyLogs {
				if cmd.Flags().Changed(name) && !e.Unspoken[name] && !(name == "cost" && f.log.each() > 0) {
					return cli.Usagef("--%s: the flag is for access logs, and a URL is none", name)
				}
			}
			if len(args) == 1 {
				f.Target = args[0]
			}
			if f.Target != "" && !strings.Contains(f.Target, "://") {
				return cli.Usagef("identify: %q: there is no such recording, and a URL begins with "+
					"http:// or https:// (write rlcheck identify http://127.0.0.1:8080/)", f.Target)
			}
			return identifyTarget(e, &f, cmd.Flags())
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.Target, "target", "t", "", "")
	fl.StringVar(&f.Partition, "partition", "none", "")
	f.Request.Add(fl)
	fl.StringSliceVar(&f.Request.denied, "denied", []string{"429", "503"}, "")
	fl.StringVar(&f.most, "budget", "", "")
	fl.IntVar(&f.maxRequests, "max-requests", 0, "")
	fl.StringVar(&f.maxRate, "max-rate", "", "")
	fl.DurationVar(&f.maxTime, "max-time", 5*time.Minute, "")
	for _, before := range []string{"max-requests", "max-time"} { // its members had names of their own
		fl.Lookup(before).Hidden = true
	}
	fl.BoolVar(&f.polite, "polite", false, "")
	fl.BoolVar(&f.clients, "clients", true, "")
	fl.StringVar(&f.format, "format", "", "")
	f.log.Add(cmd)
	fl.StringArrayVarP(&f.Outputs, "output", "o", nil, "")
	fl.StringVar(&f.Out, "run-dir", "", "")
	fl.StringSliceVar(&f.Allow, "allow-host", nil, "")
	return cmd
}

func identifyTarget(e *cli.Env, f *identifyFlags, fl *pflag.FlagSet) error {
	outs, err := cli.ParseOutput(f.Outputs, []string{"table", "json", "html"}, "table")
	if err != nil {
		return err
	}
	s, red, err := probeScenario(e, f)
	if err != nil {
		return err
	}
	budget, err := f.budget(s.Target.URL)
	if err != nil {
		return err
	}
	if !fl.Changed("polite") {
		loopback, _ := ownNetwork(s.Target.URL)
		f.polite = !loopback
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	if err := preflight(ctx, []*scenario.Scenario{s}, f.runFlags); err != nil {
		return err
	}
	about := identify.About{Target: red.Replace(trial.RedactURL(s.Target.URL)), Partition: f.Partition,
		Budget: budget}
	about.Again, about.Run = f.next(fl, about.Target, red)
	about.OwnRate = fl.Changed("max-rate")
	return probeTarget(ctx, e, s, outs, f, about, red)
}

// gentle is the budget for strangers, quick that for targets in a network of one's own.
var (
	gentle = identify.Budget{MaxRequests: 400, Every: 20 * time.Millisecond}
	quick  = identify.Budget{MaxRequests: 20_000, Every: 100 * time.Microsecond}
)

// budget reads the flags that bound what is sent to a URL.
func (f *identifyFlags) budget(target string) (identify.Budget, error) {
	b := gentle
	if _, private := ownNetwork(target); private {
		b = quick
	}
	said, err := scenario.ParseBudget(f.most)
	if err != nil {
		return b, cli.Usagef("--budget: %w", err)
	}
	f.maxRequests, f.maxTime = cmp.Or(said.Requests, f.maxRequests), cmp.Or(said.Time, f.maxTime)
	if b.MaxTime = f.maxTime; f.maxRate != "" {
		rate, err := spec.ParseRate(f.maxRate)
		if err != nil || rate.N < 1 {
			return b, cli.Usagef("--max-rate %q: a rate is N/PER (write 50/s)", f.maxRate)
		}
		b.Every = max(rate.Per/time.Duration(rate.N), 1)
	}
	if f.maxRequests != 0 {
		b.MaxRequests = f.maxRequests
	}
	switch {
	case b.MaxRequests < 10:
		return b, cli.Usagef("--budget requests=%d: the least is 10", f.maxRequests)
	case f.maxTime < time.Second:
		return b, cli.Usagef("--budget time=%s: the least is 1s", f.maxTime)
	}
	return b, nil
}

// thinkTime is the processor time of the judge after each phase.
const thinkTime = 10 * time.Second

func probeScenario(e *cli.Env, f *identifyFlags) (*scenario.Scenario, trial.Redactor, error) {
	f.Request.allowed = f.log.allowed
	opts, err := parseOptions(e, &f.runFlags)
	if err != nil {
		return nil, trial.Redactor{}, err
	}
	s, err := scenario.Parse(probes, "identify.yaml", opts)
	if err != nil {
		return nil, trial.Redactor{}, err
	}
	return s, trial.NewRedactor([]*scenario.Scenario{s}, opts.Set, ""), nil
}

// ownNetwork tells whether a URL names this machine, and whether it names this machine or a private address.
func ownNetwork(target string) (loopback, private bool) {
	u, err := url.Parse(target)
	if err != nil {
		return false, false
	}
	a, _ := netip.ParseAddr(u.Hostname()) // a name has no address
	loopback = u.Hostname() == "localhost" || a.IsLoopback()
	return loopback, loopback || a.IsPrivate()
}

// probeTarget sends requests, keeps the recording, and prints the answer.
func probeTarget(ctx context.Context, e *cli.Env, s *scenario.Scenario, outs []cli.Output,
	f *identifyFlags, about identify.About, red trial.Redactor) error {
	started := time.Now()
	m := newManifest(e, started, []*scenario.Scenario{s}, f.runFlags, red)
	opts, drift, stop, err := trial.Sending(ctx, s, trial.Options{ID: m.ID, Version: e.Version,
		Embed: embedTarget(""), Allow: f.Allow, Socket: f.Request.UnixSocket, TLS: f.TLS,
		PastCaches: f.Request.PastCaches})
	if err != nil {
		return err
	}
	defer stop()
	dir, _, err := rundir.New(f.Out, m)
	if err != nil {
		return err
	}
	defer dir.Close()
	live := &identify.Endpoint{Load: opts, DriftPPM: drift, Polite: f.polite, Partition: m.ID}
	if f.Partition == "none" {
		live.Load.Partition, live.Partition = load.Partition{}, ""
	}
	o := identify.Options{Budget: about.Budget, Think: thinkTime, Spent: transport.CPUTime, Alike: !f.clients,
		Cost:  f.log.each(),
		Fresh: live.Partition != "" && opts.Partition.Kind != "address"}
	e.Say.Notef("%s: at most %s, %s apart or more, within %s%s", about.Target,
		text.Plural(o.MaxRequests, "request"), o.Every, text.Short(o.MaxTime),
		map[bool]string{true: "; Retry-After is honoured"}[f.polite])
	o.OnPhase = func(p identify.Phase, tl *timeline.Timeline, left []string) {
		if e.Verbose {
			e.Say.Notef("%s: %s so far, left: %s", p.Name, text.Plural(len(tl.Observations), "request"),
				strings.Join(left, "; "))
		}
	}
	bar := cli.NewSearchBar(e, "identify", o.MaxRequests, o.MaxTime)
	live.Load.Progress = bar.Update
	res := identify.Identify(ctx, live, o)
	bar.Stop()
	red.Timeline(res.Timeline)
	if res.Clients != nil {
		red.Timeline(res.Clients.Timeline)
	}
	r := identified(s, res, m, started)
	r.Scenarios[0].TimelinePath = dir.Of(s.ID, rundir.TimelineName)
	about.Recording = r.Scenarios[0].TimelinePath
	whole := keepIdentified(e, dir, r, res)
	whole = cli.EmitEach(e, outs, func(w io.Writer, format string) error {
		return answerIn(e, w, format, r, res, about)
	}) && whole
	if _, next, _ := strings.Cut(res.Text(about), "  next: "); strings.Contains(next, trial.Redacted) {
		e.Say.Notef("in the next command, replace %s by your own value; a variable, such as -H 'NAME: "+
			"${KEY}', is kept as it is", trial.Redacted)
	}
	e.Say.Notef("kept in %s, after %s", dir.Path, text.Brief(time.Since(started)))
	return identifiedStatus(ctx.Err(), res.Verdict, whole)
}

// identifiedStatus returns the exit status of an answer. whole: all of it was kept.
func identifiedStatus(interrupted error, v identify.Verdict, whole bool) error {
	status := map[identify.Verdict]int{identify.Open: cli.ExitInconclusive, identify.None: cli.ExitFail}[v]
	if interrupted != nil {
		status = cli.ExitInterrupted
	}
	return cli.Ended(cli.ExitStatus(status), whole)
}

// identified returns the run that is kept: its recording, judged by the first limit that explains it.
func identified(s *scenario.Scenario, res *identify.Result, m *rundir.Manifest,
	started time.Time) *result.Run {
	s.Limit = nil
	if len(res.Found) > 0 {
		s.Limit = res.Found[0].Limit
		res.Timeline.Header.Judged = timeline.Terms{Limits: []timeline.PhaseLimit{{Limit: s.Limit.String()}}}
	} else {
		s.Expect.Conformance = scenario.NoConformance
	}
	if res.Verdict == identify.Identified { // the answer says how well it is known, which is enough
		s.Expect.Resolution = scenario.Resolution{}
	}
	for i := range s.Phases { // each is judged by its own limit
		s.Phases[i].Limit = s.Limit
	}
	out := result.Scenario{ID: s.ID, Title: res.Summary(), Kind: string(s.Kind), Source: s.Source,
		Target: trial.RedactURL(s.Target.URL), Limit: s.Limit, Answer: string(res.Verdict)}
	trial.Judge(&out, s, res.Timeline)
	if res.Verdict != identify.Identified {
		out.Verdict, out.Reason, out.Detail = result.Inconclusive, result.TooFew, res.Stopped
	}
	if res.Clients != nil {
		out.Claims = append(out.Claims, res.Clients.Claim())
	}
	out.Duration = res.Timeline.End()
	return &result.Run{ID: m.ID, Started: started, Duration: time.Since(started), Version: m.Version,
		Command: m.Command, Host: cli.ThisHost(), Scenarios: []result.Scenario{out}}
}

// keepIdentified keeps the recording and the report. It returns whether all was kept.
func keepIdentified(e *cli.Env, dir *rundir.Dir, r *result.Run, res *identify.Result) bool {
	err := dir.Keep(r.Scenarios[0].ID, rundir.TimelineName, func(w io.Writer) error {
		return timeline.Write(w, res.Timeline)
	})
	if err == nil && res.Clients != nil && len(res.Clients.Timeline.Observations) > 0 {
		err = dir.Keep("", identify.File, func(w io.Writer) error {
			return timeline.Write(w, res.Clients.Timeline)
		})
	}
	if err == nil {
		err = dir.KeepSoFar(r, false)
	}
	if err != nil {
		e.Say.Problem(err)
	}
	return err == nil
}

func answerIn(e *cli.Env, w io.Writer, format string, r *result.Run, res *identify.Result,
	about identify.About) error {
	var text []byte
	var err error
	switch format {
	case "html":
		return report.Write(w, format, r, cli.ReportOptions(e))
	case "json":
		text, err = res.JSON(about)
	default:
		text = []byte(wrapped(res.Text(about), cli.Terminal(e.Say.Out)))
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// wrapped breaks the lines of an answer at spaces if the terminal has a width, but not commands, which users
// paste.
func wrapped(s string, width int) string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if width == 0 || len(line) <= width || strings.HasPrefix(line, "  next: ") {
			out = append(out, line)
			continue
		}
		for i, part := range report.Wrap(line, max(width, leastWidth)-len(indent)-hanging) {
			if i > 0 {
				part = strings.Repeat(" ", hanging) + part
			}
			out = append(out, indent+part)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// leastWidth is the narrowest terminal that is laid out for. hanging is the indent of lines that continue
// another. Both are columns.
const leastWidth, hanging = 40, 4

// identifyRecording is `rlcheck identify RECORDING`: a timeline, or the folder of a run.
func identifyRecording(e *cli.Env, name string, f *identifyFlags, changed func(string) bool) error {
	outs, err := cli.ParseOutput(f.Outputs, []string{"table", "json"}, "table")
	if err != nil {
		return err
	}
	var all []*timeline.Timeline
	if f.format == "" {
		all, err = recordingsOf(e, name)
	} else {
		all, err = loggedIn(e, name, f, changed)
	}
	if err != nil {
		return err
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	fresh := true // as the recordings of run say of themselves
	for _, tl := range all {
		fresh = fresh && (len(tl.Header.Judged.Limits) > 0 || f.log.Complete) && tl.Header.CompleteFrom == 0
	}
	e.Say.Notef("%s: %s read, nothing is sent", name, text.Plural(len(all), "recording"))
	o := identify.Options{Fresh: fresh, Think: thinkTime, Spent: transport.CPUTime, Sharp: true}
	res := identify.Recorded(ctx, all, o)
	if f.format != "" && !changed("lag") && res.Verdict == identify.Open && res.Trip < time.Second {
		res.Under = underLess(ctx, e, name, f, changed, o)
	}
	about := identify.About{Recording: name}
	whole := cli.EmitEach(e, outs, func(w io.Writer, format string) error {
		return answerIn(e, w, format, nil, res, about)
	})
	return identifiedStatus(ctx.Err(), res.Verdict, whole)
}

// underLess says what a log shows if decisions lie nearer to the logged times than its format promises: under
// each smaller allowance that leaves a few limits. It is empty where none does.
func underLess(ctx context.Context, e *cli.Env, name string, f *identifyFlags, changed func(string) bool,
	o identify.Options) string {
	const few, longest = 3, time.Minute
	var out []string
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	quiet, less := *e, *f
	quiet.Say = &cli.Speaker{Out: io.Discard, Err: io.Discard, Quiet: true}
	for _, lag := range []time.Duration{5 * time.Millisecond, time.Millisecond} {
		less.log.Lag = lag
		given := func(flag string) bool { return flag == "lag" || changed(flag) }
		all, err := loggedIn(&quiet, name, &less, given)
		if err != nil {
			return ""
		}
		res := identify.Recorded(ctx, all, o)
		if n := len(res.Found) + len(res.Wide); ctx.Err() == nil && len(res.Found) > 0 && n <= few {
			out = append(out, fmt.Sprintf("with --lag %s: %s (%s)", lag, res.Found[0].Sentence(),
				res.Listed()))
		}
	}
	return strings.Join(out, "; ")
}

// recordingsOf reads a timeline file. Of the folder of a run, it reads the recordings with the most frequent
// limit.
func recordingsOf(e *cli.Env, name string) ([]*timeline.Timeline, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		unsaid := &checkFlags{Changed: func(string) bool { return false }} // or it would be read as a log
		tl, err := readTimeline(name)
		return []*timeline.Timeline{tl}, unsaid.OtherFormat(name, err)
	}
	r, err := rundir.Read(e, name)
	if err != nil {
		return nil, err
	}
	return oneLimit(r), nil
}

// oneLimit returns the recordings of a run that declare the most frequent limit.
func oneLimit(r *result.Run) []*timeline.Timeline {
	by, most := map[string][]*timeline.Timeline{}, ""
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; s.Timeline != nil {
			limit := s.Limit.String()
			if by[limit] = append(by[limit], s.Timeline); len(by[limit]) > len(by[most]) {
				most = limit
			}
		}
	}
	return by[most]
}

// loggedIn reads an access log for identify.
func loggedIn(e *cli.Env, name string, f *identifyFlags, changed func(string) bool) ([]*timeline.Timeline,
	error) {
	c := checkFlags{Format: f.format, denied: f.Request.denied, Log: f.log, Changed: changed, Typed: changed}
	if !slices.Contains(accesslog.Formats(), accesslog.Format(f.format)) {
		return nil, cli.Usagef("--format %q: the formats are %s", f.format, LogFormats())
	}
	if err := c.ReadDenied(); err != nil {
		return nil, err
	}
	file, err := openTimeline(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l, err := c.accessLog(e, []accesslog.File{{Name: name, In: file}}, nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if l.Lossy {
		return nil, cli.Usagef("%s: requests may be missing, so denials reveal no limit (write "+
			"--complete if none is missing)", name)
	}
	tl := &timeline.Timeline{Header: l.Header}
	return []*timeline.Timeline{tl}, l.Each(func(o *timeline.Observation) bool {
		tl.Observations = append(tl.Observations, *o)
		return true
	})
}

// shared are the flags that run has too. Its requests need them as those of identify did.
var shared = []string{"from-curl", "header", "method", "data", "host", "http2", "unix-socket", "proxy",
	"cacert", "cert", "key", "insecure", "past-caches", "allow-host", "cost"}

// own are further flags of identify that say how it asks.
var own = []string{"max-rate", "polite", "clients"}

// next returns the command that asks again, and one that runs scenarios with clients of a partition. They
// have the flags that were given, without the budget and the limit. Secrets are redacted. A variable that
// rlcheck reads is no secret.
func (f *identifyFlags) next(fl *pflag.FlagSet, target string, red trial.Redactor) (again string,
	run func(partition string) string) {
	url, flags, statuses := " "+text.ShellWord(target), "", ""
	for _, name := range []string{"allowed", "denied"} {
		if fl.Changed(name) {
			given := strings.Trim(fl.Lookup(name).Value.String(), "[]")
			statuses += " --" + name + " " + text.ShellWord(given)
		}
	}
	if f.Target == "" { // --from-curl names it
		url = ""
	}
	fl.Visit(func(x *pflag.Flag) {
		if slices.Contains(shared, x.Name) {
			flags += flagWords(x, red)
		}
	})
	again = "rlcheck identify" + url + flags
	fl.Visit(func(x *pflag.Flag) {
		if slices.Contains(own, x.Name) {
			again += flagWords(x, red)
		}
	})
	run = func(partition string) string {
		out := "rlcheck run builtin:"
		if url != "" {
			out += " -t" + url
		}
		return out + flags + " --partition " + text.ShellWord(partition) + statuses
	}
	if f.Partition != "none" {
		again += " --partition " + text.ShellWord(f.Partition)
	}
	return again + statuses, run
}

// flagWords prints a flag as it was given, by its short name if it has one.
func flagWords(x *pflag.Flag, red trial.Redactor) (out string) {
	for i, word := range red.Words(withoutCurl(given(x))) {
		if i%2 == 0 && x.Shorthand != "" {
			word = "-" + x.Shorthand
		}
		out += " " + text.ShellWord(word)
	}
	return out
}
