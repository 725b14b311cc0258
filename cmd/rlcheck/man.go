package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

// newManCmd is the old form of `rlcheck explain --man DIR`.
func newManCmd(_ *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Args:   cli.Needs(1, 1, "the folder to write to"),
		RunE:   func(cmd *cobra.Command, args []string) error { return writeManuals(cmd.Root(), args[0]) },
	}
}

// writeManuals writes the pages of all commands into a folder.
func writeManuals(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeManual(root, dir)
}

// writeManual writes a page for a command and each command below it.
func writeManual(c *cobra.Command, dir string) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manualPage(c, name)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := writeManual(sub, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// manualPage returns the page of one command, as man(7) reads it.
func manualPage(c *cobra.Command, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"rlcheck %s\" \"rlcheck\"\n", strings.ToUpper(name), version())
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n%s\n", title, strings.TrimRight(text, "\n"))
		}
	}
	section("NAME", roff(name)+` \- `+roff(c.Short))
	section("SYNOPSIS", `.B `+roff(c.UseLine()))
	section("DESCRIPTION", strings.ReplaceAll(roff(c.Long), "\n\n", "\n.PP\n"))
	section("OPTIONS", manualFlags(c.NonInheritedFlags())+manualFlags(c.InheritedFlags()))
	if c.Example != "" {
		section("EXAMPLES", ".nf\n"+roff(c.Example)+"\n.fi")
	}
	also := ""
	for _, other := range append(c.Commands(), c.Parent()) {
		if other != nil && (other.IsAvailableCommand() || other == c.Parent()) {
			also += ".BR " + roff(strings.ReplaceAll(other.CommandPath(), " ", "-")) + " (1)\n"
		}
	}
	section("SEE ALSO", also)
	return b.String()
}

func manualFlags(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		kind, usage := pflag.UnquoteUsage(f)
		short := ""
		if f.Shorthand != "" {
			short = `\-` + f.Shorthand + ", "
		}
		fmt.Fprintf(&b, ".TP\n.B %s%s\n%s\n", short, roff(strings.TrimRight("--"+f.Name+" "+kind, " ")),
			roff(usage))
	})
	return b.String()
}

// roff escapes a text: a backslash, a dash, and a dot or an apostrophe at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	return strings.NewReplacer("\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
}
