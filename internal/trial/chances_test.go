package trial

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

var update = flag.Bool("update", false, "write the table of chances in docs/results.md anew")

// chances are what the passed claims of a kind rest on: by kind and phrase, the fewest that any demanded.
type chances map[result.ClaimKind]map[string]int

// phaseNames are the names of phases, bounds and outcomes in a phrase.
var phaseNames = regexp.MustCompile(`phase "[^"]*"| beyond \d+|^(allowed|denied) `)

// add takes the claims of a scenario that passed.
func (all chances) add(claims []result.Claim) {
	for _, c := range claims {
		if c.Verdict != result.Pass {
			continue
		}
		of := phaseNames.ReplaceAllStringFunc(c.Chances.Of, func(s string) string {
			switch {
			case strings.HasPrefix(s, "phase"):
				return "a phase"
			case strings.HasPrefix(s, " beyond"):
				return " beyond its bound"
			default:
				return ""
			}
		})
		if all[c.Kind] == nil {
			all[c.Kind] = map[string]int{}
		}
		if least, known := all[c.Kind][of]; !known || c.Chances.Demanded < least {
			all[c.Kind][of] = c.Chances.Demanded
		}
	}
}

// documented holds that docs/results.md has the table of what the bundled scenarios rest on. A short run, or
// one of some subtests, has not seen all of them.
func (all chances) documented(t *testing.T) {
	const begin, end = "<!-- chances -->\n", "<!-- end of chances -->\n"
	const file = "../../docs/results.md"
	some := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	if testing.Short() || t.Failed() || some {
		return
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(doc), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no place for the table of chances", file)
	}
	var table strings.Builder
	table.WriteString("| claim | one chance is one of the | at least |\n|---|---|---|\n")
	for _, kind := range slices.SortedFunc(maps.Keys(all), func(a, b result.ClaimKind) int {
		return cmp.Compare(slices.Index(result.ClaimKinds(), a), slices.Index(result.ClaimKinds(), b))
	}) {
		for _, of := range slices.Sorted(maps.Keys(all[kind])) {
			fmt.Fprintf(&table, "| `%s` | %s | %d |\n", kind, of, max(1, all[kind][of]))
		}
	}
	switch want := before + begin + table.String() + end + after; {
	case want == string(doc):
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table of chances in %s is not that of the scenarios (write it with -update)", file)
	}
}
