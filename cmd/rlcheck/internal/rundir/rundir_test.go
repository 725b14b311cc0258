package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/scenarios"
)

func TestRunsOfOneSecondHaveFoldersAndIDsOfTheirOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 11, 22, 11, 32, 9, 0, time.UTC)
	const runs = 8
	var paths, ids [runs]string
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			m := &Manifest{Schema: manifestSchema, ID: ID(now), Started: now}
			m.Scenarios = []Planned{{ID: "a"}}
			d, replaced, err := New("", m)
			if err != nil || replaced != "" {
				t.Errorf("run %d: replaced %q, %v", i, replaced, err)
				return
			}
			defer d.Close()
			paths[i], ids[i] = d.Path, m.ID
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for i := range runs {
		begins := strings.HasPrefix(paths[i], filepath.Join("reports", "2026-11-22T11-32-09"))
		if seen[paths[i]] || seen[ids[i]] || !begins {
			t.Errorf("run %d: got folder %q and id %q, want its own", i, paths[i], ids[i])
		}
		seen[paths[i]], seen[ids[i]] = true, true
	}
}

func TestLockOfAFolder(t *testing.T) {
	dir := t.TempDir()
	f, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ManifestName)
	if _, err := lockFile(path); !errors.Is(err, errHeld) || !isHeld(path) {
		t.Fatalf("a second lock: got %v, held %v; want errHeld", err, isHeld(path))
	}
	if err := (&Manifest{ID: "one", PID: 7}).write(f); err != nil {
		t.Fatal(err)
	}
	if m := alive(dir); m == nil || m.ID != "one" {
		t.Errorf("who holds it: got %+v, want one", m)
	}
	_ = f.Close()
	if alive(dir) != nil {
		t.Error("it is held after its end")
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFolder(dir); !errors.Is(err, errNotOurs) {
		t.Errorf("a file of somebody else: got %v", err)
	}
}

// TestAScenarioThatWasNotRecordedYet: a run that was killed between plan and journal has no recording. The
// promises given by its flags are remembered.
func TestAScenarioThatWasNotRecordedYet(t *testing.T) {
	d := &Dir{Path: t.TempDir(), flat: true}
	text, err := scenarios.FS.ReadFile("burst.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promises := []result.Promise{result.PromiseCost}
	const target = "http://127.0.0.1:1/" // the embedded target promises all by itself
	m := &Manifest{Target: target, Scenarios: []Planned{{"burst", "burst.yaml"}}, Promises: promises}
	if err := d.KeepPlan("burst", text, &timeline.Schedule{}); err != nil {
		t.Fatal(err)
	}
	s, err := m.scenario(d, "burst")
	if err != nil || !slices.Contains(s.Expect.Promised, result.PromiseCost) {
		t.Fatalf("got %v; want a scenario that promises what the run was told", err)
	}
	cut := m.cut(d, "burst")
	if cut == nil || cut.TimelinePath != "" || cut.Reason != result.Interrupted {
		t.Errorf("got %+v, want a scenario that was interrupted before it had a recording", cut)
	}
}

// TestScenariosBesideEachOtherTakeTheirTimeOnce: a killed run took as long as its last recording went on
// after the start of the run, however many were made at the same time.
func TestScenariosBesideEachOtherTakeTheirTimeOnce(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	text, err := scenarios.FS.ReadFile("burst.yaml")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 22, 11, 32, 9, 0, time.UTC)
	r := &result.Run{ID: "r", Started: began, Interrupted: true, Duration: time.Second}
	m := &Manifest{Schema: manifestSchema, ID: "r", Started: began, Target: "http://127.0.0.1:1/"}
	for id, after := range map[string]time.Duration{"one": 2 * time.Second, "two": 3 * time.Second} {
		m.Scenarios, r.NotBegun = append(m.Scenarios, Planned{id, "burst.yaml"}), append(r.NotBegun, id)
		k := NewRecording(d, id, trial.NewRedactor(nil, nil, ""))
		if err := d.KeepPlan(id, text, &timeline.Schedule{}); err != nil {
			t.Fatal(err)
		}
		j := k.Begin()
		err := j.Begin(timeline.Header{Started: began.Add(after)}, 0)
		if err := errors.Join(err, j.Mark(timeline.JournalMark{At: 5 * time.Second})); err != nil {
			t.Fatal(err)
		}
	}
	m.Scenarios, r.NotBegun = append(m.Scenarios, Planned{ID: "three"}), append(r.NotBegun, "three")
	f, err := lockFolder(d.Path)
	if err := errors.Join(err, m.write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	addCut(&cli.Env{Say: &cli.Speaker{Quiet: true}}, d.Path, r)
	if r.Duration != 8*time.Second || len(r.Scenarios) != 2 || len(r.NotBegun) != 1 {
		t.Errorf("got %v, %d scenarios, not begun %q; want 8s", r.Duration, len(r.Scenarios), r.NotBegun)
	}
}

// TestALongRecordingIsKeptPacked: a long recording is compressed, as nobody asked for gigabytes. What its
// judgement changes is written there too.
func TestALongRecordingIsKeptPacked(t *testing.T) {
	dir := &Dir{Path: t.TempDir(), flat: true, long: 99}
	tl := &timeline.Timeline{Spool: timeline.NewSpool(Spill)}
	defer tl.Spool.Close()
	for i := range 100 {
		tl.Spool.Add(&timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1},
			Sent: time.Duration(i), Outcome: timeline.Allowed})
	}
	k := &Recording{dir: dir, id: "x", red: trial.NewRedactor(nil, nil, "")}
	k.whole(tl)
	tl.Header.Notes = []string{"settled"}
	k.Settled(tl)
	if err := errors.Join(k.Errs...); err != nil || k.Path != filepath.Join(dir.Path, "timeline.ndjson.zst") {
		t.Fatalf("got %s, %v", k.Path, err)
	}
	files, err := os.ReadDir(dir.Path)
	if err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want one file", files, err)
	}
	got, err := ReadRecording(k.Path)
	if err != nil || len(got.Observations) != 100 || len(got.Header.Notes) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A disk that is full names the folder, and what helps.
