package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// runDir is the folder of one run. One scenario keeps its files in it, several have a folder each.
type runDir struct {
	path string
	flat bool
}

// newRunDir makes the folder and proves that it can be written to, before any request is sent. Without a path it is
// reports/<id>, with a number behind where that exists. An older run in it is removed: files of two runs would be taken for
// those of one. It returns the id of that one, or what stands for it; empty if there was none.
func newRunDir(path, id string, scenarios []string) (d *runDir, replaced string, err error) {
	if path == "" {
		path = filepath.Join("reports", id)
		for n := 2; exists(path); n++ {
			path = filepath.Join("reports", fmt.Sprintf("%s-%d", id, n))
		}
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, "", unusable(path, err)
	}
	probe, err := os.CreateTemp(path, ".rlcheck-*")
	if err != nil {
		return nil, "", unusable(path, err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, "", unusable(path, err)
	}
	old, err := findOldRun(path, scenarios)
	if err != nil {
		return nil, "", err
	}
	if err := old.remove(); err != nil {
		return nil, "", unusable(path, err)
	}
	if replaced = old.id; replaced == "" && len(old.files) > 0 {
		replaced = "an unfinished one"
	}
	return &runDir{path, len(scenarios) == 1}, replaced, nil
}

// unusable says that a folder cannot take a run.
func unusable(path string, err error) error {
	return fmt.Errorf("%s: no run can be kept in it: %w (choose another folder with --out)", path, err)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// of returns the path of a file of one scenario.
func (d *runDir) of(scenario, file string) string {
	if d.flat {
		return filepath.Join(d.path, file)
	}
	return filepath.Join(d.path, scenario, file)
}

// keepPlan keeps the scenario as it was read and its schedule.
func (d *runDir) keepPlan(id string, src []byte, s *timeline.Schedule) error {
	return errors.Join(writeFile(d.of(id, "scenario.yaml"), src), d.keep(id, "schedule.ndjson", func(w io.Writer) error { return timeline.WriteSchedule(w, s) }))
}

// keepRecording keeps the timeline and the latency log of a scenario.
func (d *runDir) keepRecording(id string, tl *timeline.Timeline, started time.Time) error {
	return errors.Join(
		d.keep(id, "timeline.ndjson", func(w io.Writer) error { return timeline.Write(w, tl) }),
		d.keep(id, "latency.hlog", func(w io.Writer) error { return latency.WriteLog(w, tl, started) }))
}

func (d *runDir) keep(id, file string, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return fmt.Errorf("%s: %w", d.of(id, file), err)
	}
	return writeFile(d.of(id, file), buf.Bytes())
}

// reports are the formats that every run keeps.
func (d *runDir) reports() []output {
	return []output{
		{"html", filepath.Join(d.path, "report.html")}, {"json", filepath.Join(d.path, "report.json")},
		{"junit", filepath.Join(d.path, "junit.xml")}, {"markdown", filepath.Join(d.path, "report.md")},
	}
}

// runID names a run by its start.
func runID(t time.Time) string { return t.UTC().Format("2006-01-02T15-04-05") }
