package lab

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/spec"
)

var update = flag.Bool("update", false, "write the fault table of docs/scenarios.md anew")

// The fault table stands between these lines of docs/scenarios.md.
const (
	tableBegins = "<!-- fault table: make golden -->\n"
	tableEnds   = "<!-- end of the fault table -->\n"
)

// faultTable returns the table of docs/scenarios.md: what each scenario claims to catch. The fault matrix of
// internal/trial and `rlcheck selftest` test that the claims are true.
func faultTable(t *testing.T) string {
	t.Helper()
	all, err := AllScenarios(nil)
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
	known := Faults()
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

// promisedOnly says what must be promised for a fault to be one; "" for most faults.
func promisedOnly(f Fault) string {
	if f.Promise == "" {
		return ""
	}
	return ", where it is promised (`--promise " + f.Promise + "`)"
}

// class is a kind of mistake that real limiters made. unshown says why no endpoint can show it.
type class struct{ id, title, unshown string }

// classes reads testdata/classes.txt.
func classes(t *testing.T) (all []class) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "classes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if id, title, found := strings.Cut(strings.TrimSpace(line), ": "); found && line[0] != '#' {
			title, unshown, _ := strings.Cut(title, " | ")
			all = append(all, class{id, title, unshown})
		}
	}
	return all
}

// TestEveryClassHasAFault: each class has a fault, or a reason why no endpoint can show it.
func TestEveryClassHasAFault(t *testing.T) {
	of := map[string]int{}
	for _, f := range Faults() {
		of[f.Class]++
	}
	known := map[string]bool{"": true}
	for _, c := range classes(t) {
		known[c.id] = true
		if (of[c.id] > 0) == (c.unshown != "") {
			t.Errorf("class %s: %d faults, and why there is none is %q: want one or the other", c.id,
				of[c.id], c.unshown)
		}
		if c.title == "" {
			t.Errorf("class %s has no title", c.id)
		}
	}
	for class := range of {
		if !known[class] {
			t.Errorf("class %q is none", class)
		}
	}
	if n := len(classes(t)); n != 22+14+17 {
		t.Errorf("got %d classes, want 22 of A, 14 of B and 17 of C", n)
	}
}

// manyLimits are limits of every kind, slow and fast, small and large.
var manyLimits = []string{"token-bucket,rate=10/s,burst=20", "token-bucket,rate=10000/s,burst=5000",
	"token-bucket,rate=1/m,burst=3", "gcra,rate=5/s,burst=1", "leaky-bucket-queue,rate=10/s,queue=5",
	"token-bucket,rate=10/s,burst=20,refill=interval,fill=10", "token-bucket,rate=10/s,burst=20,count=all",
	"fixed-window,rate=5/15m", "fixed-window,rate=20/1s", "fixed-window,rate=20/1s,align=first",
	"fixed-window,rate=20/1s,slots=5", "fixed-window,rate=20/1s,ban=5s", "fixed-window,rate=1000/30d",
	"fixed-window,rate=20/1s,align=first,refresh=all", "sliding-window-log,rate=1000/1h",
	"sliding-window-counter,rate=50/1s",
	"token-bucket,rate=10/s,burst=20,charge=completion", "concurrency,limit=5",
	"token-bucket,rate=10/s,burst=20 + fixed-window,rate=100/1m"}

// needs says which limits can show f, or why others cannot. Empty: all can.
func needs(t *testing.T, f Fault) string {
	t.Helper()
	var all []string
	for _, text := range manyLimits {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		why, _, _ := strings.Cut(f.Fits(l), " (")
		if why != "" && !strings.HasPrefix(why, "the fault") && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; not at every limit: " + strings.Join(all, "; ")
}

// catalogue returns docs/faults.md: every class, with its faults or the reason why there is none.
func catalogue(t *testing.T) string {
	t.Helper()
	all, err := AllScenarios(nil)
	if err != nil {
		t.Fatal(err)
	}
	by := CaughtBy(all)
	var b strings.Builder
	b.WriteString("# What real rate limiters got wrong\n\nWritten by `make golden` from internal/lab. A " +
		"lets too much through, B too little, C says the wrong thing.\n`rlcheck serve --fault NAME`, or " +
		"`rlcheck proxy --fault NAME`, has the fault on loopback. Each was seen in a\nreal product, or " +
		"breaks a rule. Where a limit cannot show a fault, *not at every limit* says which\ncan, or why " +
		"others cannot.\n" +
		"`rlcheck selftest --limit SPEC --distance 20ms` says what your limit shows at your distance.\n")
	section := func(title, class string) {
		fmt.Fprintf(&b, "\n## %s\n\n", title)
		for _, f := range Faults() {
			if f.Class != class {
				continue
			}
			fmt.Fprintf(&b, "- `%s`: %s ([seen](%s)); caught by %s%s%s\n", f.Name, f.Sentence, f.Citation,
				strings.Join(by[f.Name], ", "), promisedOnly(f), needs(t, f))
		}
	}
	for _, c := range classes(t) {
		section(c.id+": "+c.title, c.id)
		if c.unshown != "" {
			fmt.Fprintf(&b, "Shown by no endpoint: %s.\n", c.unshown)
		}
	}
	section("Others", "")
	b.WriteString("\n## Not seen from outside\n\nNo endpoint shows these. What to do instead stands behind " +
		"each.\n\n")
	unseen, err := os.ReadFile(filepath.Join("testdata", "unseen.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(unseen)) {
		b.WriteString("- " + strings.TrimSpace(line) + ".\n")
	}
	return b.String()
}

// TestCatalogueIsCurrent: docs/faults.md agrees with the faults.
func TestCatalogueIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "faults.md")
	want := catalogue(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/faults.md is not current (run make golden)")
	}
}

// TestDocsHaveTheFaultTable: the table in docs/scenarios.md agrees with the bundled scenarios.
func TestDocsHaveTheFaultTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "scenarios.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegins)
	got, after, ended := strings.Cut(rest, tableEnds)
	if !begun || !ended {
		t.Fatalf("docs/scenarios.md has no lines %q and %q", tableBegins, tableEnds)
	}
	want := faultTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); d != "" {
		t.Errorf("docs/scenarios.md: stale fault table (make golden writes it):\n%s", d)
	}
}
