package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
)

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

// printSchema prints the schema of one form.
func printSchema(e *cli.Env, name string) error {
	text, err := schemaText(name)
	if err != nil {
		return err
	}
	_, _ = e.Say.Write(text) // the speaker keeps the error
	return nil
}

// schemaText returns the schema of one form.
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
