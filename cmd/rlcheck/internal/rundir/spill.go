package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// spilled is a temporary file that is removed when it is closed. It moves to other folders if its own is
// full.
type spilled struct {
	*os.File
	size int64
	// dir is the folder of the file; "" is that of the system. others are the folders to move to.
	dir    string
	others []string
	moved  func(why error, to string)
}

// Spill makes the file for the part of a large recording that does not fit into memory.
func Spill() (timeline.Spill, error) { return SpillAlso("", nil)() }

// SpillAlso is Spill that moves to another folder if that for temporary files is full or cannot be written
// to. moved says so.
func SpillAlso(other string, moved func(why error, to string)) func() (timeline.Spill, error) {
	return func() (timeline.Spill, error) {
		s := &spilled{moved: moved}
		if other != "" {
			s.others = []string{other}
		}
		if err := s.begin(); err != nil {
			return nil, err
		}
		return s, nil
	}
}

// begin makes the file, in the first folder where that is possible.
func (s *spilled) begin() error {
	f, err := os.CreateTemp(s.dir, "rlcheck-*")
	if err != nil {
		return s.move(err)
	}
	_ = os.Remove(f.Name()) // where the system allows that, nothing is left even after a crash
	s.File = f
	return nil
}

// move continues in the next folder, after an error in this one. Without a next one it returns that error.
func (s *spilled) move(why error) error {
	name := cmp.Or(s.dir, os.TempDir())
	why = fmt.Errorf("%s: %w (make room there, or set TMPDIR to another folder)", name, cli.Cause(why))
	if len(s.others) == 0 {
		return why
	}
	s.moved(why, s.others[0])
	old := s.File
	s.dir, s.others = s.others[0], s.others[1:]
	if err := s.begin(); err != nil || old == nil {
		return errors.Join(err)
	}
	_, err := io.Copy(s.File, io.NewSectionReader(old, 0, s.size))
	_ = old.Close() // all of it was read
	_ = os.Remove(old.Name())
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, cli.Cause(err))
	}
	return nil
}

// Write appends p.
func (s *spilled) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		if err = s.move(err); err != nil {
			return n, err
		}
		return s.Write(p)
	}
	s.size += int64(n)
	return n, nil
}

// Close removes the file.
func (s *spilled) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name()) // mostly gone already
	return err
}
