package reference

import (
	"fmt"
	"strings"
)

// Problem is one mistake in something written by a user, as text: what it is, which rule it breaks, and an edit that mends
// it (empty rather than guessed).
type Problem struct{ What, Why, Mend string }

// Error returns "what: why (mend)".
func (p *Problem) Error() string {
	if p.Mend == "" {
		return p.What + ": " + p.Why
	}
	return p.What + ": " + p.Why + " (" + p.Mend + ")"
}

// KeyError is a mistake at one of the pairs given to Build.
type KeyError struct {
	Problem
	// Pair is the index of the pair that is wrong, or -1: the algorithm itself, or a pair that is missing.
	Pair int
	// InValue tells that the pair's value is wrong; otherwise its key is.
	InValue bool
}

// SpecError is a mistake at one place of a SPEC.
type SpecError struct {
	Problem
	// Column is the place, in bytes from 1.
	Column int
}

// ParseError is what Parse returns: every mistake of one SPEC.
type ParseError struct {
	Spec string
	// Problems ascend by Column; never empty.
	Problems []SpecError
}

// mostProblems is how many problems Error prints.
const mostProblems = 10

// Error returns one line for each problem, "limit:COLUMN: what: why (mend)", at most ten, then how many were left out.
func (e *ParseError) Error() string {
	var b strings.Builder
	for i := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == mostProblems {
			fmt.Fprintf(&b, "limit: %d more problems", len(e.Problems)-mostProblems)
			break
		}
		fmt.Fprintf(&b, "limit:%d: %s", e.Problems[i].Column, e.Problems[i].Error())
	}
	return b.String()
}

// nearest returns the mend "did you mean ...?" for the word of known that is the fewest edits away from wrong, or "" where
// none is near.
func nearest(wrong string, known []string) string {
	wrong = strings.ToLower(wrong)
	best, distance := "", max(2, len(wrong)/3)+1
	for _, k := range known {
		if d := edits(wrong, k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// edits returns the number of insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal
// string alignment). Words over 64 bytes are taken as unlike everything.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	var rows [3][65]int
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
