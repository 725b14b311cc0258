package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxPrinted is how many problems one message shows.
const maxPrinted = 10

// Problem is one mistake of a scenario file, or something worth a warning. It has the place, the offending
// text, the broken rule, and an edit that mends it.
type Problem struct {
	// File is the name given to Parse, or the text of a setting ("--set target.url=...").
	File string
	// Line and Col count lines and characters from 1. Both are 0 for a setting, which has no lines.
	Line, Col int
	// Path leads to the value, as in phases[0].duration. Empty: the file as a whole.
	Path string
	// What quotes the offending text, Why states the rule, Mend is an edit that the reader can make. Mend may
	// be empty.
	What, Why, Mend string
}

// Error returns `file:line:col: path: what: why (mend)`, without the parts that are empty. For a flag like
// --limit it leaves out the path, as the flag says it.
func (p Problem) Error() string {
	var b strings.Builder
	if strings.HasPrefix(p.File, "--") && !strings.HasPrefix(p.File, "--set ") {
		p.Path = ""
	}
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	for _, part := range []string{p.Path, p.What, p.Why} {
		if part != "" {
			b.WriteString(": ")
			b.WriteString(part)
		}
	}
	if p.Mend != "" {
		b.WriteString(" (" + p.Mend + ")")
	}
	return b.String()
}

// Errors are all problems of one file, in file order. Those of settings come last. It is never empty where it
// is returned as an error.
type Errors []Problem

// Error returns the first ten problems, one on each line, and how many more there are.
func (e Errors) Error() string {
	lines := make([]string, 0, min(len(e), maxPrinted)+1)
	for i, p := range e {
		if i == maxPrinted {
			lines = append(lines, fmt.Sprintf("%s: and %d more", p.File, len(e)-i))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// Err sorts the problems and returns them as an error, or nil if there are none.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	e.Sort()
	return e
}

// Sort orders problems by position. Those of settings, which have none, come last in the order in which they
// were found.
func (e Errors) Sort() {
	slices.SortStableFunc(e, func(a, b Problem) int {
		const last = math.MaxInt
		return cmp.Or(cmp.Compare(cmp.Or(a.Line, last), cmp.Or(b.Line, last)), cmp.Compare(a.Col, b.Col))
	})
}

// clip shortens a text from outside, so that a message stays one line.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// Quote returns s clipped and in quotes.
func Quote(s string) string { return fmt.Sprintf("%q", clip(s)) }
