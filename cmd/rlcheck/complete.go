package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
)

func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := unknownCommand(cmd.Root(), args); err != nil {
				return err
			}
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string,
			cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				names = append(names, c.Name()+"\t"+c.Short)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// settleCompletion makes `rlcheck completion` refuse an unknown shell, and tells the shells which words
// belong where.
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
		for flag, words := range map[string][]string{"output": outputsOf(c.Name()),
			"color": {"auto", "always", "never"}, "fault": faultNames(c.Name() == "proxy"),
			"promise": wordsOf(result.Promises()), "fail-on": {"fail", "inconclusive"},
			"conformance": {"exact", "upper-bound", "lower-bound"}, "redis": {"embedded", "redis://"},
			"format": append([]string{"ndjson", "csv"}, wordsOf(accesslog.Formats())...)} {
			if c.Flags().Lookup(flag) != nil {
				by := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
				_ = c.RegisterFlagCompletionFunc(flag, by) // it is registered only once
			}
		}
	}
}

// outputsOf returns the formats of a command.
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
