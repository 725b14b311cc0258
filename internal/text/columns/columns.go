// Package columns lays texts out for a terminal: tables, and lines of a given width.
package columns

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// shown measures texts as a terminal shows them, without the escape sequences of colours.
var shown = displaywidth.Options{ControlSequences: true}

// widths returns the width of each column: that of the longest line of a cell.
func widths(head []string, rows [][]string) []int {
	out := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i := range out {
			for l := range strings.SplitSeq(row[i], "\n") {
				out[i] = max(out[i], shown.String(l))
			}
		}
	}
	return out
}

// Width returns the width of the table that Table lays out.
func Width(head []string, rows [][]string) int {
	total := -1
	for _, w := range widths(head, rows) {
		total += w + 2
	}
	return total
}

// Table lays out rows below a head and a rule, without borders. It returns the lines of the table, without
// spaces at their ends. sides has a letter for each column: l for texts, r for numbers, which stand on the
// right. Each row has as many cells as the head. A cell may have several lines, and is clean already.
func Table(head []string, sides string, rows [][]string) []string {
	width := widths(head, rows)
	out := append(laid(head, sides, width), strings.Repeat("─", Width(head, rows)))
	for _, row := range rows {
		out = append(out, laid(row, sides, width)...)
	}
	return out
}

// laid returns the lines of a row. A cell has a space on each side.
func laid(row []string, sides string, width []int) (out []string) {
	for k, more := 0, true; more; k++ {
		line := ""
		more = false
		for i, cell := range row {
			lines := append(strings.Split(cell, "\n"), make([]string, k)...)
			more = more || strings.Count(cell, "\n") > k
			room := strings.Repeat(" ", width[i]-shown.String(lines[k]))
			if sides[i] == 'r' {
				line += " " + room + lines[k] + " "
			} else {
				line += " " + lines[k] + room + " "
			}
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}

// Wrap breaks text at spaces into lines of at most width columns. A longer word stands on a line of its own,
// whole, so that it can be copied.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case shown.String(line)+1+shown.String(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// Rewrap wraps each line of text. It keeps the second half of a pair "a | b" together.
func Rewrap(text string, width int) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if a, b, pair := strings.Cut(l, " | "); pair && shown.String(l) > width {
			out = append(out, a, b)
		} else {
			out = append(out, Wrap(l, width)...)
		}
	}
	return strings.Join(out, "\n")
}

// Clip shortens text to n columns.
func Clip(text string, n int) string {
	if shown.String(text) <= n {
		return text
	}
	return shown.TruncateString(text, n, "…")
}

// ClipMiddle cuts a name to n columns and keeps more of its end, as names of one run begin alike.
func ClipMiddle(name string, n int) string {
	if shown.String(name) <= n {
		return name
	}
	begin := shown.TruncateString(name, n/4+1, "…")
	runes := []rune(name)
	for shown.String(begin+string(runes)) > n {
		runes = runes[1:]
	}
	return begin + string(runes)
}

// ClipFront cuts a text to its last n columns, as names of one run begin alike.
func ClipFront(text string, n int) string {
	if shown.String(text) <= n {
		return text
	}
	for shown.String(text) >= n {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return "…" + text
}
