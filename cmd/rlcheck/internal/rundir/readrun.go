package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/recording"
	"github.com/rlcheck/rlcheck/internal/report/document"
	"github.com/rlcheck/rlcheck/internal/result"
)

// Read reads a kept run: its folder, or its report.json. It also reads the recordings that still exist.
func Read(e *cli.Env, name string) (*result.Run, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "report.json")
	}
	f, err := os.Open(name)
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
		return nil, err
	}
	defer f.Close()
	r, err := document.Read(f)
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
					s.Timeline, _ = recording.Read(path) // it may be gone, and the report is not
					recording.Shorten(s)
				}
			}
		}
	}
	addCut(e, filepath.Dir(name), r)
	return r, nil
}
