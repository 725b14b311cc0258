package main

import (
	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
)

// schemaNames are the forms with a schema, the usual one first.
var schemaNames = []string{"scenario", "report", "verdict", "compare", "identity"}

func newSchemaCmd(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [scenario|report|verdict|compare|identity]",
		Short: "Print the JSON Schema of scenario files, or of JSON outputs",
		Long: `Schema prints a JSON Schema. The schema of scenario files is for editors; the others are for programs:
report is what run -o json prints, verdict what check -o json prints, compare what compare -o json prints
and identity what identify -o json prints.`,
		Example:   "  rlcheck schema > scenario.schema.json\n  rlcheck schema report > report.schema.json",
		Args:      cli.Needs(0, 1, "scenario, report, verdict, compare or identity"),
		ValidArgs: schemaNames,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := schemaText(append(args, schemaNames[0])[0])
			if err != nil {
				return err
			}
			_, _ = e.Say.Write(text) // the speaker keeps the error
			return nil
		},
	}
}

// schemaText returns the schema of one form.
func schemaText(name string) ([]byte, error) {
	switch name {
	case "scenario":
		return scenario.Schema()
	case "report":
		return report.ReportSchema()
	case "verdict":
		return report.VerdictSchema()
	case "compare":
		return report.CompareSchema()
	case "identity":
		return report.IdentitySchema()
	default:
		return nil, cli.Usagef("schema %q: the schemas are scenario, report, verdict, compare and "+
			"identity%s", name,
			cli.Mend(text.Suggest(name, schemaNames)))
	}
}
