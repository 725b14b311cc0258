package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAPageOfALargeRecordingIsBounded: the page draws only the requests around the findings, and says so. A
// table lists all of them.
func TestAPageOfALargeRecordingIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "large.ndjson")
	page, table := filepath.Join(dir, "a.html"), filepath.Join(dir, "a.csv")
	var b bytes.Buffer
	for i := range rundir.MostInMemory + 1000 { // 1000/s, and 30 at once in the middle
		at := i * 1e6
		if i >= rundir.MostInMemory/2 && i < rundir.MostInMemory/2+30 {
			at = rundir.MostInMemory / 2 * 1e6
		}
		fmt.Fprintf(&b, `{"sent_ns":%d,"first_byte_ns":%d,"outcome":"allowed"}`+"\n", at, at+1000)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	args := []string{"check", name, "--limit", "token-bucket,rate=1000/s,burst=20",
		"-o", "html=" + page, "-o", "csv=" + table}
	if status := run(args, strings.NewReader(""), &out, &said); status != cli.ExitFail {
		t.Fatalf("got status %d, want %d: %s", status, cli.ExitFail, said.String())
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"only the requests around the first findings are drawn", "The witness, request by request",
		"201,000 allowed",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if bytes.Contains(text, []byte("Requests over time")) || len(text) > 100_000 {
		t.Errorf("the page has %d bytes, and pictures of what was not kept", len(text))
	}
	rows, err := os.ReadFile(table)
	if n := bytes.Count(rows, []byte("\r\n")); err != nil || n != rundir.MostInMemory+1000+1 {
		t.Errorf("csv: got %d lines, %v, want a line for each request: %s", n, err, said.String())
	}
	out.Reset()
	if status := run(append(args[:4:4], "-o", "ndjson"), strings.NewReader(""), &out,
		&said); status != cli.ExitFail {
		t.Errorf("ndjson: got status %d, want %d: %s", status, cli.ExitFail, said.String())
	}
	if n := bytes.Count(out.Bytes(), []byte(`"outcome":"allowed"`)); n != rundir.MostInMemory+1000 {
		t.Errorf("ndjson: got %d requests: %.300s", n, out.String())
	}
}

// TestBesideLongRun: of a long run only parts are kept in memory. They are not drawn as if they were the
// whole.
func TestBesideLongRun(t *testing.T) {
	part := &timeline.Timeline{Observations: make([]timeline.Observation, 3)}
	part.Header.Judged.Limits = []timeline.PhaseLimit{{Limit: "token-bucket,rate=1/s,burst=1"}}
	s := &result.Scenario{Timeline: part, Kept: result.Kept{TimelinePath: "big/timeline.ndjson"}}
	s.Counts.Sent = rundir.MostInMemory + 1
	if _, why := besideLimits(s, nil); !strings.Contains(why, "write --beside big/timeline.ndjson") {
		t.Errorf("got %q, want the file to read", why)
	}
	s.Counts.Sent = 3
	if limits, why := besideLimits(s, nil); why != "" || len(limits) != 1 {
		t.Errorf("got %v, %q of a short run", limits, why)
	}
}

// TestAJournalThatIsEmpty: a run that was killed before it wrote the first line left an empty journal. The
// message says so, and does not call it a timeline without observations.
func TestAJournalThatIsEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(rundir.JournalName, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"check", rundir.TimelineName, "--limit", "token-bucket,rate=1/s,burst=1"}
	status := run(args, strings.NewReader(""), &out, &errs)
	if status != cli.ExitNothing || !strings.Contains(errs.String(), "before anything of it was kept") {
		t.Errorf("got %d, %s%s; want that nothing was kept", status, out.String(), errs.String())
	}
}
