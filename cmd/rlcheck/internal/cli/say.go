package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Speaker prints everything that rlcheck says: results to stdout, everything else to stderr behind "rlcheck:
// ". Text from outside is never a format string.
type Speaker struct {
	Out, Err io.Writer
	Quiet    bool
	// Broken is the first error of writing a result.
	Broken error
}

// Write writes a result.
func (s *Speaker) Write(p []byte) (int, error) {
	n, err := s.Out.Write(p)
	if err != nil && s.Broken == nil {
		s.Broken = err
	}
	return n, err
}

// Lost returns why results could not be printed, or nil if they could. A reader that has seen enough (| head
// -1) is no error.
func (s *Speaker) Lost() error {
	if s.Broken == nil || errors.Is(s.Broken, syscall.EPIPE) || errors.Is(s.Broken, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("standard output: results could not be printed: %w", Cause(s.Broken))
}

// Cause returns the error of the operating system without the operation and the path around it.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Resultf prints a result.
func (s *Speaker) Resultf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// Notef prints a line on stderr, unless -q.
func (s *Speaker) Notef(format string, args ...any) {
	if !s.Quiet {
		s.Line(fmt.Sprintf(format, args...))
	}
}

// position matches the beginning of a line that says where in a file a mistake is.
var position = regexp.MustCompile(`^[^\s:]+:\d+(:\d+)?: `)

// Problem prints an error, which may have several lines. A line that begins with a position stays as it is,
// so that editors find it.
func (s *Speaker) Problem(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if position.MatchString(line) {
			_, _ = io.WriteString(s.Err, Visible(line)+"\n") // there is nobody left to tell
			continue
		}
		s.Line(line)
	}
}

// Line prints a line on stderr, even with -q. A terminal would break its words.
func (s *Speaker) Line(text string) {
	lines := []string{"rlcheck: " + Visible(text)}
	if width := Terminal(s.Err); width > 0 && len(lines[0]) > width {
		lines = report.Wrap(lines[0], width-2)
	}
	_, _ = io.WriteString(s.Err, strings.Join(lines, "\n  ")+"\n") // there is nobody left to tell
}

// Visible replaces characters that could steer a terminal: control characters and the marks of bidirectional
// text. It breaks the commands of CI runners.
func Visible(s string) string {
	s = text.Inert(s)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r >= ' ' && r < 0x7f, r >= 0xa0 && !bidirectional(r):
			return r
		default:
			return '\uFFFD'
		}
	}, s)
}

func bidirectional(r rune) bool {
	return r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x061c || r >= 0x2028 && r <= 0x2029
}
