package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// killedScenarios are a short scenario and one that lasts longer than the test allows.
const killedScenarios = `id: ID
title: Admissions follow the limit
kind: required
target: {url: builtin, header: {Authorization: "Bearer ${SECRET}"}}
partition: {header: X-Api-Key, fresh: true}
limit: {algorithm: token-bucket, rate: 1/1h, burst: 5}
phases:
  - {name: full, shape: at-once, requests: 10}
  - {name: clients, shape: closed, clients: 1, requests: 40}
  - {name: on, shape: constant, rate: "${RATE}", duration: LASTS}
expect: {conformance: exact}
`

// TestAKilledRunCanBeRead kills the real program at any moment. Each time, what it left can be reported and
// checked, and accuses nobody.
func TestAKilledRunCanBeRead(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	t.Parallel()
	limit, err := spec.Parse("token-bucket,rate=1/1h,burst=5")
	if err != nil {
		t.Fatal(err)
	}
	limited, err := lab.New(lab.Options{Limit: limit, PartitionHeader: "X-Api-Key"})
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	var came counter
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.n.Add(1)
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // so that some requests are in flight
		limited.ServeHTTP(w, r)
	}))
	defer srv.Close()
	dir := t.TempDir()
	for id, lasts := range map[string]string{"one": "300ms", "two": "60s", "three": "60s"} {
		text := strings.NewReplacer("ID", id, "LASTS", lasts).Replace(killedScenarios)
		if err := os.WriteFile(filepath.Join(dir, id+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	times := 10
	cut := 0
	for n := range times {
		after := time.Duration(rand.Int64N(int64(2500 * time.Millisecond)))
		wait := func() { time.Sleep(after) }
		if n == 0 { // surely within the second scenario, however slow the machine is
			wait = func() { came.reaches(900, patience) }
		}
		if killed(t, dir, srv.URL, wait, n%2 == 0) {
			cut++
		}
	}
	if cut == 0 {
		t.Error("no run was killed within a scenario")
	}
}

// killed runs the program, kills it when wait returns, and reads what it left. It returns whether a scenario
// was cut. If serial is set, scenarios are recorded one after the other.
func killed(t *testing.T, dir, url string, wait func(), serial bool) bool {
	t.Helper()
	rlcheck := func(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
		cmd := exec.Command("rlcheck", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SECRET=hunter2hunter2", "RATE=300/s")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		return cmd, &out, &errs
	}
	run, _, errs := rlcheck("run", "one.yaml", "two.yaml", "three.yaml", "-t", url, "--limit",
		"token-bucket,rate=1/1h,burst=5", "--out", "run", "--serial="+strconv.FormatBool(serial))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	wait()
	after := time.Since(began)
	_ = run.Process.Kill()
	_ = run.Wait() // it was killed
	if _, err := os.Stat(filepath.Join(dir, "run", rundir.ManifestName)); err != nil {
		t.Logf("killed after %v, before it had a folder: %s", after, errs)
		return false
	}
	report, out, errs := rlcheck("report", "run", "-o", "json")
	report.Env = os.Environ() // what the run was told is not given again
	if err := report.Run(); err != nil {
		info, _ := os.Stat(filepath.Join(dir, "run", rundir.ManifestName))
		if info != nil && info.Size() == 0 {
			return false // killed while the manifest was written
		}
		t.Fatalf("killed after %v: report: %v: %s", after, err, errs)
	}
	return readKilled(t, dir, after, out.Bytes(), rlcheck)
}

// readKilled checks a report of a killed run and reads its recordings.
func readKilled(t *testing.T, dir string, after time.Duration, report []byte,
	rlcheck func(...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer)) (cut bool) {
	t.Helper()
	var r struct {
		Interrupted bool
		NotBegun    []string `json:"not_begun"`
		Scenarios   []struct{ ID, Verdict, Reason, Timeline string }
	}
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || len(r.Scenarios)+len(r.NotBegun) != 3 || bytes.Contains(report, []byte("hunter2")) {
		t.Errorf("killed after %v: got %s", after, report)
	}
	for i, s := range r.Scenarios {
		if last := i == len(r.Scenarios)-1; s.Verdict == "fail" || last && i > 0 &&
			s.Reason != "interrupted" {
			t.Errorf("killed after %v: %s: got %s %s", after, s.ID, s.Verdict, s.Reason)
		}
		if s.Timeline == "" {
			if s.Reason != "interrupted" {
				t.Errorf("killed after %v: %s has no recording", after, s.ID)
			}
			continue // killed before the recording began
		}
		part := strings.HasSuffix(s.Timeline, rundir.JournalName)
		name := strings.TrimSuffix(s.Timeline, ".part")
		check, out, errs := rlcheck("check", name, "--limit", "token-bucket,rate=1/1h,burst=5")
		err := check.Run()
		status := check.ProcessState.ExitCode()
		nothing := strings.Contains(errs.String(), "before anything of it was kept")
		if err != nil && status != cli.ExitInconclusive && !(part && nothing && status == cli.ExitNothing) {
			t.Errorf("killed after %v: check of %s: status %d: %s%s", after, s.Timeline, status, out, errs)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, s.Timeline)); bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s has a secret", s.Timeline)
		}
		cut = cut || part && !nothing
	}
	return cut
}
