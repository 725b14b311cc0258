package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

// flagGroups are the headings under which the help of a command with many flags lists them.
var flagGroups = []struct{ title, flags string }{
	{"Target", "target limit header method data host partition api-keys denied allowed cost cacert cert " +
		"key insecure http2 unix-socket proxy past-caches from-curl allow-host"},
	{"Load", "only skip set config allow-commands redis seed serial economical budget retries dry-run " +
		"max-rate polite clients"},
	{"Judging", "promise strict slo wall-error fail-on conformance shared exact-burst burst-resolution " +
		"rate-resolution tick clock-error drift-ppm only-partition"},
	{"Recordings and logs", "format columns log-format log-partition match max-duration zone skip-bad lag " +
		"decided-within would-deny complete"},
	{"Clients", "client max-attempts retry-budget same-request backoff breaker"},
	{"Output", "output run-dir compress live"},
	{"Agents", "agents"},
}

// mostUngrouped is the most flags that a help text lists without groups.
const mostUngrouped = 25

// groupFlags lets the usage of commands with many flags list them in groups, as wide as the terminal.
func groupFlags(e *cli.Env, root *cobra.Command) {
	plain := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		var b bytes.Buffer
		out := c.OutOrStderr()
		c.SetOut(&b)
		err := plain(c)
		c.SetOut(out)
		all, width := c.LocalFlags(), cli.Terminal(e.Say.Out)
		text := "Flags:\n" + trimmed(all.FlagUsagesWrapped(width))
		if strings.Count(all.FlagUsages(), "\n") > mostUngrouped {
			text = grouped(all, width)
		}
		text = strings.Replace(b.String(), "Flags:\n"+trimmed(all.FlagUsages()), text, 1)
		_, _ = io.WriteString(out, text) // the speaker keeps the error
		return err
	})
}

// grouped returns the usages of flags, by group. Flags of no group come last.
func grouped(all *pflag.FlagSet, width int) string {
	var out []string
	left := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.VisitAll(left.AddFlag)
	section := func(title string, names func(f *pflag.Flag) bool) {
		some := pflag.NewFlagSet("", pflag.ContinueOnError)
		left.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && names(f) {
				some.AddFlag(f)
			}
		})
		if some.HasFlags() {
			out = append(out, title+":\n"+trimmed(some.FlagUsagesWrapped(width)))
		}
	}
	known := ""
	for _, g := range flagGroups {
		known += " " + g.flags
		section(g.title, func(f *pflag.Flag) bool { return slices.Contains(strings.Fields(g.flags), f.Name) })
	}
	section("Other flags", func(f *pflag.Flag) bool {
		return !slices.Contains(strings.Fields(known), f.Name)
	})
	return strings.Join(out, "\n\n")
}

func trimmed(usages string) string { return strings.TrimRightFunc(usages, unicode.IsSpace) }
