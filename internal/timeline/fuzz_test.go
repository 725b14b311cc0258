package timeline

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// addTables adds the files of a table of problems as seeds.
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

// linesOf is the number of lines of a file that is not compressed.
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
	f.Fuzz(func(t *testing.T, file []byte) {
		for line := range bytes.SplitSeq(file, []byte("\n")) {
			agree(t, line)
		}
		tl, err := Read(bytes.NewReader(file), "x", Options{})
		checkRead(t, file, tl, err)
		tl, err = Read(bytes.NewReader(file), "x",
			Options{Columns: map[string]string{"partition": "key", "sent_ns": "start", "cost": ""}})
		checkRead(t, file, tl, err)
	})
}

func FuzzReadCSV(f *testing.F) {
	addTables(f, "csv")
	f.Add([]byte("sent_ns,status,fields,fields.A,body,partition\n" +
		"1,200,\"{\"\"B\"\":\"\"2\"\"}\",3,\"a\nb\",k\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tl, err := ReadCSV(bytes.NewReader(file), "x", Options{})
		checkRead(t, file, tl, err)
	})
}

// checkRead checks that a recording that could be read is written and read the same, and the form of the
// errors otherwise.
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
	addTables(f, "schedule")
	f.Add([]byte(planText))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := ReadSchedule(bytes.NewReader(file), "x")
		if err != nil {
			if !bytes.HasPrefix(file, []byte("\x1f\x8b")) {
				checkLines(t, err, linesOf(file))
			}
			return
		}
		var b bytes.Buffer
		if err := WriteSchedule(&b, s); err != nil {
			t.Fatalf("%+v cannot be written: %v", s, err)
		}
		again, err := ReadSchedule(&b, "x")
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("got %+v, want %+v: %v", again, s, err)
		}
	})
}
