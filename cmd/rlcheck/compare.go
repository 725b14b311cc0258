package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/report"
)

type compareFlags struct {
	selection
	outputs               []string
	maxRegression, failOn string
	strict                bool
}

func newCompareCmd(e *cli.Env) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:  "compare OLD NEW",
		Args: cli.Needs(2, 2, "the old side and the new side: folders of kept runs, or their report.json"),
		RunE: func(_ *cobra.Command, args []string) error { return compareSides(e, args[0], args[1], f) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.outputs, "output", "o", nil, "")
	fl.StringVar(&f.maxRegression, "max-regression", "", "")
	f.selection.add(fl)
	fl.StringVar(&f.failOn, "fail-on", "", "")
	fl.BoolVar(&f.strict, "strict", false, "")
	return cmd
}

func compareSides(e *cli.Env, old, new string, f compareFlags) error {
	outs, err := cli.ParseOutput(f.outputs, report.ComparisonFormats(), "table")
	if err != nil {
		return err
	}
	o := report.CompareOptions{Strict: f.strict, Gate: f.maxRegression != ""}
	if o.MaxRegression, err = parsePercent(f.maxRegression); err != nil {
		return err
	}
	if err := cli.FailOnKnown(f.failOn); err != nil {
		return err
	}
	a, err := readSide(e, old, f)
	if err != nil {
		return err
	}
	b, err := readSide(e, new, f)
	if err != nil {
		return err
	}
	c, err := report.Compare(a, b, o)
	if err != nil {
		return err
	}
	return cli.Ended(cli.StatusFor(c.Verdict, false, f.failOn),
		cli.EmitEach(e, outs, func(w io.Writer, format string) error {
			return report.WriteComparison(w, format, c, cli.ReportOptions(e))
		}))
}

// parsePercent reads 10% as 0.1; an empty text is 0.
func parsePercent(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(x >= 0) || math.IsInf(x, 0) {
		return 0, cli.Usagef("--max-regression %q: a percentage is needed, such as 10%%", text)
	}
	return x / 100, nil
}

func readSide(e *cli.Env, name string, f compareFlags) (report.Side, error) {
	side := report.Side{Name: name}
	paths, err := sidePaths(name)
	if err != nil {
		return side, err
	}
	for _, path := range paths {
		r, err := rundir.Read(e, path)
		if err != nil {
			return side, err
		}
		if len(f.only)+len(f.skip) > 0 {
			if err := f.choose(r); err != nil {
				return side, fmt.Errorf("%s: %w", r.ID, err)
			}
		}
		side.Runs = append(side.Runs, r)
	}
	return side, nil
}

// sidePaths lists the runs of one side: a path, a glob, or several with commas between them. For a folder
// that is no run, it lists the runs in it.
func sidePaths(name string) (out []string, err error) {
	words := []string{name}
	if !cli.OutputExists(name) {
		words = strings.Split(name, ",")
	}
	for _, word := range words {
		found := []string{word}
		if !cli.OutputExists(word) && strings.ContainsAny(word, "*?[") {
			if found, err = filepath.Glob(word); err != nil {
				return nil, cli.Usagef("%q: not a pattern: a [ is not closed", word)
			}
		}
		if len(found) == 0 || word == "" {
			return nil, fmt.Errorf("%q: nothing has that name", word)
		}
		for _, path := range found {
			out = append(out, runsIn(path)...)
		}
	}
	return out, nil
}

// runsIn lists the runs in a folder that is no run itself. Otherwise it returns path alone.
func runsIn(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil || cli.OutputExists(filepath.Join(path, "report.json")) ||
		cli.OutputExists(filepath.Join(path, rundir.ManifestName)) {
		return []string{path}
	}
	var out []string
	for _, e := range entries {
		if inside := filepath.Join(path, e.Name()); cli.OutputExists(filepath.Join(inside, "report.json")) {
			out = append(out, inside)
		}
	}
	if len(out) == 0 {
		return []string{path}
	}
	return out
}
