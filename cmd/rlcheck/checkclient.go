package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// clientFlags are the flags of `rlcheck check --client`.
type clientFlags struct {
	on bool
	// backoff and breaker are as they were written.
	backoff, breaker string
	opts             claim.ClientOptions
}

// clientOnly are the flags that need --client. notForClients are those that --client excludes.
var (
	clientOnly    = []string{"max-attempts", "retry-budget", "same-request", "backoff", "breaker"}
	notForClients = []string{"limit", "conformance", "partition", "shared", "exact-burst", "burst-resolution",
		"rate-resolution", "tick", "drift-ppm", "complete", "lag", "log-format", "match", "max-duration",
		"log-partition", "skip-bad", "wall-error", "zone"}
)

func (f *clientFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "client", false, "")
	fl.StringVar(&f.opts.Same, "same-request", "", "")
	fl.IntVar(&f.opts.MaxAttempts, "max-attempts", 0, "")
	fl.IntVar(&f.opts.Budget, "retry-budget", 0, "")
	fl.StringVar(&f.backoff, "backoff", "", "")
	fl.StringVar(&f.breaker, "breaker", "", "")
}

// declared reads what clients say of their waits.
func (f *clientFlags) declared() (err error) {
	if f.backoff != "" {
		if f.opts.Backoff, err = claim.ParseBackoff(f.backoff); err != nil {
			return cli.Usagef("--backoff %w", err)
		}
	}
	if f.breaker != "" {
		if f.opts.Breaker, err = claim.ParseBreaker(f.breaker); err != nil {
			return cli.Usagef("--breaker %w", err)
		}
	}
	return nil
}

// alone refuses flags that need --client without it.
func (f *clientFlags) alone(typed func(string) bool) error {
	for _, name := range clientOnly {
		if typed(name) {
			return cli.Usagef("--%s: the flag needs --client (add --client)", name)
		}
	}
	return nil
}

func checkClients(e *cli.Env, name string, f checkFlags) error {
	for _, other := range notForClients {
		if f.Typed(other) {
			return cli.Usagef("--%s: the flag does not work with --client, which judges no limit", other)
		}
	}
	if o := f.clients.opts; o.MaxAttempts < 0 || o.Budget < 0 {
		return cli.Usagef("--max-attempts %d, --retry-budget %d: neither may be negative", o.MaxAttempts,
			o.Budget)
	}
	if err := f.clients.declared(); err != nil {
		return err
	}
	outs, err := cli.ParseOutput(f.outputs, checkFormats(), "text")
	if err != nil {
		return err
	}
	r := newRun(e)
	tl, err := readClients(e, name, f)
	if err != nil {
		return err
	}
	s := clientScenario(name, tl, &f)
	r.Scenarios, r.Duration = []result.Scenario{s}, time.Since(r.Started)
	j := *s.Judgement
	j.Claims = s.Claims
	whole := emitChecked(e, outs, r, &j, func(w io.Writer) { writeClients(w, &s) })
	return cli.Ended(cli.StatusFor(s.Verdict, false, ""), whole)
}

func readClients(e *cli.Env, name string, f checkFlags) (*timeline.Timeline, error) {
	in, name, shut, err := input(e, name)
	if err != nil {
		return nil, err
	}
	defer shut()
	read := timeline.Read
	switch f.Format {
	case "ndjson":
	case "csv":
		read = timeline.ReadCSV
	default:
		return nil, cli.Usagef("--format %q: --client needs the answers that clients got, which a log "+
			"does not have: ndjson or csv (record them with rlcheck serve --record FILE)", f.Format)
	}
	outcome, err := f.outcome(timeline.StatusOutcome)
	if err != nil {
		return nil, err
	}
	return read(in, name, timeline.ReadOptions{Columns: f.Columns, Outcome: outcome})
}

// clientScenario returns a recording of clients with the verdict on them.
func clientScenario(name string, tl *timeline.Timeline, f *checkFlags) result.Scenario {
	j, claims := claim.JudgeClients(tl, f.clients.opts)
	s := result.Scenario{ID: "stdin", Title: "Clients wait as they are told, spread out, and give up",
		Kind: result.Required, Verdict: j.Verdict, Reason: j.Reason, Detail: j.Detail, Claims: claims,
		Judgement: j, Answers: result.Answers{Counts: tl.Counts()}, Header: tl.Header, Timeline: tl,
		Duration: tl.End()}
	if name != "-" {
		s.ID, s.TimelinePath, s.Replay = filepath.Base(name), name, f.kept.replay
	}
	s.Clients = result.ClientsOf(tl)
	s.Header.Notes = append(s.Header.Notes, claim.ClientSummary(tl, f.clients.opts))
	return s
}

// writeClients prints the claims on clients as text.
func writeClients(w io.Writer, s *result.Scenario) {
	for _, c := range s.Claims {
		fmt.Fprintf(w, "%s  %s: %s\n", strings.ToUpper(c.Verdict.String()), c.ID, cli.Visible(c.Text))
		for _, f := range c.Findings {
			who := "all clients"
			if f.Partition != "" {
				who = cli.Visible(f.Partition)
			}
			fmt.Fprintf(w, "      %s: %s\n      %s\n", who, cli.Visible(f.Text), cli.Visible(f.Witness()))
		}
	}
	for i := range s.Judgement.Partitions {
		if p := &s.Judgement.Partitions[i]; p.Verdict == result.Inconclusive {
			fmt.Fprintf(w, "INCONCLUSIVE  %s: %s: %s\n", cli.Visible(p.Partition), p.Reason,
				cli.Visible(p.Detail))
		}
	}
	for _, note := range s.Header.Notes {
		fmt.Fprintln(w, cli.Visible(note))
	}
}
