package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

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
