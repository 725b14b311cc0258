package timeline

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

var rewrite = flag.Bool("rewrite", false, "write what the tables of testdata/problems should expect")

// TestProblems reads the files in the tables testdata/problems. A case is === with its name, the file, ----,
// what Read says, and an empty line.
func TestProblems(t *testing.T) {
	readers := map[string]func(io.Reader) error{
		"timeline": func(r io.Reader) error { _, err := Read(r, "x.ndjson", ReadOptions{}); return err },
		"csv":      func(r io.Reader) error { _, err := ReadCSV(r, "x.csv", ReadOptions{}); return err },
	}
	for name, read := range readers {
		path := "testdata/problems/" + name
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var now strings.Builder
		for _, c := range strings.Split(string(text), "=== ")[1:] {
			title, rest, _ := strings.Cut(c, "\n")
			file, want, ok := strings.Cut("\n"+rest, "\n----\n")
			if !ok {
				t.Fatalf("%s: %s: no ----", path, title)
			}
			file = strings.TrimPrefix(file+"\n", "\n")
			fmt.Fprintf(&now, "=== %s\n%s----\n", title, file)
			if strings.Contains(title, "no newline") {
				file = strings.TrimSuffix(file, "\n")
			}
			got := "no problem"
			if err := read(strings.NewReader(file)); err != nil {
				got = err.Error()
				checkLines(t, err, strings.Count(file, "\n")+1)
			}
			fmt.Fprintf(&now, "%s\n\n", got)
			if want = strings.TrimSuffix(want, "\n\n"); got != want && !*rewrite {
				t.Errorf("%s: %s: got\n%s\nwant\n%s", path, title, got, want)
			}
		}
		if *rewrite {
			if err := os.WriteFile(path, []byte(now.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkLines checks what holds for all errors of a reader.
func checkLines(t *testing.T, err error, lines int) {
	t.Helper()
	all, ok := err.(Errors)
	if !ok || len(all) == 0 || len(all) > maxProblems {
		t.Fatalf("got %T of %d problems: %v", err, len(all), err)
	}
	last := 1
	for i, p := range all {
		if p.Line < last || p.Line > max(lines, 1) {
			t.Errorf("a problem in line %d of %d, after one in line %d: %v", p.Line, lines, last, p)
		}
		last = p.Line
		if p.What == "" || p.Why == "" || p.More > 0 && i != maxProblems-1 ||
			strings.Contains(p.Error(), "\n") {
			t.Errorf("problem %+v", p)
		}
	}
}

// TestFilesInOtherForms: the error distinguishes a file that is no recording from a recording with mistakes.
func TestFilesInOtherForms(t *testing.T) {
	packed := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const line = `{"sent_ns":1,"outcome":"allowed"}` + "\n"
	const read = "; plain text in UTF-8, gzip and zstd are read "
	damaged := []byte(packed(line))
	damaged[len(damaged)-5] ^= 1
	for _, c := range []struct{ file, want string }{
		{zstdMagic + line, // no module reads it here
			"x:1: the file: it is compressed with zstd" + read + "(zstd -dc FILE | rlcheck check -)"},
		{"BZh91AY",
			"x:1: the file: it is compressed with bzip2" + read + "(bzip2 -dc FILE | rlcheck check -)"},
		{"\xff\xfe{\x00",
			"x:1: the file: it is in UTF-16" + read + "(iconv -f UTF-16 -t UTF-8 FILE | rlcheck check -)"},
		{"{\x00\"\x00",
			"x:1: the file: it is in UTF-16" + read + "(iconv -f UTF-16LE -t UTF-8 FILE | rlcheck check -)"},
		{"\x00{\x00\"",
			"x:1: the file: it is in UTF-16" + read + "(iconv -f UTF-16BE -t UTF-8 FILE | rlcheck check -)"},
		{packed(packed(line)),
			"x:1: the file: it is compressed with gzip twice" + read + "(zcat FILE | rlcheck check -)"},
		{packed(line) + "not gzip at all",
			"x:1: end of the compressed data: what follows it is not gzip (copy it again)"},
		{string(damaged),
			"x:1: the compressed data: its checksum is wrong: the file is damaged (copy it again)"},
		{packed(line) + packed(""), ""},
	} {
		_, err := Read(strings.NewReader(c.file), "x", ReadOptions{})
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestACutArchiveIsAProblemOfItsLastLine(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(mustWrite(t, benchTimeline(10_000)))
	z.Close()
	_, err := Read(bytes.NewReader(b.Bytes()[:b.Len()/2]), "x", ReadOptions{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "the file is cut") {
		t.Errorf("got %v, want that the file is cut", err)
	}
	_, err = Read(strings.NewReader("\x1f\x8bxxxxxxxxxxxxxxxxxx"), "x", ReadOptions{})
	if !errors.Is(err, gzip.ErrHeader) || !strings.HasPrefix(err.Error(), "x:1: ") {
		t.Errorf("got %v, want gzip.ErrHeader in line 1", err)
	}
}

func TestTheReadersErrorIsKept(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader(`{"sent_ns":1,"status":200}`+"\n"+`{"sent`),
		iotest.ErrReader(broken))
	_, err := Read(r, "x", ReadOptions{})
	if !errors.Is(err, broken) || err.Error() != "x:2: reading: broken" {
		t.Errorf("got %v, want x:2: reading: broken", err)
	}
}

func TestALineHasAtMostOneMebibyte(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	line := func(size int) string {
		const start, end = `{"sent_ns":1,"status":200,"body":"`, `"}`
		return start + strings.Repeat("x", size-len(start)-len(end)) + end
	}
	for _, eol := range []string{"\n", "\r\n", ""} {
		tl, err := Read(strings.NewReader(line(MaxLine)+eol), "x", ReadOptions{})
		if err != nil || len(tl.Observations[0].Body) < MaxLine-50 {
			t.Errorf("a line of %d bytes, then %q: %v", MaxLine, eol, err)
		}
		for _, size := range []int{MaxLine + 1, MaxLine + 3} {
			_, err = Read(strings.NewReader(line(size)+eol+"\n"+`{"sent_ns":1}`), "x", ReadOptions{})
			if err == nil || !strings.HasPrefix(err.Error(), "x:1: line of more than 1048576 bytes") ||
				!strings.Contains(err.Error(), ":2: ") && eol == "" {
				t.Errorf("a line of %d bytes, then %q: %v", size, eol, err)
			}
		}
	}
	open := "sent_ns,outcome,body\n1,allowed,\"" + strings.Repeat("a line of the cell\n", MaxLine/16)
	if _, err := ReadCSV(strings.NewReader(open), "x", ReadOptions{}); err == nil ||
		!strings.Contains(err.Error(), "quote is open") {
		t.Errorf("a cell of more than 1 MiB: %v", err)
	}
}

func TestNothingComesAfterAProblem(t *testing.T) {
	good := `{"sent_ns":1,"status":200}` + "\n"
	r := NewReader(strings.NewReader(good+"{}\n"+good+"{}\n"), "x", ReadOptions{})
	var o Observation
	if err := r.Next(&o); err != nil || o.Outcome != Allowed {
		t.Fatalf("first: %+v, %v", o, err)
	}
	for range 2 {
		err := r.Next(&o)
		if all, ok := err.(Errors); !ok || len(all) != 2 || all[0].Line != 2 || all[1].Line != 4 {
			t.Fatalf("got %v, want the problems of lines 2 and 4", err)
		}
	}
}
