package rundir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// Read reads a kept run: its folder, or its report.json. It also reads the recordings that still exist.
func Read(e *cli.Env, name string) (*result.Run, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "report.json")
	}
	text, err := cli.ReadFile(name, cli.MostReport)
	if errors.Is(err, fs.ErrNotExist) {
		if m, _ := readManifest(filepath.Dir(name)); m != nil { // killed before it wrote one
			r := m.report()
			addCut(e, filepath.Dir(name), r)
			return r, nil
		}
		const why = "a kept run is a folder with a report.json (rlcheck run keeps runs in reports/)"
		return nil, fmt.Errorf("%s: there is no such file: %s", name, why)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cli.Cause(err))
	}
	r, err := report.ReadDocument(bytes.NewReader(text))
	if err != nil && strings.Contains(filepath.Base(name), ".ndjson") {
		return nil, fmt.Errorf("%s: this is a recording, not a run (write rlcheck check %s -o FORMAT)",
			name, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, folder := range []string{s.ID, ""} {
			d := Dir{Path: filepath.Join(filepath.Dir(name), folder), flat: true}
			for _, path := range d.recordings("") {
				if s.Timeline == nil && s.TimelinePath != "" {
					addRecording(e, s, path)
				}
			}
		}
	}
	addCut(e, filepath.Dir(name), r)
	return r, nil
}

// addRecording reads the recording of a scenario, if there is one. It says so, and leaves it out, if it is
// not the one that was judged.
func addRecording(e *cli.Env, s *result.Scenario, path string) {
	f, err := Open(path)
	if err != nil {
		return // it may be gone, and the report is not
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err == nil && s.Digest != "" && s.Digest != hex.EncodeToString(h.Sum(nil)) {
		e.Say.Line(fmt.Sprintf("%s: the recording was changed after it was judged: the verdict is not about "+
			"it, and it is left out (rlcheck check %s judges it)", path, path))
		return
	}
	s.Timeline, _ = ReadRecording(path)
	Shorten(s)
}

// report returns the report of a run that was killed before it wrote one.
func (m *Manifest) report() *result.Run {
	return &result.Run{ID: m.ID, Started: m.Started, Version: m.Version, Command: m.Command,
		Interrupted: true, NotBegun: m.ids()}
}

// addCut judges the scenarios that a killed run was recording, adds them to its report, and says what is
// missing. A run that was not killed stays as it is.
func addCut(e *cli.Env, folder string, r *result.Run) {
	m, err := readManifest(folder)
	if err != nil || m == nil || m.ID != r.ID || !r.Interrupted {
		return
	}
	if alive(folder) != nil {
		e.Say.Notef("%s: process %d is still writing to it; this is what it has kept so far", folder, m.PID)
	}
	d := &Dir{Path: folder, flat: len(m.Scenarios) == 1}
	var left []string
	for _, id := range r.NotBegun { // several were recorded beside each other
		cut := m.cut(d, id)
		if cut == nil {
			left = append(left, id)
			continue
		}
		r.Scenarios = append(r.Scenarios, *cut)
		r.Duration = max(r.Duration, cut.Header.Started.Sub(r.Started)+cut.Duration)
		why := cmp.Or(cut.Detail, "the recording is whole, and is judged now")
		if n := len(cut.Header.Notes); n > 0 {
			why = cut.Header.Notes[n-1]
		}
		e.Say.Notef("%s: %s", id, why)
	}
	r.NotBegun = left
	if len(r.NotBegun) > 0 {
		e.Say.Notef("not begun: %s", strings.Join(r.NotBegun, ", "))
	}
}

// cut returns a scenario of which only a recording was kept. nil: it was not begun.
func (m *Manifest) cut(d *Dir, id string) *result.Scenario {
	f, err := Open(d.Of(id, "schedule.ndjson"))
	if err != nil {
		return nil // the plan comes before the first request
	}
	defer f.Close()
	lost := func(why string, err error) *result.Scenario {
		return &result.Scenario{ID: id, Kind: result.Required, Verdict: result.Inconclusive,
			Reason: result.Interrupted, Detail: fmt.Sprintf("%s: %v", why, err)}
	}
	plan, err := timeline.ReadSchedule(f, f.Name())
	if err != nil {
		return lost("its plan cannot be read", err)
	}
	s, err := m.scenario(d, id)
	if err != nil {
		return lost("its scenario cannot be read again", err)
	}
	tl, path, err := readCut(d, id)
	if err != nil {
		return lost("its recording cannot be read", err)
	}
	if tl.Header.Interrupted {
		tl.Header.Unsent = load.Unsent(plan, tl)
	}
	out := trial.Kept(s, tl, trial.Options{})
	out.TimelinePath = path
	Shorten(&out)
	return &out
}

// scenario reads a scenario of the run again, with the settings of the run.
func (m *Manifest) scenario(d *Dir, id string) (*scenario.Scenario, error) {
	text, err := tree.ReadFile(d.Of(id, "scenario.yaml"))
	if err != nil {
		return nil, err
	}
	opts := scenario.ParseOptions{Target: m.Target, Limit: m.Limit, Partition: m.Partition,
		Promises: m.Promises, Env: func(name string) (string, bool) { v, set := m.Env[name]; return v, set }}
	for _, text := range m.Set {
		set, err := tree.ParseSetting(text)
		if err != nil {
			return nil, err
		}
		opts.Set = append(opts.Set, set)
	}
	name := d.Of(id, "scenario.yaml")
	for _, p := range m.Scenarios {
		if p.ID == id {
			name = p.File
		}
	}
	return scenario.Parse(text, name, opts)
}

// readCut reads the recording of a scenario without a report. It is whole if the run was killed while it was
// judged, otherwise it goes as far as its journal. path is empty if the run was killed before it had a
// recording.
func readCut(d *Dir, id string) (tl *timeline.Timeline, path string, err error) {
	for _, path := range append(d.recordings(id), d.Of(id, JournalName)) {
		if tl, err := ReadRecording(path); !errors.Is(err, os.ErrNotExist) {
			return tl, path, err
		}
	}
	tl, err = readJournal(strings.NewReader(""), JournalName) // killed between the plan and the journal
	return tl, "", err
}

// readJournal reads a journal. A long recording is in a file.
func readJournal(r io.Reader, name string) (*timeline.Timeline, error) {
	return timeline.ReadJournal(r, name, MostInMemory, Spill)
}
