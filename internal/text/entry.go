package text

import "strings"

// Entry is one entry of a file of words: its kind and name, and what the file says of it.
type Entry struct {
	Kind, Name string
	// Lines are the lines of the entry in their order.
	Lines []Line
}

// Line is a line of an Entry: its first word, and the rest.
type Line struct{ Word, Rest string }

// Entries reads a file of words, whose entries stand between blank lines. The first line of an entry is "KIND
// NAME", the others are "WORD REST".
func Entries(file string) (out []Entry) {
	for part := range strings.SplitSeq(strings.TrimSpace(file), "\n\n") {
		var e Entry
		for line := range strings.Lines(part) {
			word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if e.Kind == "" {
				e.Kind, e.Name = word, rest
			} else {
				e.Lines = append(e.Lines, Line{word, rest})
			}
		}
		out = append(out, e)
	}
	return out
}

// Get returns the rest of the lines of e that begin with a word, joined by line ends. Empty: there is none.
func (e Entry) Get(word string) string {
	var rest []string
	for _, l := range e.Lines {
		if l.Word == word {
			rest = append(rest, l.Rest)
		}
	}
	return strings.Join(rest, "\n")
}
