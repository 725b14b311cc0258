package timeline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxProblems is how many problems of one file are reported. The others are counted.
const maxProblems = 10

// ParseError is one problem of a timeline or schedule file.
type ParseError struct {
	// File is the name that was given to the reader.
	File string
	// Line counts from 1 and lies inside the file (1 for an empty file).
	Line int
	// What quotes the offending text, Why states the rule, Mend is an edit that helps. Mend may be empty.
	What, Why, Mend string
	// More is how many further problems of the file were left out. It is set only on the last problem.
	More int
	// Err is the cause if the bytes could not be read at all. It is ErrNotJSON for a line that is no JSON
	// object, and nil for a problem of the content.
	Err error
}

// ErrNotJSON is the cause of the problem of a line that is no JSON object. The file may have another format.
var ErrNotJSON = errors.New("not a JSON object")

// Error returns file:line: what: why (mend).
func (e ParseError) Error() string {
	s := fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.What, e.Why)
	if e.Mend != "" {
		s += " (" + e.Mend + ")"
	}
	return s
}

// Unwrap returns Err.
func (e ParseError) Unwrap() error { return e.Err }

// Errors are the problems of one file in the order of its lines, at most ten and at least one.
type Errors []ParseError

// Error returns a line for each problem, and one more with the number of those left out.
func (e Errors) Error() string {
	var b strings.Builder
	for i, p := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Error())
		if p.More > 0 {
			fmt.Fprintf(&b, "\n%s: %d more left out", p.File, p.More)
		}
	}
	return b.String()
}

// Unwrap returns the problems one by one, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

// problems collects what is wrong with one file.
type problems struct {
	file string
	list Errors
	// count is how many problems there are, listed or not.
	count int
}

func (p *problems) add(e ParseError) {
	p.count++
	if len(p.list) == maxProblems {
		p.list[maxProblems-1].More++
		return
	}
	e.File = p.file
	p.list = append(p.list, e)
}

// cut takes back all problems but the first n.
func (p *problems) cut(n int) {
	p.count = n
	p.list = p.list[:min(n, len(p.list))]
	if len(p.list) == maxProblems {
		p.list[maxProblems-1].More = n - maxProblems
	}
}

// excerpt quotes text for a message, at most its first 40 bytes.
func excerpt[T ~string | ~[]byte](text T) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(string(text[:end])) + "..."
}
