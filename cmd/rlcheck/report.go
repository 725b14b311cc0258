package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func newReportCmd(e *env) *cobra.Command {
	var outputs []string
	var strict bool
	cmd := &cobra.Command{
		Use:     "report RUN -o FORMAT[=PATH]",
		Short:   "Other formats from a kept run",
		Example: "  rlcheck report reports/2026-11-20T10-00-00 -o html=run.html",
		Args:    cobra.ExactArgs(1),
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
			return e.emit(outs, r, report.Options{Color: e.wantsColor(), Width: width, Strict: strict})
		},
	}
	cmd.Flags().StringArrayVarP(&outputs, "output", "o", nil, "FORMAT[=PATH] (repeatable)")
	cmd.Flags().BoolVar(&strict, "strict", false, "recommended scenarios count too")
	return cmd
}

// readRun reads a kept run: its folder, or its report.json. Recordings are read again where they are still there.
func readRun(path string) (*report.Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "report.json")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := report.ReadJSON(f)
	if err != nil {
		return nil, err
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
