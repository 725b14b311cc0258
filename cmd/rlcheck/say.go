package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
)

// speaker is all that rlcheck says: results to stdout, everything else to stderr behind "rlcheck: ". Text
// from outside is never a format string.
type speaker struct {
	out, err io.Writer
	quiet    bool
	// broken is the first error of writing a result.
	broken error
}

// Write writes a result.
func (s *speaker) Write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	if err != nil && s.broken == nil {
		s.broken = err
	}
	return n, err
}

// lost returns why results could not be printed, nil if they could. A reader that has seen enough (| head -1)
// is no trouble.
func (s *speaker) lost() error {
	if s.broken == nil || errors.Is(s.broken, syscall.EPIPE) || errors.Is(s.broken, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("standard output: results could not be printed: %w", cause(s.broken))
}

// cause is the error of the operating system without the operation and the path around it.
func cause(err error) error {
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

// resultf prints a result.
func (s *speaker) resultf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// notef says something on the side, unless -q.
func (s *speaker) notef(format string, args ...any) {
	if !s.quiet {
		s.line(fmt.Sprintf(format, args...))
	}
}

// position begins a line that says where in a file a mistake is.
var position = regexp.MustCompile(`^[^\s:]+:\d+(:\d+)?: `)

// problem prints an error, which may have several lines. A line that begins with a position stays as it is,
// so that editors find it.
func (s *speaker) problem(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if position.MatchString(line) {
			_, _ = io.WriteString(s.err, visible(line)+"\n") // there is nobody left to tell
			continue
		}
		s.line(line)
	}
}

func (s *speaker) line(text string) {
	_, _ = io.WriteString(s.err, "rlcheck: "+visible(text)+"\n") // there is nobody left to tell
}

// visible replaces what could steer a terminal: control characters and the marks of bidirectional text.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r >= ' ' && r < 0x7f, r >= 0xa0 && !bidirectional(r):
			return r
		default:
			return '\uFFFD'
		}
	}, text)
}

func bidirectional(r rune) bool {
	return r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x061c || r >= 0x2028 && r <= 0x2029
}
