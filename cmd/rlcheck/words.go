package main

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

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
		Use:   "version",
		Short: "Print the version",
		Args:  cli.NoArguments,
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
