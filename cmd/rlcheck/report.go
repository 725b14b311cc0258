package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func newReportCmd(e *env) *cobra.Command {
	var outputs []string
	var strict bool
	cmd := &cobra.Command{
		Use:   "report RUN -o FORMAT[=PATH]",
		Short: "Other formats from a kept run",
		Long: `Report writes a kept run (its folder, or its report.json) in other formats. What is missing of the recordings is left out.
The exit status tells only whether they were written: 0, or 2.`,
		Example: "  rlcheck report reports/2026-11-20T10-00-00 -o html=run.html",
		Args:    needs(1, 1, "one kept run: its folder, or its report.json"),
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := parseOutputs(outputs, "")
			if err != nil {
				return err
			}
			if len(outs) == 0 {
				outs = []output{{format: "table"}}
			}
			r, err := readRun(args[0])
			if err != nil {
				return err
			}
			_, width := terminal(e.say.out)
			if !e.emit(outs, r, report.Options{Color: e.wantsColor(), Verbose: e.verbose, Width: width, Strict: strict}) {
				return exitStatus(exitNothing)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&outputs, "output", "o", nil, "FORMAT[=PATH]: "+strings.Join(report.Formats(), ", ")+" (repeatable; default table)")
	cmd.Flags().BoolVar(&strict, "strict", false, "recommended scenarios count too")
	return cmd
}

// readRun reads a kept run: its folder, or its report.json. Recordings are read again where they are still there.
func readRun(path string) (*report.Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "report.json")
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file: a kept run is a folder with a report.json (rlcheck run keeps them in reports/)", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, where := range []string{filepath.Join(filepath.Dir(path), s.ID, "timeline.ndjson"), filepath.Join(filepath.Dir(path), "timeline.ndjson")} {
			if s.Timeline == nil && s.TimelinePath != "" {
				s.Timeline = readKept(where)
			}
		}
	}
	return r, nil
}

// readKept reads a recording, nil where it is gone.
func readKept(path string) *timeline.Timeline {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	tl, err := timeline.Read(f, path, timeline.Options{AllowEmpty: true})
	if err != nil {
		return nil
	}
	return tl
}
