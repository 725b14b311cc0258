// Command rlcheck tests rate limiters: load, and proofs of what went wrong. This package turns flags into
// options, and results into an exit status. A command has a file of its own.
package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run runs the program. It returns the exit status and never exits.
func run(args []string, in io.Reader, out, errw io.Writer) int {
	// A reader that has left is no reason to lose a recording, so writes return EPIPE.
	signal.Ignore(syscall.SIGPIPE)
	say := &cli.Speaker{Out: out, Err: errw}
	e := &cli.Env{Args: args, In: in, Say: say, Getenv: os.LookupEnv, Environ: os.Environ, Version: version()}
	root := newRootCmd(e)
	root.SetArgs(negativeLast(root, args))
	err := unknownCommand(root, args)
	if err == nil {
		err = root.Execute()
	}
	var silent cli.ExitStatus
	if err != nil && !errors.As(err, &silent) {
		e.Say.Problem(err)
	}
	if f, ok := out.(*os.File); ok && cli.Nowhere(f) {
		e.Say.Notef("standard output is closed, or /dev/null: results were not shown")
	}
	if lost := e.Say.Lost(); lost != nil {
		e.Say.Problem(lost)
		err = cli.Ended(err, false)
	}
	return cli.StatusOf(err)
}

func newRootCmd(e *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:                "rlcheck",
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // unknownCommand has its own, in one line
	}
	// The version flag is our own. Cobra prints one through text/template, and then the linker keeps every
	// exported method.
	asked := root.Flags().Bool("version", false, "")
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
	flags.BoolVarP(&e.Quiet, "quiet", "q", false, "")
	flags.BoolVarP(&e.Verbose, "verbose", "v", false, "")
	flags.StringVar(&e.Color, "color", "auto", "")
	flags.BoolVar(&e.NoProgress, "no-progress", false, "")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return settle(e, cmd) }
	addCommands(root, "Test an endpoint:", newRunCmd(e), newIdentifyCmd(e), newCheckCmd(e))
	addCommands(root, "Look at results:", newReportCmd(e), newCompareCmd(e))
	addCommands(root, "Learn, and write scenarios:", newListCmd(e), newShowCmd(e), newExplainCmd(e),
		newSimulateCmd(e), newInitCmd(e), newLintCmd(e))
	addCommands(root, "Laboratory, and more machines:", newServeCmd(e), newProxyCmd(e), newSelftestCmd(e),
		newAgentCmd(e))
	root.AddCommand(newVersionCmd(e), newSchemaCmd(e), newRetryAfterCmd(e), newManCmd(e))
	settleHelp(root)
	explainCommands(root)
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

// negative matches a number below zero, which would be read as a flag.
var negative = regexp.MustCompile(`^-[.0-9]`)

// negativeLast allows a negative value of retry-after, as a broken target may send. It moves the value to the
// end, behind a --.
func negativeLast(root *cobra.Command, args []string) []string {
	i := slices.IndexFunc(args, negative.MatchString)
	if i < 0 || slices.Contains(args, "--") || firstWord(root, args) != "retry-after" {
		return args
	}
	return slices.Concat(args[:i], args[i+1:], []string{"--", args[i]})
}

func newVersionCmd(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:  "version",
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			printVersion(e)
			return nil
		},
	}
}

// What a release knows of itself and the linker wrote into it (-ldflags "-X main.release=v1 -X
// main.revision=COMMIT"). Both are empty if Go recorded them, or nobody did.
var release, revision string

// version returns the version of the release, or that of the module as the build recorded it.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// commit returns the commit that was built. Empty: it is not known.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return revision
}

// printVersion prints the version, the commit if it is known, the Go version and the platform.
func printVersion(e *cli.Env) {
	at := ""
	if c := commit(); c != "" {
		at = "commit " + c + ", "
	}
	e.Say.Resultf("rlcheck %s\n", version())
	e.Say.Resultf("%s%s %s/%s\n", at, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// settleHelp makes `rlcheck help` refuse an unknown command.
func settleHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // it is there now
	help.Use, help.Run = "help [COMMAND]", nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		if err := unknownCommand(root, args); err != nil {
			return err
		}
		about, _, err := root.Find(args)
		if err != nil {
			return err
		}
		about.InitDefaultHelpFlag()
		return about.Help()
	}
}

// settleCompletion makes `rlcheck completion` refuse an unknown shell, and tells the shells which words
// belong where. The words are made when a shell asks: every command starts here.
func settleCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if err := cli.Needs(1, 1, "bash, zsh, fish or powershell")(cmd, args); err != nil {
					return err
				}
				return cli.Usagef("completion %q: there is no such shell (write bash, zsh, fish or "+
					"powershell)", args[0])
			}
			c.Args = nil
		case "run", "lint", "list", "show", "simulate":
			c.ValidArgsFunction = completeScenarios
		}
		words := func() map[string][]string {
			return map[string][]string{"output": outputsOf(c.Name()), "color": {"auto", "always", "never"},
				"fault": faultNames(c.Name() == "proxy"), "promise": text.Words(result.Promises()),
				"fail-on": {"fail", "inconclusive"}, "conformance": {"exact", "upper-bound", "lower-bound"},
				"redis":  {"embedded", "redis://"},
				"format": append([]string{"ndjson", "csv"}, text.Words(accesslog.Formats())...)}
		}
		for _, flag := range strings.Fields("output color fault promise fail-on conformance redis format") {
			if c.Flags().Lookup(flag) != nil {
				by := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
					return words()[flag], cobra.ShellCompDirectiveNoFileComp
				}
				_ = c.RegisterFlagCompletionFunc(flag, by) // it is registered only once
			}
		}
	}
}

func outputsOf(command string) []string {
	switch command {
	case "check":
		return checkFormats()
	case "compare":
		return report.ComparisonFormats()
	case "simulate":
		return simulationFormats
	}
	return report.Formats()
}

// completeScenarios offers the bundled scenarios beside files and folders.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{builtinPrefix, builtinPrefix + coreName}
	for _, n := range append(builtinNames(), namedOnly()...) {
		names = append(names, builtinPrefix+n)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// faultNames lists the faults of the target, or of the proxy.
func faultNames(proxy bool) []string {
	names := []string{"list"}
	for _, f := range lab.Faults() {
		if f.Proxy == proxy {
			names = append(names, f.Name+"\t"+strings.TrimSuffix(f.Sentence, "."))
		}
	}
	return names
}
