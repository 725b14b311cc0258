package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

type serveFlags struct {
	// Options has what is served as it is given.
	lab.Options
	limit, addr, redis, partition string
	control, record, grpc         string
	dialect, rules                []string
}

func newServeCmd(e *cli.Env) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:  "serve --limit SPEC",
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if f.Fault == "list" {
				return listFaults(e, false)
			}
			return serveLimit(e, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.limit, "limit", "", "")
	fl.StringVar(&f.addr, "addr", "127.0.0.1:8080", "")
	fl.StringVar(&f.Fault, "fault", "", "")
	fl.StringVar(&f.PartitionHeader, "key", "X-Api-Key", "")
	fl.StringVar(&f.partition, "partition", "", "")
	fl.StringArrayVar(&f.rules, "rule", nil, "")
	fl.StringVar(&f.ClientHeader, "client-address", "", "")
	fl.StringVar(&f.control, "control", "", "")
	fl.StringVar(&f.record, "record", "", "")
	fl.StringVar(&f.RetryAfter, "retry-after", "seconds", "")
	fl.StringSliceVar(&f.dialect, "dialect", nil, "")
	fl.IntVar(&f.DenyStatus, "deny-status", http.StatusTooManyRequests, "")
	fl.StringVar((*string)(&f.DenyBody), "deny-body", "quota-exceeded", "")
	fl.StringVar(&f.grpc, "grpc", "", "")
	fl.DurationVar(&f.Tokens, "tokens", 0, "")
	fl.Lookup("tokens").NoOptDefVal = "2s"
	fl.Uint64Var(&f.Seed, "seed", 1, "")
	addStateFlags(fl, &f)
	return cmd
}

// addStateFlags adds the flags that say where the state is kept, and by which replicas.
func addStateFlags(fl *pflag.FlagSet, f *serveFlags) {
	fl.StringVar(&f.redis, "redis", "", "")
	fl.StringVar((*string)(&f.OnStoreError), "on-store-error", "error", "")
	fl.IntVar(&f.Replicas, "replicas", 1, "")
	fl.StringVar((*string)(&f.Counters), "counters", "shared", "")
	fl.DurationVar(&f.SyncEvery, "sync-every", time.Second, "")
	fl.StringVar((*string)(&f.Balance), "balance", "request", "")
}

// options returns the options of the target. The error says what is wrong with the rules.
func (f serveFlags) options(limit spec.Limit) (lab.Options, error) {
	o := f.Options
	o.Limit, o.OneForAll = limit, f.partition == string(scenario.ByNone)
	for _, d := range f.dialect {
		o.Dialect = append(o.Dialect, lab.Dialect(d))
	}
	var errs []error
	for _, text := range f.rules {
		u, err := lab.ParseRule(text)
		o.Rules, errs = append(o.Rules, u), append(errs, err)
	}
	return o, errors.Join(errs...)
}

func serveLimit(e *cli.Env, f serveFlags) error {
	if f.limit == "" {
		return cli.Usagef("serve: --limit is missing (write --limit token-bucket,rate=10/s,burst=20)")
	}
	if f.partition != "" && f.partition != string(scenario.ByNone) {
		return cli.Usagef("serve: --partition %q: the value is none, or leave the flag out (--key NAME "+
			"names the header field)", f.partition)
	}
	limit, err := spec.Parse(f.limit)
	if err != nil {
		return err
	}
	o, err := f.options(limit)
	if err != nil {
		return err
	}
	var once sync.Once
	o.StoreFailed = func(err error) {
		once.Do(func() {
			e.Say.Notef("the store does not answer (action for such requests: %s): %v", f.OnStoreError, err)
		})
	}
	if o.Store, err = lab.OpenStore(f.redis); err != nil {
		return err
	}
	fault, err := lab.FindFault(f.Fault, false)
	if err != nil {
		return cli.Usagef("--%w", err)
	}
	t, err := lab.New(o)
	if err != nil {
		return err
	}
	defer t.Close()
	if why := f.unshown(fault.Wants()); why != "" {
		e.Say.Notef("--fault %s: the fault will not show: %s", f.Fault, why)
	}
	var also []string
	if f.control != "" {
		c, err := lab.Listen(lab.NewControl(t), f.control)
		if err != nil {
			return fmt.Errorf("--control: %w", err)
		}
		defer closeSoon(c)
		also = append(also, c.URL())
	}
	h, err := f.spoken(t)
	if err != nil {
		return err
	}
	if f.record == "" {
		err = listen(e, h, f.addr, limit.String(), also...)
	} else {
		err = listenRecording(e, t, f, also...)
	}
	if n := t.StoreErrors(); n > 0 {
		e.Say.Notef("the store did not decide %d requests", n)
	}
	return err
}

// unshown says what the target lacks to show its fault, and how to get it. Empty: nothing.
func (f serveFlags) unshown(wants lab.Want) string {
	switch {
	case wants == lab.WantAddresses && f.ClientHeader == "":
		return "nothing tells the server the addresses of clients (add --client-address X-Forwarded-For)"
	case wants == lab.WantRule && len(f.rules) == 0:
		return "no request has a separate limit (add --rule '/login fixed-window,rate=5/1m')"
	case wants == lab.WantEvent && f.control == "",
		wants == lab.WantOutage && f.control == "" && f.redis == "":
		return "nothing happens to the target (add --control 127.0.0.1:8081)"
	case wants == lab.WantTokens && f.Tokens == 0:
		return "no answer tells what it cost (add --tokens)"
	case wants == lab.WantEmbedded:
		return fmt.Sprintf("only the target of a run has what the fault is about (rlcheck run builtin: "+
			"--set target.fault=%s)", f.Fault)
	}
	return ""
}