func TestAManifestThatCannotBeWrittenNamesItsFolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), ManifestName)
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name) // whoever reads cannot write
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := Dir{Path: "full", lock: f}
	if err := d.begin(&Manifest{}); err == nil || !strings.HasPrefix(err.Error(), "full: no run can be") {
		t.Errorf("got %v", err)
	}
}

// FuzzManifest: whatever stands in a run.json, reading the folder of a killed run ends with a report or an
// error.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema":"rlcheck.run/v1","id":"x","scenarios":[{"id":"a","file":"a.yaml"}]}`))
	f.Add([]byte(`{"schema":"rlcheck.run/v1","scenarios":[{"id":"../a"},{"id":""}],"set":["x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, ManifestName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		e := &cli.Env{Say: &cli.Speaker{Out: &said, Err: &said}}
		r, err := Read(e, folder)
		if m := parseManifest(text); err == nil &&
			(!r.Interrupted || len(r.Scenarios)+len(r.NotBegun) != len(m.Scenarios)) {
			t.Errorf("got %+v of %s", r, text)
		}
	})
}

// TestNothingIsKeptInAnotherFolder: if the folder of a run is removed or replaced by a link, that is told
// once, and nothing is written where the link leads.
func TestNothingIsKeptInAnotherFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	d, _, err := New("run", &Manifest{ID: "x", Scenarios: []Planned{{ID: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	plan := &timeline.Schedule{}
	if err := errors.Join(d.KeepPlan("a", nil, plan), os.RemoveAll("run"), os.Mkdir("other", 0o755),
		os.Symlink("other", "run")); err != nil {
		t.Skip(err) // a system without links
	}
	err = d.KeepPlan("a", nil, plan)
	if err == nil || !strings.Contains(err.Error(), "removed or replaced") {
		t.Errorf("got %v", err)
	}
	k := NewRecording(d, "a", trial.NewRedactor(nil, nil, ""))
	if w := k.Begin(); w != nil {
		t.Error("got a journal in another folder")
	}
	k.Recorded(&timeline.Timeline{})()
	if err := errors.Join(append(k.Errs, d.KeepSoFar(&result.Run{}, false))...); err != nil {
		t.Errorf("told again: %v", err)
	}
	if left, err := os.ReadDir("other"); err != nil || len(left) > 0 {
		t.Errorf("the other folder has %v, %v", left, err)
	}
}
