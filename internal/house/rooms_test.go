package house

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "lower the numbers of lines in testdata/rooms.txt")

// room is a row of testdata/rooms.txt.
type room struct {
	name  string
	lines int
}

// rooms reads the table, from the lowest room to the highest, and the comment at its head.
func rooms(t *testing.T) (head string, out []room) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "rooms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			head += line
			continue
		}
		var r room
		if _, err := fmt.Sscan(line, &r.name, &r.lines); err != nil {
			t.Fatalf("rooms.txt: %q: %v (write NAME LINES)", line, err)
		}
		out = append(out, r)
	}
	return head, out
}

// tables counts the lines of the text files of a room. They are embedded tables, which a reader reads too.
func tables(t *testing.T, room string) (n int) {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(room), "*.txt"))
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(text), "\n")
	}
	return n
}

// TestRoomsOnlyShrink: the lines of each room, with its text files and without tests, are at most those in
// the table.
func TestRoomsOnlyShrink(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t) {
		lines[s.pkg] += 0 // a room may have only tests
		if !s.test {
			lines[s.pkg] += s.lines
		}
	}
	table, all := rooms(t)
	for _, r := range all {
		n, exists := lines[r.name]
		n += tables(t, r.name)
		if !exists && !*update {
			t.Errorf("rooms.txt: %s has no file (remove its line)", r.name)
		}
		if n > r.lines {
			t.Errorf("%s has %d lines, over %d (shorten it, or raise the number by hand in a commit that "+
				"says what a user gets)", r.name, n, r.lines)
		}
		if n < r.lines && !*update {
			t.Errorf("%s has %d lines and not %d (run go test ./internal/house -update)", r.name, n, r.lines)
		}
		if exists {
			table += fmt.Sprintln(r.name, min(n, r.lines))
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "rooms.txt"), []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImportsGoDown: a room imports only rooms that stand before it in the table. A new room that is not in
// it fails the build.
func TestImportsGoDown(t *testing.T) {
	place := map[string]int{}
	_, all := rooms(t)
	for i, r := range all {
		place[r.name] = i + 1
	}
	for _, s := range sources(t) {
		if place[s.pkg] == 0 {
			t.Errorf("%s: room %s is not in testdata/rooms.txt", s.path, s.pkg)
		}
		if s.test {
			continue
		}
		for _, imp := range imports(s.ast) {
			if room, ok := ours(imp); ok && place[room] >= place[s.pkg] {
				t.Errorf("%s imports %s, which does not stand before %s in testdata/rooms.txt", s.path, room,
					s.pkg)
			}
		}
	}
}
