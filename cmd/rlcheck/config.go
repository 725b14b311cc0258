package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
)

// configure fills in what a configuration says and neither a flag nor a variable does. It returns the
// scenarios.
func configure(e *cli.Env, cmd *cobra.Command, args []string, f *runFlags) ([]string, error) {
	c, name, err := readConfig(e, f.config)
	if err != nil {
		return nil, err
	}
	var used []string
	use := func(flag string, values ...string) {
		if len(values) == 0 || values[0] == "" || cmd.Flags().Changed(flag) {
			return
		}
		used = append(used, flag)
		for _, v := range values {
			err = errors.Join(err, cmd.Flags().Set(flag, v))
		}
	}
	f.filed = c.Target != "" && !cmd.Flags().Changed("target")
	if f.config == "" {
		if err := stays(name, c); err != nil {
			return nil, err
		}
	}
	if f.Request.Curl == "" { // its URL is the one on the command line
		use("target", c.Target)
	}
	use("limit", c.Limit)
	use("partition", c.Partition)
	use("api-keys", c.Keys)
	use("promise", text.Words(c.Promises)...)
	use("only", c.Only...)
	use("skip", c.Skip...)
	use("slo", c.SLO...)
	use("output", c.Outputs...)
	use("fail-on", c.FailOn)
	for _, s := range c.Header {
		if why := notSent[strings.ToLower(s.Field)]; why != "" {
			err = errors.Join(err, cli.Usagef("%s: header %q: %s", s.Flag, s.Field, why))
		}
		s.Secret = s.Secret || secretField(s.Field, "")
		f.Request.Config = append(f.Request.Config, s)
	}
	if len(c.Header) > 0 {
		used = append(used, "header")
	}
	if len(args) == 0 && len(c.Scenarios) > 0 {
		args, used = c.Scenarios, append(used, "scenarios")
		f.unnamed = f.config == ""
	}
	if len(used) == 0 {
		used = []string{"nothing beyond the defaults"}
	}
	if name != "" {
		e.Say.Notef("%s was read: it says %s", name, strings.Join(used, ", "))
	}
	if len(args) == 0 && err == nil {
		const what = "a scenario file, a folder or builtin:NAME (rlcheck list shows the bundled ones)"
		err = cli.Needs(1, -1, what)(cmd, args)
	}
	return args, err
}

// readConfig reads the configuration of --config, or that of the working folder. If there is none, it returns
// an empty one with an empty name.
func readConfig(e *cli.Env, path string) (*scenario.Config, string, error) {
	name := path
	switch path {
	case "":
		name = configName
	case os.DevNull: // the usual way to read no file
		return &scenario.Config{}, "", nil
	}
	text, err := scenario.ReadFile(name)
	switch {
	case path == "" && errors.Is(err, fs.ErrNotExist):
		return &scenario.Config{}, "", nil
	case errors.Is(err, os.ErrNotExist):
		return nil, "", cli.Usagef("--config %s: there is no such file%s", name, hintFile(name))
	case err != nil:
		return nil, "", err
	}
	c, err := scenario.ParseConfig(text, name, e.Getenv)
	if err != nil {
		return nil, "", err
	}
	return c, name, nil
}

// stays refuses files that a configuration which nobody named writes or reads outside of its folder.
func stays(name string, c *scenario.Config) error {
	var errs []error
	refuse := func(key, path, flag string) {
		if path != "" && !below(path) {
			errs = append(errs, cli.Usagef("%s: %s: %q is outside of the folder (name it with %s, or the "+
				"configuration with --config)", name, key, path, flag))
		}
	}
	for _, o := range c.Outputs {
		_, path, _ := strings.Cut(o, "=")
		refuse("outputs", path, "-o")
	}
	refuse("keys", c.Keys, "--api-keys")
	return errors.Join(errs...)
}

// below tells whether a path is below the working folder, with no symbolic link on the way.
func below(path string) bool {
	if !filepath.IsLocal(path) {
		return false
	}
	for p := filepath.Clean(path); p != "."; p = filepath.Dir(p) {
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return false
		}
	}
	return true
}

// unasked refuses commands of scenarios that only a configuration names which nobody named: it may be that of
// somebody else's folder. Commands that the user wrote in --set are asked for.
func unasked(f *runFlags, chosen []*scenario.Scenario) error {
	if !f.unnamed || f.commands || f.dryRun {
		return nil
	}
	var errs []error
	for _, s := range chosen {
		for i := range s.Phases {
			p := &s.Phases[i]
			said := func(set string) bool { return strings.Contains(set, p.Event.Command) }
			if p.Event.Command != "" && !slices.ContainsFunc(f.Set, said) {
				errs = append(errs, cli.Usagef("%s: phase %s would run %q on this machine, and only %s "+
					"names the scenario (name %s on the command line, or add --allow-commands)", s.ID, p.Name,
					p.Event.Command, configName, s.File))
			}
		}
	}
	return errors.Join(errs...)
}
