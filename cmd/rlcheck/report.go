package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

func newReportCmd(e *cli.Env) *cobra.Command {
	var outputs []string
	var of selection
	var strict bool
	cmd := &cobra.Command{
		Use:  "report RUN -o FORMAT[=PATH]",
		Args: cli.Needs(1, 1, "one kept run: its folder, or its report.json"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(outputs) == 0 { // otherwise all formats may go to files
				outputs = []string{"table"}
			}
			outs, err := cli.ParseOutput(outputs, report.Formats(), "")
			if err != nil {
				return err
			}
			r, err := rundir.Read(e, args[0])
			if err != nil {
				return err
			}
			if err := of.choose(r); err != nil {
				return err
			}
			o := cli.ReportOptions(e)
			o.Strict = strict
			return cli.Ended(nil, cli.Emit(e, outs, r, o))
		},
	}
	cmd.Flags().StringArrayVarP(&outputs, "output", "o", nil, "")
	of.add(cmd.Flags())
	cmd.Flags().BoolVar(&strict, "strict", false, "")
	return cmd
}

// choose keeps the chosen scenarios of a run.
func (x selection) choose(r *result.Run) error {
	if err := x.checkPatterns(); err != nil {
		return err
	}
	var ids []string
	var errs []error
	for i := range r.Scenarios {
		ids = append(ids, r.Scenarios[i].ID)
	}
	for _, w := range slices.Concat(x.only, x.skip) {
		if !slices.ContainsFunc(ids, func(id string) bool { return matches(id, nil, []string{w}) }) {
			errs = append(errs, cli.Usagef("%s: the run has no such scenario%s", w,
				cli.Visible(cli.Mend(nearID(w, ids)))))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.Scenarios = slices.DeleteFunc(r.Scenarios, func(s result.Scenario) bool {
		return !x.selected(s.ID, nil)
	})
	if len(r.Scenarios) == 0 && len(ids) > 0 {
		return cli.Usagef("no scenario is left: --only and --skip select none of %s",
			text.Plural(len(ids), "scenario"))
	}
	if len(r.Scenarios) < len(ids) || r.Policy == nil { // an older version, or a killed run, kept none
		r.Policy = trial.MeasuredPolicy(r.Scenarios)
	}
	return nil
}

// nearID suggests the scenario of a run that a word may have meant.
func nearID(word string, ids []string) string {
	if near := text.Suggest(word, ids); near != "" || len(ids) == 0 {
		return near
	}
	return "it has " + excerpts(ids)
}