// spoken returns the handler of t, which answers calls of gRPC with --grpc.
func (f serveFlags) spoken(t *lab.Target) (http.Handler, error) {
	switch f.grpc {
	case "":
		return t, nil
	case "exhausted", "unavailable":
	default:
		return nil, cli.Usagef("--grpc %q: a denial is exhausted or unavailable", f.grpc)
	}
	if f.record != "" {
		return nil, cli.Usagef("--grpc: clients can be recorded only over HTTP/1.1 (leave out --record)")
	}
	if f.grpc == "unavailable" {
		return lab.GRPC(t, lab.GRPCUnavailable), nil
	}
	return lab.GRPC(t, lab.GRPCExhausted), nil
}

// listen serves h until the command is interrupted, which is its normal end. It prints the URL, and then the
// lines of also.
func listen(e *cli.Env, h http.Handler, addr, what string, also ...string) error {
	ctx, stop := cli.Interruptible()
	defer stop()
	s, err := lab.Listen(h, addr)
	if err != nil {
		return err
	}
	for _, line := range append([]string{s.URL()}, also...) {
		e.Say.Resultf("%s\n", line)
	}
	e.Say.Notef("serving %s; end with Ctrl-C", what)
	<-ctx.Done()
	return closeSoon(s)
}

// closeSoon closes a server, and waits two seconds for the requests in flight.
func closeSoon(s *lab.Server) error {
	end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return s.Close(end)
}

// listFaults prints every fault, or only those of the proxy, and the bundled scenarios that catch it.
func listFaults(e *cli.Env, proxyOnly bool) error {
	all, err := lab.AllScenarios(e.Getenv)
	if err != nil {
		return err
	}
	catches := lab.CaughtBy(all)
	for _, f := range lab.Faults() {
		if proxyOnly && !f.Proxy {
			continue
		}
		where := ""
		if f.Proxy && !proxyOnly {
			where = " (in the proxy)"
		}
		e.Say.Resultf("%s%s\n    %s\n    seen: %s\n", f.Name, where, f.Sentence, f.Citation)
		if by := catches[f.Name]; len(by) > 0 {
			only := strings.ReplaceAll(promisedOnly(f), "\n", "\n    ")
			e.Say.Resultf("    caught by: %s%s\n", strings.Join(by, ", "), only)
		}
	}
	return nil
}

type proxyFlags struct {
	upstream, addr, fault string
	strip, set, status    []string
	cache                 time.Duration
}

func newProxyCmd(e *cli.Env) *cobra.Command {
	var f proxyFlags
	cmd := &cobra.Command{
		Use:  "proxy --upstream URL",
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if f.fault == "list" {
				return listFaults(e, true)
			}
			return serveProxy(e, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.upstream, "upstream", "", "")
	fl.StringVar(&f.addr, "addr", "127.0.0.1:8081", "")
	fl.StringArrayVar(&f.strip, "strip", nil, "")
	fl.StringArrayVar(&f.set, "set", nil, "")
	fl.StringSliceVar(&f.status, "status", nil, "")
	fl.DurationVar(&f.cache, "cache", 0, "")
	fl.StringVar(&f.fault, "fault", "", "")
	return cmd
}

func serveProxy(e *cli.Env, f proxyFlags) error {
	if f.upstream == "" {
		return cli.Usagef("proxy: --upstream is missing (write --upstream http://127.0.0.1:8080/)")
	}
	up, err := url.Parse(f.upstream)
	if err != nil {
		return err
	}
	o := lab.ProxyOptions{Upstream: up, Strip: f.strip, Cache: f.cache,
		Set: map[string]string{}, Status: map[int]int{}}
	for _, s := range f.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return cli.Usagef("--set %q: write NAME=VALUE", s)
		}
		o.Set[name] = value
	}
	for _, s := range f.status {
		from, to, err := statusPair(s)
		if err != nil {
			return err
		}
		o.Status[from] = to
	}
	if _, err := lab.FindFault(f.fault, true); err != nil {
		return cli.Usagef("--%w", err)
	}
	h, err := lab.NewProxy(f.fault, o)
	if err != nil {
		return err
	}
	return listen(e, h, f.addr, "a proxy in front of "+trial.RedactURL(up.String()))
}

func statusPair(s string) (from, to int, err error) {
	a, b, ok := strings.Cut(s, "=")
	from, errA := strconv.Atoi(a)
	to, errB := strconv.Atoi(b)
	if !ok || errA != nil || errB != nil {
		return 0, 0, cli.Usagef("--status %q: write FROM=TO, as 429=503", s)
	}
	return from, to, nil
}

// listenRecording serves a target and records what its clients do. The file is whole at every moment. When
// the command ends, the end of the recording is written into the first line.
func listenRecording(e *cli.Env, t *lab.Target, f serveFlags, also ...string) error {
	file, err := os.Create(f.record)
	if err != nil {
		return fmt.Errorf("--record %s: not written: %w", f.record, cli.Cause(err))
	}
	r, err := lab.NewRecorder(t, file)
	if err == nil {
		e.Say.Notef("recording to %s", f.record)
		err = listen(e, r, f.addr, f.limit, also...)
		ended, broken := r.Close()
		if err = errors.Join(err, broken); broken == nil {
			err = errors.Join(err, endRecording(f.record, ended))
		}
	}
	return errors.Join(err, file.Close())
}

// endRecording writes the end of a recording into its header.
func endRecording(path string, ended time.Duration) error {
	tl, err := rundir.ReadRecording(path)
	if err != nil {
		return err
	}
	defer tl.Close()
	tl.Header.Ended = ended
	return cli.StreamFile(path, func(w io.Writer) error { return timeline.Write(w, tl) })
}
