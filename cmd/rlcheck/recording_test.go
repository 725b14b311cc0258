package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAPageOfALargeRecordingIsBounded: it draws the requests around the findings and says so; a table has
// all of them.
func TestAPageOfALargeRecordingIsBounded(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "large.ndjson")
	page, table := filepath.Join(dir, "a.html"), filepath.Join(dir, "a.csv")
	var b bytes.Buffer
	for i := range mostKept + 1000 { // 1000/s, and 30 at once in the middle
		at := i * 1e6
		if i >= mostKept/2 && i < mostKept/2+30 {
			at = mostKept / 2 * 1e6
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
		"only those around the first findings are drawn", "The witness, request by request",
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
	if n := bytes.Count(rows, []byte("\r\n")); err != nil || n != mostKept+1000+1 {
		t.Errorf("csv: got %d lines, %v, want a line for each request: %s", n, err, said.String())
	}
	out.Reset()
	if status := run(append(args[:4:4], "-o", "ndjson"), strings.NewReader(""), &out,
		&said); status != cli.ExitFail {
		t.Errorf("ndjson: got status %d, want %d: %s", status, cli.ExitFail, said.String())
	}
	if n := bytes.Count(out.Bytes(), []byte(`"outcome":"allowed"`)); n != mostKept+1000 {
		t.Errorf("ndjson: got %d requests: %.300s", n, out.String())
	}
}

// TestBesideLongRun: of a long run only parts are kept in memory, which are not drawn as if they were all.
func TestBesideLongRun(t *testing.T) {
	part := &timeline.Timeline{Observations: make([]timeline.Observation, 3)}
	part.Header.Judged.Limits = []timeline.PhaseLimit{{Limit: "token-bucket,rate=1/s,burst=1"}}
	s := &result.Scenario{Timeline: part, TimelinePath: "big/timeline.ndjson"}
	s.Counts.Sent = mostKept + 1
	if _, why := besideLimits(s, nil); !strings.Contains(why, "write --beside big/timeline.ndjson") {
		t.Errorf("got %q, want the file to read", why)
	}
	s.Counts.Sent = 3
	if limits, why := besideLimits(s, nil); why != "" || len(limits) != 1 {
		t.Errorf("got %v, %q of a short run", limits, why)
	}
}

// TestALongRecordingIsKeptPacked: nobody asked for gigabytes. What its judgement changes is written there
// too.
func TestALongRecordingIsKeptPacked(t *testing.T) {
	dir := &runDir{path: t.TempDir(), flat: true, long: 99}
	tl := &timeline.Timeline{Spool: timeline.NewSpool(func() (timeline.Spill, error) { return spill() })}
	defer tl.Spool.Close()
	for i := range 100 {
		tl.Spool.Add(&timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 1},
			Sent: time.Duration(i), Outcome: timeline.Allowed})
	}
	k := &recording{dir: dir, id: "x", red: redactor{idle: true}}
	k.whole(tl)
	tl.Header.Notes = []string{"settled"}
	k.settled(tl)
	if err := errors.Join(k.errs...); err != nil || k.path != filepath.Join(dir.path, "timeline.ndjson.zst") {
		t.Fatalf("got %s, %v", k.path, err)
	}
	files, err := os.ReadDir(dir.path)
	if err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want one file", files, err)
	}
	got, err := readKept(k.path)
	if err != nil || len(got.Observations) != 100 || len(got.Header.Notes) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}
