package main

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
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
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
			m := &manifest{Schema: manifestSchema, ID: runID(now), Started: now}
			m.Scenarios = []planned{{ID: "a"}}
			d, replaced, err := newRunDir("", m)
			if err != nil || replaced != "" {
				t.Errorf("run %d: replaced %q, %v", i, replaced, err)
				return
			}
			defer d.close()
			paths[i], ids[i] = d.path, m.ID
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
	path := filepath.Join(dir, manifestName)
	if _, err := lockFile(path); !errors.Is(err, errHeld) || !isHeld(path) {
		t.Fatalf("a second lock: got %v, held %v; want errHeld", err, isHeld(path))
	}
	if err := (&manifest{Schema: manifestSchema, ID: "one", PID: 7}).write(f); err != nil {
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
// promises of its flags are remembered.
func TestAScenarioThatWasNotRecordedYet(t *testing.T) {
	d := &runDir{path: t.TempDir(), flat: true}
	text, err := scenarios.FS.ReadFile("burst.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promises := []verdict.Promise{verdict.PromiseCost}
	const target = "http://127.0.0.1:1/" // the embedded one promises all by itself
	m := &manifest{Target: target, Scenarios: []planned{{"burst", "burst.yaml"}}, Promises: promises}
	if err := d.keepPlan("burst", text, &timeline.Schedule{}); err != nil {
		t.Fatal(err)
	}
	s, err := m.scenario(d, "burst")
	if err != nil || !slices.Contains(s.Expect.Promised, verdict.PromiseCost) {
		t.Fatalf("got %v; want a scenario that promises what the run was told", err)
	}
	cut := m.cut(d, "burst")
	if cut == nil || cut.TimelinePath != "" || cut.Reason != verdict.Interrupted {
		t.Errorf("got %+v, want a scenario that was interrupted before it had a recording", cut)
	}
}

// TestAJournalThatIsEmpty: a run that was killed before it wrote the first line left an empty journal. It is
// told as one, and not as a timeline without observations.
func TestAJournalThatIsEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(journalName, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"check", timelineName, "--limit", "token-bucket,rate=1/s,burst=1"}
	status := run(args, strings.NewReader(""), &out, &errs)
	if status != cli.ExitNothing || !strings.Contains(errs.String(), "before anything of it was kept") {
		t.Errorf("got %d, %s%s; want that nothing was kept", status, out.String(), errs.String())
	}
}
