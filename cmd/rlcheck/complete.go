package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/checkcmd"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/request"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/sources"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/target"
	"github.com/rlcheck/rlcheck/internal/verdict"
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
func settleCompletion(e *cli.Env, root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			shells := cli.Needs(1, 1, "bash, zsh, fish or powershell")
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if err := shells(cmd, args); err != nil {
					return err
				}
				return cli.Usagef("completion %q: there is no such shell (write bash, zsh, fish or "+
					"powershell)", args[0])
			}
			c.Args = nil
			for _, shell := range c.Commands() {
				if shell.Name() == "bash" {
					shell.RunE = func(cmd *cobra.Command, _ []string) error { return completionBash(e, cmd) }
				}
			}
		case "run", "lint", "list", "show", "simulate":
			c.ValidArgsFunction = completeScenarios
			if c.Name() == "list" {
				c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string,
					cobra.ShellCompDirective) {
					names, directive := completeScenarios(c, args, typed)
					return append(names, "presets\tthe products that --limit knows"), directive
				}
			}
		case "explain":
			c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string,
				cobra.ShellCompDirective) {
				return completeWord(e, args)
			}
		}
		completeFlag(c, "output", report.Formats())
		completeFlag(c, "color", []string{"auto", "always", "never"})
		completeFlag(c, "fault", faultNames(c.Name() == "proxy"))
		selectable := func(args []string) []string { return selectableWords(e, args) }
		promises := func([]string) []string { return request.WordsOf(verdict.Promises()) }
		completeFlagBy(c, "promise", completeList(promises))
		completeFlagBy(c, "only", completeList(selectable))
		completeFlagBy(c, "skip", completeList(selectable))
		completeFlagBy(c, "limit", completeSpec)
		completeFlagBy(c, "partition", completePartition)
		completeFlag(c, "fail-on", []string{"fail", "inconclusive"})
		completeFlag(c, "conformance", []string{"exact", "upper-bound", "lower-bound"})
		completeFlag(c, "redis", []string{"embedded", "redis://"})
		formats := []string{"ndjson", "csv"}
		for _, f := range accesslog.Formats() {
			formats = append(formats, string(f))
		}
		completeFlag(c, "format", formats)
	}
}

// completeFlag offers words for a flag, if the command has it.
func completeFlag(c *cobra.Command, flag string, words []string) {
	own := map[string][]string{"check": checkcmd.Formats(), "compare": report.ComparisonFormats(),
		"simulate": simulationFormats}[c.Name()]
	if own != nil && flag == "output" {
		words = own
	}
	completeFlagBy(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlagBy offers the result of a function for a flag, if the command has it.
func completeFlagBy(c *cobra.Command, flag string, by cobra.CompletionFunc) {
	if c.Flags().Lookup(flag) != nil {
		_ = c.RegisterFlagCompletionFunc(flag, by) // it is registered only once
	}
}

// completePartition offers the kinds of partition. The partitions of check are the names of a recording.
func completePartition(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	if c.Name() == "check" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"header:\ta header field, such as header:X-Api-Key",
		"cookie:\ta cookie, such as cookie:session",
		"body:\ta field of a JSON or form body, such as body:user",
		"query:\ta query parameter, such as query:key",
		"path\tthe path: each client has its own path", "address\tthe address of the client",
		"none\tall clients share one quota"}, noSpace
}

// completeScenarios offers the bundled scenarios beside files and folders.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{sources.BuiltinPrefix}
	for _, n := range append(sources.BuiltinNames(), sources.NamedOnly()...) {
		names = append(names, sources.BuiltinPrefix+n)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// faultNames lists the faults of the target, or of the proxy.
func faultNames(proxy bool) []string {
	names := []string{"list"}
	for _, f := range target.Faults() {
		if f.Proxy == proxy {
			names = append(names, f.Name+"\t"+strings.TrimSuffix(f.Sentence, "."))
		}
	}
	return names
}
