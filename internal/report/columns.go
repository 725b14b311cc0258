package report

import (
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// widthOf returns the width of the table that tabulate lays out.
func widthOf(head []string, rows [][]string) int {
	total := 0
	for i := range head {
		most := 0
		for _, row := range append([][]string{head}, rows...) {
			for _, l := range strings.Split(row[i], "\n") {
				most = max(most, twwidth.Width(l))
			}
		}
		total += most + 2
	}
	return total - 1
}

// tabulate lays out rows below a head and a rule, without borders. It returns the lines of the table, without
// spaces at their ends. sides has a letter for each column: l for texts, r for numbers, which stand on the
// right. Each row has as many cells as the head. A cell may have several lines, and is clean already. Errors:
// those of tablewriter.
func tabulate(head []string, sides string, rows [][]string) ([]string, error) {
	align := make([]tw.Align, len(sides))
	for i, side := range sides {
		align[i] = tw.AlignLeft
		if side == 'r' {
			align[i] = tw.AlignRight
		}
	}
	var b strings.Builder
	t := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			},
		})),
		tablewriter.WithEastAsian(tw.Off), // otherwise it asks the environment
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	t.Header(head)
	if err := t.Bulk(rows); err != nil {
		return nil, err
	}
	if err := t.Render(); err != nil {
		return nil, err
	}
	var out []string
	for _, l := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		// The line below the head is as long as the padded cells, one more than what is printed.
		if strings.HasPrefix(l, "─") {
			l = strings.TrimSuffix(l, "─")
		}
		out = append(out, strings.TrimRight(l, " "))
	}
	return out, nil
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
		case twwidth.Width(line)+1+twwidth.Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// rewrap wraps each line of text. It keeps the second half of a pair "a | b" together.
func rewrap(text string, width int) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if a, b, pair := strings.Cut(l, " | "); pair && twwidth.Width(l) > width {
			out = append(out, a, b)
		} else {
			out = append(out, Wrap(l, width)...)
		}
	}
	return strings.Join(out, "\n")
}

// clip shortens text to n columns.
func clip(text string, n int) string {
	if twwidth.Width(text) <= n {
		return text
	}
	return twwidth.Truncate(text, n-1) + "…"
}

// clipMiddle cuts a name to n columns and keeps more of its end, as names of one run begin alike.
func clipMiddle(name string, n int) string {
	if twwidth.Width(name) <= n {
		return name
	}
	begin := twwidth.Truncate(name, n/4) + "…"
	runes := []rune(name)
	for twwidth.Width(begin+string(runes)) > n {
		runes = runes[1:]
	}
	return begin + string(runes)
}

// clipFront cuts a text to its last n columns, as names of one run begin alike.
func clipFront(text string, n int) string {
	if twwidth.Width(text) <= n {
		return text
	}
	for twwidth.Width(text) >= n {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return "…" + text
}
