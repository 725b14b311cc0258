package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamed returns the flags of a command that have another name now, old name to new. The old ones were
// mistaken for other flags: --key, --output, --allowed, and the --partition of run. They mean the same as
// before, also as variables.
func renamed(command string) map[string]string {
	all := map[string]string{"keys": "api-keys", "out": "run-dir", "allow": "allow-host",
		"partition-by": "log-partition"}
	if command == "check" { // its partition is not what identifies a client
		all["partition"] = "only-partition"
	}
	return all
}

// keepOldNames lets the flags of a command be written by their old names too.
func keepOldNames(c *cobra.Command) {
	now := map[string]string{}
	for old, name := range renamed(c.Name()) {
		if f := c.Flags().Lookup(name); f != nil {
			f.Usage += " (before: --" + old + ")"
			now[old] = name
		}
	}
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(now[name], name))
	})
}

// variables returns the environment variables of a flag, its own and that of its old name: --max-rate is
// RLCHECK_MAX_RATE.
func variables(command, flag string) []string {
	out := []string{variable(flag)}
	for old, name := range renamed(command) {
		if name == flag {
			out = append(out, variable(old))
		}
	}
	return out
}
