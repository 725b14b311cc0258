package spec

import (
	"fmt"
	"strings"
)

// Problem is one mistake in something that a user wrote, as text: what it is, which rule it breaks, and an
// edit that mends it. Mend is empty rather than guessed.
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
	// Pair is the index of the wrong pair. -1: the algorithm is wrong, or a pair is missing.
	Pair int
	// InValue: the value of the pair is wrong, otherwise its key is.
	InValue bool
}

// SpecError is a mistake at one place of a SPEC.
type SpecError struct {
	Problem
	// Column is the place, in bytes from 1.
	Column int
}

// ParseError is the error of Parse: every mistake of one SPEC.
type ParseError struct {
	Spec string
	// Problems ascend by Column; never empty.
	Problems []SpecError
}

// mostProblems is how many problems Error prints.
const mostProblems = 10

// Error returns one line for each problem, "limit:COLUMN: what: why (mend)". It prints at most ten, and then
// how many were left out.
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
