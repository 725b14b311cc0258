package rundir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
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
	text, err := scenario.ReadFile(d.Of(id, "scenario.yaml"))
	if err != nil {
		return nil, err
	}
	opts := scenario.ParseOptions{Target: m.Target, Limit: m.Limit, Partition: m.Partition,
		Promises: m.Promises, Env: func(name string) (string, bool) { v, set := m.Env[name]; return v, set }}
	for _, text := range m.Set {
		set, err := scenario.ParseSetting(text)
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

// The files that a run keeps: its reports in its folder, its recordings there or in a folder for each
// scenario.
var (
	keptReports    = []string{"report.html", "report.json", "junit.xml", "report.md"}
	keptRecordings = regexp.MustCompile(
		`^(scenario\.yaml|schedule\.ndjson|timeline(-[0-9]+)?\.ndjson(\.gz|\.zst)?|timeline\.ndjson\.part|` +
			`clients\.ndjson|latency\.hlog)$`)
)

type oldRun struct {
	// id is the id of the run. Empty: it was ended before it had a report.
	id string
	// files are those that the new run replaces or removes. folders are those that may be empty then.
	files, folders []string
}

// findOldRun looks for an older run in a folder that will hold a run of the scenarios ids. Other files in the
// folder stay. The error is about files that the new run would overwrite although no run left them, or
// another run did.
func findOldRun(path string, ids []string) (*oldRun, error) {
	old := &oldRun{files: keptIn(path)}
	m, _ := readManifest(path) // one that no run wrote was refused before
	report := readOldReport(filepath.Join(path, "report.json"))
	if foreign := foreignFile(path, old.files, report, m); foreign != "" {
		return nil, fmt.Errorf("%s: the file would be overwritten, and no run of rlcheck wrote it "+
			"(choose another folder with --run-dir)", foreign)
	}
	var inside []string // folders of scenarios
	if report != nil {
		old.id = report.ID
		for _, s := range report.Scenarios {
			inside = append(inside, s.ID)
		}
	}
	if m != nil {
		old.id = m.ID
		inside = append(inside, m.ids()...)
	}
	if len(ids) > 1 {
		inside = append(inside, ids...)
	}
	slices.Sort(inside)
	for _, id := range slices.Compact(inside) {
		if err := old.addFolder(filepath.Join(path, id), id, ids, m); err != nil {
			return nil, err
		}
	}
	return old, nil
}

// foreignFile returns the first file that a new run would overwrite although no run left it. Empty: there is
// none.
func foreignFile(path string, files []string, report *oldReport, m *Manifest) string {
	if report != nil {
		return ""
	}
	for _, f := range files {
		if slices.Contains(keptReports, filepath.Base(f)) {
			return f
		}
	}
	if m == nil && len(files) > 0 && !ownRecording(path) {
		return files[0]
	}
	return ""
}

// addFolder adds what the folder of the scenario id has of the older run. The error says that another run is
// in it.
func (old *oldRun) addFolder(folder, id string, ids []string, m *Manifest) error {
	files := keptIn(folder)
	switch {
	case len(files) == 0 || id != filepath.Base(id) || strings.HasPrefix(id, "."):
	case cli.OutputExists(filepath.Join(folder, "report.json")), cli.OutputExists(filepath.Join(folder,
		ManifestName)):
		if len(ids) > 1 && slices.Contains(ids, id) {
			return fmt.Errorf("%s: another run is kept there, and a part of it would be overwritten "+
				"(choose another folder with --run-dir)", folder)
		}
	case ownRecording(folder), m != nil && m.has(id) && len(m.Scenarios) > 1:
		old.files, old.folders = append(old.files, files...), append(old.folders, folder)
	}
	return nil
}

// keptIn returns the regular files of a folder that are named like the files of a run.
func keptIn(folder string) []string {
	entries, _ := os.ReadDir(folder) // what cannot be read is not replaced
	var out []string
	for _, e := range entries {
		if e.Type().IsRegular() &&
			(slices.Contains(keptReports, e.Name()) || keptRecordings.MatchString(e.Name())) {
			out = append(out, filepath.Join(folder, e.Name()))
		}
	}
	return out
}

// oldReport is the part of an older run's report.json that is read, of this version or another.
type oldReport struct {
	Schema, ID string
	Scenarios  []struct{ ID string }
}

func readOldReport(path string) *oldReport {
	text, err := cli.ReadFile(path, cli.MostReport)
	var r oldReport
	if err != nil || json.Unmarshal(text, &r) != nil || !strings.HasPrefix(r.Schema, "rlcheck.") {
		return nil
	}
	return &r
}

// ownRecording tells whether a folder has a schedule or a recording of rlcheck. These are written first, and
// their first bytes say so.
func ownRecording(folder string) bool {
	for _, name := range []string{"schedule.ndjson", "timeline.ndjson"} {
		if f, err := os.Open(filepath.Join(folder, name)); err == nil {
			begin := make([]byte, len(`{"rlcheck":"`))
			_, _ = f.Read(begin) // a file that does not exist is not ours
			_ = f.Close()
			if bytes.Equal(begin, []byte(`{"rlcheck":"`)) {
				return true
			}
		}
	}
	return false
}

// remove removes the files, and the folders that are then empty.
func (r *oldRun) remove() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, os.Remove(f))
	}
	for _, f := range r.folders {
		_ = os.Remove(f) // something else may be in it
	}
	return errors.Join(errs...)
}
