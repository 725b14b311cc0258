package rundir

import (
	"bytes"
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
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
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
