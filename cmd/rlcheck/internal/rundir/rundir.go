// Package rundir keeps the files of a run in its folder, and reads them again: what was asked for, plans,
// recordings while they are made and afterwards, reports. Of a run that was killed it reads what is there.
package rundir

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/output"
	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Dir is the folder of one run. One scenario keeps its files in it, several have a folder each.
type Dir struct {
	Path string
	flat bool
	// Compress keeps recordings as gzip.
	Compress bool
	// long is the most requests of a recording that is kept as text, 0 for load.PackedRecording.
	long int
	// lock is the manifest, locked: no other run writes to the folder.
	lock *os.File
}

// New makes the folder and proves that it can be written to, before any request is sent. Without a
// path it is reports/<start>, with a number behind where that exists. The folder is locked until close. An
// older run in it is removed: files of two runs would be taken for those of one. It returns the id of that
// one, or what stands for it; empty if there was none.
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
		err = m.write(lock)
	}
	if err != nil {
		d.abandon()
		return nil, "", err
	}
	return d, replaced, nil
}

// makeFolder makes the folder of a run, a new one where it is not named.
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
		// Mkdir, and not a look before: another run may begin in this moment.
		if err := os.Mkdir(path, 0o755); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrExist) {
			return "", unusable(path, err)
		}
	}
}

// clear removes an older run and returns what it was.
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

// abandon gives the folder back. A manifest that is empty was made for this run.
func (d *Dir) abandon() {
	if info, err := d.lock.Stat(); err == nil && info.Size() == 0 {
		_ = os.Remove(d.lock.Name()) // an empty file does no harm
	}
	d.Close()
}

// Close gives up the lock.
func (d *Dir) Close() { _ = d.lock.Close() } // what was written to it was written at once

// unusable says that a folder cannot take a run.
func unusable(path string, err error) error {
	return fmt.Errorf("%s: no run can be kept there: %w (choose another folder with --out)", path, err)
}

// Of returns the path of a file of one scenario; empty: of the run.
func (d *Dir) Of(scenario, file string) string {
	if d.flat || scenario == "" {
		return filepath.Join(d.Path, file)
	}
	return filepath.Join(d.Path, scenario, file)
}

// KeepPlan keeps the scenario as it was read and its schedule.
func (d *Dir) KeepPlan(id string, src []byte, s *timeline.Schedule) error {
	return errors.Join(output.WriteFile(d.Of(id, "scenario.yaml"), src),
		d.Keep(id, "schedule.ndjson", func(w io.Writer) error { return ndjson.WriteSchedule(w, s) }))
}

// KeepSoFar keeps the report of what is done already: a run that is killed leaves that much.
func (d *Dir) KeepSoFar(r *result.Run, strict bool) error {
	return d.Keep("", "report.json", func(w io.Writer) error {
		return report.Write(w, "json", r, report.Options{Strict: strict})
	})
}

// keepLatency keeps the latency log of a scenario.
func (d *Dir) keepLatency(id string, tl *timeline.Timeline, started time.Time) error {
	return d.Keep(id, "latency.hlog", func(w io.Writer) error { return latency.WriteLog(w, tl, started) })
}

// recordings are the paths that a recording of a scenario may have.
func (d *Dir) recordings(id string) []string {
	name := d.Of(id, TimelineName)
	return []string{name, name + output.PackedEnd, name + output.LongEnd}
}

// End is what the name of a new recording ends in. Nobody asked for the gigabytes that a long one has.
func (d *Dir) End(tl *timeline.Timeline) string {
	switch {
	case d.Compress:
		return output.PackedEnd
	case tl.Sent() > cmp.Or(d.long, load.PackedRecording):
		return output.LongEnd
	default:
		return ""
	}
}

// KeepTimeline keeps a recording at path, compressed where the name says so.
func KeepTimeline(path string, tl *timeline.Timeline) error {
	if filepath.Ext(path) == output.LongEnd {
		return output.StreamFile(path, func(w io.Writer) error { return ndjson.Pack(w, tl) })
	}
	return output.StreamFile(path, output.Packed(path, func(w io.Writer) error {
		return ndjson.Write(w,
			tl)
	}))
}

// Keep keeps what write writes as a file of one scenario; id empty: of the run.
func (d *Dir) Keep(id, file string, write func(io.Writer) error) error {
	return output.StreamFile(d.Of(id, file), write)
}

// Reports are the formats that every run keeps.
func (d *Dir) Reports() []output.Output {
	return []output.Output{
		{Format: "html", Path: filepath.Join(d.Path, "report.html")},
		{Format: "json", Path: filepath.Join(d.Path, "report.json")},
		{Format: "junit", Path: filepath.Join(d.Path, "junit.xml")},
		{Format: "markdown", Path: filepath.Join(d.Path, "report.md")},
	}
}

// startLayout is how a folder is named by the start of its run.
const startLayout = "2006-01-02T15-04-05"

// ID names a run by its start. Two runs that start in the same second have different ones: what stands
// behind it is random.
func ID(t time.Time) string {
	return t.UTC().Format(startLayout) + "-" + strings.ToLower(rand.Text()[:6])
}
