// Command rlcheck load-tests rate limiters and judges whether they keep the limit they declare.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// env is what a command may use of the world.
type env struct {
	args   []string
	in     io.Reader
	say    *speaker
	getenv func(string) (string, bool)
	// environ lists the variables as NAME=VALUE.
	environ func() []string
	// quiet and verbose are -q and -v; color and noProgress tell what is wanted of a terminal.
	quiet, verbose, noProgress bool
	color                      string
	// unspoken are the flags of the command that the environment gave, not the command line.
	unspoken map[string]bool
}

// run is the program: it returns the exit status and never exits.
func run(args []string, in io.Reader, out, errw io.Writer) int {
	// a reader that has gone is no reason to lose a recording: writes return EPIPE
	signal.Ignore(syscall.SIGPIPE)
	say := &speaker{out: out, err: errw}
	e := &env{args: args, in: in, say: say, getenv: os.LookupEnv, environ: os.Environ}
	root := newRootCmd(e)
	root.SetArgs(negativeLast(root, args))
	err := unknownCommand(root, args)
	if err == nil {
		err = root.Execute()
	}
	status := statusOf(err)
	var silent exitStatus
	if err != nil && !errors.As(err, &silent) {
		e.say.problem(err)
	}
	if f, ok := out.(*os.File); ok && nowhere(f) {
		e.say.notef("standard output is closed, or /dev/null: what belongs there was not shown")
	}
	if lost := e.say.lost(); lost != nil {
		e.say.problem(lost)
		status = afterTrouble(status)
	}
	return status
}

// interruptible returns a context that ends when the program is told to stop. A second signal ends the
// program at once. Commands that do not ask for it end at the first one.
func interruptible() (ctx context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop = signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// newRootCmd builds the command tree.
func newRootCmd(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "rlcheck",
		Short: "Load-test rate limiters and judge whether they keep the limit they declare",
		Long: `rlcheck sends load to an HTTP endpoint, records when each request could have been decided, and fails a
limiter only when no decision times, no order and no hidden phase can explain the recording.

Exit status: 0 all passed, 1 something failed, 2 nothing was judged, 3 something was inconclusive, 130 interrupted.`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // unknownCommand has its own, in one line
	}
	// The version flag is our own: cobra prints one through text/template, and then the linker keeps every
	// exported method.
	asked := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			e.printVersion()
			return nil
		}
		return cmd.Help()
	}
	root.SetIn(e.in)
	root.SetOut(e.say)
	root.SetErr(e.say.err)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVarP(&e.quiet, "quiet", "q", false, "print results only")
	flags.BoolVarP(&e.verbose, "verbose", "v", false, "print more of what is done")
	flags.StringVar(&e.color, "color", "auto", "colours: auto, always or never (NO_COLOR is honoured)")
	flags.BoolVar(&e.noProgress, "no-progress", false, "no progress bar")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return e.settle(cmd) }
	root.AddCommand(newRunCmd(e), newAgentCmd(e), newCheckCmd(e), newServeCmd(e), newProxyCmd(e),
		newReportCmd(e), newCompareCmd(e),
		newSimulateCmd(e), newLintCmd(e), newListCmd(e), newShowCmd(e), newInitCmd(e),
		newSchemaCmd(e), newIdentifyCmd(e),
		newExplainCmd(e), newRetryAfterCmd(e), newSelftestCmd(e), newManCmd(e), newVersionCmd(e))
	root.SetHelpCommand(newHelpCmd())
	root.InitDefaultHelpCmd()
	e.settleCompletion(root)
	return root
}

// settle applies RLCHECK_* variables to flags that were not given, and checks the global ones.
func (e *env) settle(cmd *cobra.Command) error {
	unspoken, bad := fromEnvironment(cmd, e.getenv)
	stray, misspelt := strayVariables(cmd.Root(), e.environ())
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) { // a shell asks
		misspelt, stray = nil, nil
	}
	if err := errors.Join(bad, misspelt); err != nil {
		return err
	}
	e.unspoken = unspoken
	for _, name := range stray {
		e.say.line(name + ": no flag has this variable: it changes nothing (--help lists the flags)")
	}
	switch e.color {
	case "auto", "always", "never":
		e.say.quiet = e.quiet
		return nil
	default:
		return usagef("--color %q: it is auto, always or never", e.color)
	}
}

// wantsColor tells whether the results go to a terminal that is to have colours.
func (e *env) wantsColor() bool {
	if e.color != "auto" {
		return e.color == "always"
	}
	if v, set := e.getenv("NO_COLOR"); set && v != "" {
		return false
	}
	if v, _ := e.getenv("TERM"); v == "dumb" {
		return false
	}
	_, width := terminal(e.say.out)
	return width > 0
}

// terminal returns the descriptor and the width of w if it is a terminal, width 0 otherwise.
func terminal(w io.Writer) (fd, width int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return int(f.Fd()), width
}
