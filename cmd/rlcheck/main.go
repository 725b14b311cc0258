package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run runs the program. It returns the exit status and never exits.
func run(args []string, in io.Reader, out, errw io.Writer) int {
	// A reader that has left is no reason to lose a recording, so writes return EPIPE.
	signal.Ignore(syscall.SIGPIPE)
	say := &cli.Speaker{Out: out, Err: errw}
	e := &cli.Env{Args: args, In: in, Say: say, Getenv: os.LookupEnv, Environ: os.Environ,
		Version: version()}
	root := newRootCmd(e)
	root.SetArgs(negativeLast(root, args))
	err := unknownCommand(root, args)
	if err == nil {
		err = root.Execute()
	}
	status := cli.StatusOf(err)
	var silent cli.ExitStatus
	if err != nil && !errors.As(err, &silent) {
		e.Say.Problem(err)
	}
	if f, ok := out.(*os.File); ok && cli.Nowhere(f) {
		e.Say.Notef("standard output is closed, or /dev/null: results were not shown")
	}
	if lost := e.Say.Lost(); lost != nil {
		e.Say.Problem(lost)
		status = cli.AfterTrouble(status)
	}
	return status
}

// newRootCmd builds the command tree.
func newRootCmd(e *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "rlcheck",
		Short: "Load-test rate limiters and judge whether they keep the limit they declare",
		Long: `rlcheck sends load to an HTTP endpoint and records when each request could have been decided. It fails a
limiter only if no decision times, no order and no hidden start of windows explain the recording.

Exit status: 0 all passed, 1 something failed, 2 nothing was judged, 3 something was inconclusive,
130 interrupted.`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // unknownCommand has its own, in one line
	}
	// The version flag is our own. Cobra prints one through text/template, and then the linker keeps every
	// exported method.
	asked := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *asked {
			printVersion(e)
			return nil
		}
		return cmd.Help()
	}
	root.SetIn(e.In)
	root.SetOut(e.Say)
	root.SetErr(e.Say.Err)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVarP(&e.Quiet, "quiet", "q", false, "print only results")
	flags.BoolVarP(&e.Verbose, "verbose", "v", false, "print more details")
	flags.StringVar(&e.Color, "color", "auto", "colours: auto, always or never (NO_COLOR is honoured)")
	flags.BoolVar(&e.NoProgress, "no-progress", false, "no progress bar")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return settle(e, cmd) }
	addCommands(root, "Test an endpoint:", newRunCmd(e), newIdentifyCmd(e), newCheckCmd(e))
	addCommands(root, "Look at results:", newReportCmd(e), newCompareCmd(e))
	addCommands(root, "Learn, and write scenarios:", newListCmd(e), newShowCmd(e), newExplainCmd(e),
		newSimulateCmd(e), newInitCmd(e), newLintCmd(e))
	addCommands(root, "Laboratory, and more machines:", newServeCmd(e), newProxyCmd(e), newSelftestCmd(e),
		newAgentCmd(e))
	root.AddCommand(newVersionCmd(e), newSchemaCmd(e), newRetryAfterCmd(e), newManCmd(e))
	root.SetHelpCommand(newHelpCmd())
	root.InitDefaultHelpCmd()
	settleCompletion(root)
	groupFlags(e, root)
	for _, c := range root.Commands() {
		keepOldNames(c)
	}
	return root
}

// addCommands adds commands as a group of the help text.
func addCommands(root *cobra.Command, title string, all ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range all {
		c.GroupID = title
	}
	root.AddCommand(all...)
}

// settle applies RLCHECK_* variables to flags that were not given, and checks the global ones.
func settle(e *cli.Env, cmd *cobra.Command) error {
	unspoken, bad := fromEnvironment(cmd, e.Getenv)
	stray, misspelt := strayVariables(cmd.Root(), e.Environ())
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) { // a shell asks
		misspelt, stray = nil, nil
	}
	if err := errors.Join(bad, misspelt); err != nil {
		return err
	}
	e.Unspoken = unspoken
	for _, name := range stray {
		e.Say.Line(name + ": no flag has this variable, so it changes nothing (--help lists the flags)")
	}
	switch e.Color {
	case "auto", "always", "never":
		e.Say.Quiet = e.Quiet
		return nil
	default:
		return cli.Usagef("--color %q: the values are auto, always and never", e.Color)
	}
}
