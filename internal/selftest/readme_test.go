package selftest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/target"
)

var update = flag.Bool("update", false, "write the fault table of README.md anew")

// The fault table stands between these lines of README.md.
const (
	tableBegins = "<!-- fault table: make golden -->\n"
	tableEnds   = "<!-- end of the fault table -->\n"
)

// faultTable is what each scenario claims to catch, as README.md has it. That the claims are true is what the fault matrix
// of internal/trial and `rlcheck selftest` are for.
func faultTable(t *testing.T) string {
	t.Helper()
	all, err := Bundled()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| scenario | faults it catches |\n|---|---|\n")
	claims := 0
	for _, s := range all {
		claims += len(s.Catches)
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.ID, strings.Join(s.Catches, ", "))
	}
	known := target.Faults()
	by := CaughtBy(all)
	var unclaimed []string
	for _, f := range known {
		if len(by[f.Name]) == 0 {
			unclaimed = append(unclaimed, f.Name)
		}
	}
	fmt.Fprintf(&b, "\n%d faults, %d claims", len(known), claims)
	if len(unclaimed) > 0 {
		fmt.Fprintf(&b, "; caught by no bundled scenario yet: %s", strings.Join(unclaimed, ", "))
	}
	b.WriteString(".\n")
	return b.String()
}

// TestReadmeHasTheFaultTable: the table in README.md is the one of the bundled scenarios.
func TestReadmeHasTheFaultTable(t *testing.T) {
	path := filepath.Join("..", "..", "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegins)
	got, after, ended := strings.Cut(rest, tableEnds)
	if !begun || !ended {
		t.Fatalf("README.md has no lines %q and %q", tableBegins, tableEnds)
	}
	want := faultTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the fault table of README.md is not current (run make golden):\ngot:\n%s\nwant:\n%s", got, want)
	}
}
