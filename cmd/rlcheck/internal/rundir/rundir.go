// Package rundir has the files of a run: manifest, lock, plans, recordings and reports. Recordings may be
// larger than memory.
package rundir

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Dir is the folder of one run. One scenario keeps its files in it. Several have a folder each.
type Dir struct {
	Path string
	flat bool
	// Compress keeps recordings as gzip.
	Compress bool
	// long is the most requests of a recording that is kept as text; 0: load.PackedRecording.
	long int
	// lock is the manifest, locked, so that no other run writes to the folder.
	lock *os.File
	// told: it was said that the folder is gone.
	told atomic.Bool
}

// Gone tells whether the folder was removed or replaced since the run began: nothing is written then, as it
// may be a link to another place. The error says so, once.
func (d *Dir) Gone() (gone bool, err error) {
	if d.lock == nil || sameFile(d.lock, filepath.Join(d.Path, ManifestName)) {
		return false, nil
	}
	if !d.told.Swap(true) {
		err = fmt.Errorf("%s: the folder was removed or replaced during the run: %s, the plans and the "+
			"recordings that were in it are gone, and nothing more is kept", d.Path, ManifestName)
	}
	return true, err
}

// New makes the folder and proves that it can be written to, before any request is sent. Without a path it is
// reports/<start>, with a number at the end if that exists. The folder is locked until Close. An older run in
// it is removed, since files of two runs would look like those of one. replaced is the id of that run, or
// another name for it. Empty: there was none.
func New(path string, m *Manifest) (d *Dir, replaced string, err error) {
	if path, err = makeFolder(path, m.Started); err != nil {
		return nil, "", err
	}
	if above := alive(filepath.Dir(path)); above != nil && above.has(filepath.Base(path)) {
		return nil, "", above.holds(path)
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, "", err
	}
	d = &Dir{Path: path, flat: len(m.Scenarios) == 1, lock: lock}
	if replaced, err = d.clear(m); err == nil {
		err = d.begin(m)
	}
	if err != nil {
		d.abandon()
		return nil, "", err
	}
	return d, replaced, nil
}

// makeFolder makes the folder of a run. It makes a new one if none is named.
func makeFolder(path string, started time.Time) (string, error) {
	if path != "" {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return "", unusable(path, err)
		}
		return path, nil
	}
	if err := os.MkdirAll("reports", 0o755); err != nil {
		return "", unusable("reports", err)
	}
	for n := 1; ; n++ {
		path := filepath.Join("reports", started.UTC().Format(startLayout))
		if n > 1 {
			path = fmt.Sprintf("%s-%d", path, n)
		}
		// It does not look first, as another run may begin in this moment.
		if err := os.Mkdir(path, 0o755); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrExist) {
			return "", unusable(path, err)
		}
	}
}

// clear removes an older run and returns its name.
func (d *Dir) clear(m *Manifest) (replaced string, err error) {
	probe, err := os.CreateTemp(d.Path, ".rlcheck-*")
	if err != nil {
		return "", unusable(d.Path, err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return "", unusable(d.Path, err)
	}
	old, err := findOldRun(d.Path, m.ids())
	if err != nil {
		return "", err
	}
	if err := old.remove(); err != nil {
		return "", unusable(d.Path, err)
	}
	if replaced = old.id; replaced == "" && len(old.files) > 0 {
		replaced = "an unfinished run"
	}
	return replaced, nil
}

func (d *Dir) begin(m *Manifest) error {
	if err := m.write(d.lock); err != nil {
		return unusable(d.Path, err)
	}
	return nil
}

// abandon releases the folder. An empty manifest was made for this run.
func (d *Dir) abandon() {
	if info, err := d.lock.Stat(); err == nil && info.Size() == 0 {
		_ = os.Remove(d.lock.Name()) // an empty file does no harm
	}
	d.Close()
}

// Close releases the lock.
func (d *Dir) Close() { _ = d.lock.Close() } // everything was written at once

// unusable says that a folder cannot take a run.
func unusable(path string, err error) error {
	return fmt.Errorf("%s: no run can be kept there: %w (choose another folder with --run-dir)", path, err)
}

// Of returns the path of a file of one scenario. If scenario is empty, it is a file of the run.
func (d *Dir) Of(scenario, file string) string {
	if d.flat || scenario == "" {
		return filepath.Join(d.Path, file)
	}
	return filepath.Join(d.Path, scenario, file)
}

// KeepPlan keeps the scenario as it was read and its schedule.
func (d *Dir) KeepPlan(id string, src []byte, s *timeline.Schedule) error {
	if gone, err := d.Gone(); gone {
		return err
	}
	return errors.Join(cli.WriteFile(d.Of(id, "scenario.yaml"), src),
		d.Keep(id, "schedule.ndjson", func(w io.Writer) error { return timeline.WriteSchedule(w, s) }))
}

// KeepSoFar keeps the report of what is done already, which is what a killed run leaves.
func (d *Dir) KeepSoFar(r *result.Run, strict bool) error {
	return d.Keep("", "report.json", func(w io.Writer) error {
		return report.Write(w, "json", r, report.Options{Strict: strict})
	})
}

// recordings returns the paths that a recording of a scenario may have.
func (d *Dir) recordings(id string) []string {
	name := d.Of(id, TimelineName)
	return []string{name, name + cli.PackedEnd, name + cli.LongEnd}
}

// End returns the end of the name of a new recording. A long one is compressed, as nobody asked for its
// gigabytes.
func (d *Dir) End(tl *timeline.Timeline) string {
	switch {
	case d.Compress:
		return cli.PackedEnd
	case tl.Sent() > cmp.Or(d.long, load.PackedRecording):
		return cli.LongEnd
	default:
		return ""
	}
}

// KeepTimeline keeps a recording at path, compressed if the name says so. digest is the SHA-256 of the file.
func KeepTimeline(path string, tl *timeline.Timeline) (digest string, err error) {
	write := cli.Packed(path, func(w io.Writer) error { return timeline.Write(w, tl) })
	h := sha256.New()
	err = cli.StreamFile(path, func(w io.Writer) error { return write(io.MultiWriter(w, h)) })
	return hex.EncodeToString(h.Sum(nil)), err
}

// Keep keeps the output of write as a file of one scenario. If id is empty, it is a file of the run.
func (d *Dir) Keep(id, file string, write func(io.Writer) error) error {
	if gone, err := d.Gone(); gone {
		return err
	}
	return cli.StreamFile(d.Of(id, file), write)
}

// Reports returns the formats that every run keeps.
func (d *Dir) Reports() []cli.Output {
	return []cli.Output{
		{Format: "html", Path: filepath.Join(d.Path, "report.html")},
		{Format: "json", Path: filepath.Join(d.Path, "report.json")},
		{Format: "junit", Path: filepath.Join(d.Path, "junit.xml")},
		{Format: "markdown", Path: filepath.Join(d.Path, "report.md")},
	}
}

// startLayout is the form of the start of a run in the name of its folder.
const startLayout = "2006-01-02T15-04-05"

// ID names a run by its start. A random part at the end tells apart two runs that start in the same second.
func ID(t time.Time) string {
	return t.UTC().Format(startLayout) + "-" + strings.ToLower(rand.Text()[:6])
}
