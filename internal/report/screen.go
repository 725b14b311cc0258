package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text/columns"
)

// defaultWidth is the width of a terminal of unknown width. leastWidth is the narrowest width that is laid
// out for.
const (
	defaultWidth = 80
	leastWidth   = 40
	// narrow is the width below which heads are shorter.
	narrow = 60
)

// screen gathers what is written to a terminal.
type screen struct {
	text  strings.Builder
	width int
	color bool
}

func newScreen(o Options) *screen {
	return &screen{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color}
}

func (s *screen) line(format string, args ...any) { fmt.Fprintf(&s.text, format+"\n", args...) }

// wrapped writes text from column indent on, and later lines two columns farther.
func (s *screen) wrapped(indent int, words string) {
	lines := columns.Wrap(words, s.width-indent-2)
	for i, l := range lines {
		if i > 0 {
			l = "  " + l
		}
		s.line("%s%s", strings.Repeat(" ", indent), l)
	}
}

// paint prints a verdict, in colour if that is allowed. A failure that does not count is not red.
func (s *screen) paint(v result.Verdict, counts bool) string {
	return s.paintWord(strings.ToUpper(v.String()), v, counts)
}

// paintWord prints a word in the colour of a verdict.
func (s *screen) paintWord(word string, v result.Verdict, counts bool) string {
	switch {
	case v == result.Pass:
		return s.escape("32", word)
	case v == result.Fail && counts:
		return s.escape("1;31", word)
	default:
		return s.escape("33", word)
	}
}

func (s *screen) bold(text string) string { return s.escape("1", text) }

func (s *screen) dim(text string) string { return s.escape("2", text) }

func (s *screen) escape(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// table writes rows below a head. Cells are clean already and may have several lines.
func (s *screen) table(head []string, align string, rows [][]string) error {
	lines, err := columns.Table(head, align, rows)
	for _, l := range lines {
		s.line("%s", l)
	}
	return err
}
