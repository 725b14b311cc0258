package lab

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
)

// Text returns a result as text: a line for each scenario, the wrong verdicts, the kill score, and the
// unclaimed faults.
func (r *SelftestResult) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "scenario\tcorrect target\tfaults caught\n")
	for _, c := range r.Cells {
		if c.Fault != "" {
			continue
		}
		killed, claimed := r.Killed(c.Scenario)
		fmt.Fprintf(w, "%s\t%s\t%d of %d\n", c.Scenario, c.Verdict, killed, claimed)
	}
	_ = w.Flush() // writing to a builder never fails
	for _, c := range r.Cells {
		if !c.Good() {
			fmt.Fprintf(&b, "\n%s: %s\n", c.title(), c.Why)
		}
	}
	killed, claimed := r.Killed("")
	fmt.Fprintf(&b, "\n%d of %d claimed faults caught%s, in %s\n", killed, claimed,
		percent(killed, claimed), r.Duration.Round(100*time.Millisecond))
	if n := len(r.Unclaimed); n > 0 {
		fmt.Fprintf(&b, "%d of %d known faults are claimed by no bundled scenario: %s\n", n, r.Known,
			strings.Join(r.Unclaimed, ", "))
	} else {
		fmt.Fprintf(&b, "all %d known faults are claimed by a bundled scenario\n", r.Known)
	}
	if r.Interrupted {
		b.WriteString("interrupted: the rest was not tried\n")
	}
	return b.String()
}

// title says what is wrong with a cell.
func (c SelftestCell) title() string {
	switch {
	case c.Verdict == result.Inconclusive && c.Fault == "":
		return c.Scenario + ", correct target: inconclusive"
	case c.Verdict == result.Inconclusive:
		return c.Scenario + ", " + c.Fault + ": inconclusive"
	case c.Fault == "":
		return c.Scenario + " FAILS a correct target"
	default:
		return c.Scenario + " misses " + c.Fault
	}
}

func percent(part, whole int) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f %%)", 100*float64(part)/float64(whole))
}
