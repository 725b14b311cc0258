package timeline

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// addTables adds the files in a table of problems as seeds.
func addTables(f *testing.F, table string) {
	text, err := os.ReadFile(filepath.Join("testdata/problems", table))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "=== ")[1:] {
		_, rest, _ := strings.Cut(c, "\n")
		file, _, _ := strings.Cut(rest, "----\n")
		f.Add([]byte(file))
	}
}

// linesOf is the number of lines of an uncompressed file.
func linesOf(file []byte) int {
	n := bytes.Count(file, []byte("\n"))
	if !bytes.HasSuffix(file, []byte("\n")) {
		n++
	}
	return max(n, 1)
}

func FuzzRead(f *testing.F) {
	addTables(f, "timeline")
	design, err := os.ReadFile("testdata/design.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(design)
	f.Add([]byte(`{"start":1,"key":"a","outcome":"allowed","partiton":"b"}` + "\n" +
		`{"start":2,"outcome":"denied","units":3,"x":{}}`))
	f.Add([]byte(`{"sent\n":0}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		for line := range bytes.SplitSeq(file, []byte("\n")) {
			agree(t, line)
		}
		tl, err := Read(bytes.NewReader(file), "x", ReadOptions{})
		checkRead(t, file, tl, err)
		tl, err = Read(bytes.NewReader(file), "x",
			ReadOptions{Columns: map[string]string{"partition": "key", "sent_ns": "start", "cost": ""}})
		checkRead(t, file, tl, err)
	})
}

func FuzzReadCSV(f *testing.F) {
	addTables(f, "csv")
	f.Add([]byte("sent_ns,status,fields,fields.A,body,partition\n" +
		"1,200,\"{\"\"B\"\":\"\"2\"\"}\",3,\"a\nb\",k\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tl, err := ReadCSV(bytes.NewReader(file), "x", ReadOptions{})
		checkRead(t, file, tl, err)
	})
}

// checkRead checks that a recording that could be read is written and read back the same. Otherwise it checks
// the form of the errors.
func checkRead(t *testing.T, file []byte, tl *Timeline, err error) {
	t.Helper()
	if err != nil {
		if !bytes.HasPrefix(file, []byte("\x1f\x8b")) {
			checkLines(t, err, linesOf(file))
		}
		return
	}
	if len(tl.Observations) == 0 {
		t.Fatal("nothing was read, without an error")
	}
	same(t, mustRead(t, mustWrite(t, tl)), tl)
}

func FuzzReadSchedule(f *testing.F) {
	f.Add([]byte(planText))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := ReadSchedule(bytes.NewReader(file), "x")
		if err != nil {
			return
		}
		var b, again bytes.Buffer
		if err := WriteSchedule(&b, s); err != nil { // the name of a partition that no recording has
			return
		}
		written := b.String()
		if s, err = ReadSchedule(&b, "x"); err != nil || WriteSchedule(&again, s) != nil ||
			again.String() != written {
			t.Fatalf("got %s, want %s: %v", again.String(), written, err)
		}
	})
}

// FuzzReadJournal: whatever a killed run left either is a recording, or gives an error with a line. The
// recording can be written and read again, in memory and from a file alike.
func FuzzReadJournal(f *testing.F) {
	head := `{"rlcheck":"journal/v1","started":"2026-11-22T10:00:00Z","free":1}` + "\n"
	const one = `{"seq":-1,"at_ns":1,"sent_ns":1,"outcome":"unknown","cost":1,"error":"interrupted","open":1}
`
	const end = `{"seq":-1,"at_ns":1,"sent_ns":1,"first_byte_ns":6,"status":200,"outcome":"allowed","open":1}
`
	f.Add([]byte(head + one + `{"mark":5}` + "\n" + end + `{"mark":9,"notes":["x"]}` + "\n{"))
	f.Add([]byte(head + one + one + one + `{"mark":5}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		none := func() (Spill, error) { return nil, errDiskFull } // so little needs no file
		tl, err := ReadJournal(bytes.NewReader(file), "j", 1000, none)
		if err != nil {
			if !bytes.HasPrefix(file, []byte("\x1f\x8b")) {
				checkLines(t, err, linesOf(file))
			}
			return
		}
		if len(tl.Observations) > 0 {
			mustRead(t, mustWrite(t, tl))
		}
		long, err := ReadJournal(bytes.NewReader(file), "j", 0, none)
		if err != nil || long.Sent() != len(tl.Observations) {
			t.Fatalf("got %d observations, %v, want %d", long.Sent(), err, len(tl.Observations))
		}
	})
}
