package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

func newLintCmd(e *cli.Env) *cobra.Command {
	schema := ""
	cmd := &cobra.Command{
		Use: "lint SCENARIO|DIR|builtin:NAME...",
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema != "" && len(args) == 0 {
				return printSchema(e, schema)
			}
			if err := cli.Needs(1, -1, "a scenario file, a folder or builtin:NAME")(cmd, args); err != nil {
				return err
			}
			return lintFiles(e, args)
		},
	}
	cmd.Flags().StringVar(&schema, "schema", "", "")
	_ = cmd.RegisterFlagCompletionFunc("schema",
		cobra.FixedCompletions(schemaNames, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func lintFiles(e *cli.Env, args []string) error {
	given, err := readSources(args)
	bad := err
	opts := scenario.ParseOptions{Env: e.Getenv}
	for _, f := range lab.Faults() {
		opts.Faults = append(opts.Faults, f.Name)
	}
	for _, src := range given {
		var warnings []scenario.Problem
		var err error
		var declared *scenario.Declared
		if scenario.IsOpenAPI(src.Text) {
			var d scenario.Declared
			d, warnings, err = scenario.LintOpenAPI(src.Text, src.Name)
			declared = &d
		} else if filepath.Base(src.Name) == configName {
			_, err = scenario.ParseConfig(src.Text, src.Name, e.Getenv)
		} else {
			_, warnings, err = scenario.Lint(src.Text, src.Name, opts)
		}
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		for _, w := range warnings {
			e.Say.Resultf("%s\n", cli.Visible("warning: "+w.Error()))
		}
		if declared != nil {
			e.Say.Resultf("%s: %s\n", cli.Visible(src.Name), declared)
		} else if len(warnings) == 0 {
			e.Say.Resultf("%s: ok\n", cli.Visible(src.Name))
		}
	}
	return bad
}

func newListCmd(e *cli.Env) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "list [presets|SCENARIO|DIR|builtin:NAME...]",
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && (args[0] == "presets" || args[0] == "preset"):
				for _, p := range spec.Products() {
					e.Say.Resultf("%-22s %s\n%-22s %s (%s)\n", p.Name, p.Written(), "", becomes(p.Written()),
						p.Proof())
				}
			case len(args) > 0:
				return listScenarios(e, args)
			case all:
				return listScenarios(e, []string{builtinPrefix})
			default:
				listCore(e)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "")
	return cmd
}

// listCore is `rlcheck list` without arguments.
func listCore(e *cli.Env) {
	names, catches := coreNames()
	e.Say.Resultf("to begin with: rlcheck run builtin:%s -t URL --limit SPEC\n\n", coreName)
	for i, name := range names {
		e.Say.Resultf("  %-22s %s\n", name, catches[i])
	}
	e.Say.Resultf("\n%d more: rlcheck list --all lists them, rlcheck run builtin: runs all\n",
		len(builtinNames())-len(names))
}

func listScenarios(e *cli.Env, args []string) error {
	given, err := readSources(args)
	if err != nil {
		return err
	}
	var bad error
	for _, src := range given {
		s, err := scenario.Parse(src.Text, src.Name, scenario.ParseOptions{Env: e.Getenv})
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		tags := ""
		if len(s.Tags) > 0 {
			tags = "  [" + strings.Join(s.Tags, ", ") + "]"
		}
		e.Say.Resultf("%s\n", cli.Visible(fmt.Sprintf("%-24s %-12s %s%s", s.ID, s.Kind, s.Title, tags)))
	}
	return bad
}

func newShowCmd(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:  "show NAME",
		Args: cli.Needs(1, 1, "one scenario (rlcheck list shows the bundled scenarios)"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if _, err := os.Stat(name); err != nil && !strings.HasPrefix(name, builtinPrefix) {
				name = builtinPrefix + name
			}
			given, err := readSources([]string{name})
			if err != nil {
				return err
			}
			for _, src := range given {
				_, _ = e.Say.Write(src.Text) // the speaker keeps the error
			}
			return nil
		},
	}
}

func newInitCmd(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:  "init [FILE]",
		Args: cli.Needs(0, 1, "the file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, _ = e.Say.Write(scenario.Template("")) // the speaker keeps the error
				return nil
			}
			return writeInit(e, args[0])
		},
	}
}

// schemaName is the file that the first line of a scenario names as its schema, in the same folder.
const schemaName = "scenario.schema.json"

// writeInit writes a scenario to begin with and, beside it, the schema that it names. For a file named
// rlcheck.yaml it writes a configuration. It never overwrites a file.
func writeInit(e *cli.Env, name string) error {
	base := filepath.Base(name)
	text := scenario.Template(strings.TrimSuffix(base, ".yaml"))
	if base == configName {
		text = scenario.ConfigTemplate()
	}
	if err := createFile(name, text); errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: the file exists (choose another name)", name)
	} else if err != nil {
		return fmt.Errorf("%s: not written: %w", name, cli.Cause(err))
	}
	if base == configName {
		return initWanted(e, name, text)
	}
	e.Say.Notef("wrote %s; check it with rlcheck lint %s", name, name)
	if strings.HasPrefix(base, "rlcheck") {
		e.Say.Notef("it is a scenario: a configuration is always named %s", configName)
	}
	schema, err := scenario.Schema()
	if err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(name), schemaName)
	err = createFile(beside, schema)
	switch old, unread := os.ReadFile(beside); {
	case err == nil:
		e.Say.Notef("wrote %s, the schema for editors", beside)
	case !errors.Is(err, os.ErrExist):
		return fmt.Errorf("%s: not written: %w", beside, cli.Cause(err))
	case unread != nil || !bytes.Equal(old, schema):
		e.Say.Notef("%s is a different schema and was not changed (rlcheck lint --schema scenario prints "+
			"that of this version)", beside)
	}
	return nil
}

// initWanted says what a configuration that was just written contains.
func initWanted(e *cli.Env, name string, text []byte) error {
	c, err := scenario.ParseConfig(text, name, e.Getenv)
	if err != nil {
		return err
	}
	e.Say.Notef("wrote %s: target %s, limit %s, partition %s, scenarios %s (edit it, then: rlcheck run)",
		name, c.Target, c.Limit, c.Partition, strings.Join(c.Scenarios, ", "))
	return nil
}

// createFile writes a new file. The error wraps os.ErrExist if the file exists. A file that could not be
// written whole is removed.
func createFile(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Close()); err != nil {
		_ = os.Remove(name) // the first error counts
	}
	return err
}

// schemaNames are the forms with a schema, the usual one first.
var schemaNames = []string{"scenario", "report", "verdict", "compare", "identity"}

// newSchemaCmd is the old form of `rlcheck lint --schema`.
func newSchemaCmd(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:       "schema [scenario|report|verdict|compare|identity]",
		Hidden:    true,
		Args:      cli.Needs(0, 1, "scenario, report, verdict, compare or identity"),
		ValidArgs: schemaNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return printSchema(e, append(args, schemaNames[0])[0])
		},
	}
}

func printSchema(e *cli.Env, name string) error {
	text, err := schemaText(name)
	if err != nil {
		return err
	}
	_, _ = e.Say.Write(text) // the speaker keeps the error
	return nil
}

func schemaText(name string) ([]byte, error) {
	switch {
	case name == "scenario":
		return scenario.Schema()
	case slices.Contains(schemaNames, name):
		return report.Schema(name)
	}
	return nil, cli.Usagef("schema %q: the schemas are scenario, report, verdict, compare and identity%s",
		name, cli.Mend(text.Suggest(name, schemaNames)))
}
