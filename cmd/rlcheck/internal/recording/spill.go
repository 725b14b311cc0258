package recording

import (
	"fmt"
	"os"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// spilled is a temporary file that is removed when it is closed.
type spilled struct{ *os.File }

// Spill makes the file for the part of a large recording that does not fit into memory.
func Spill() (timeline.Spill, error) {
	f, err := os.CreateTemp("", "rlcheck-*")
	if err != nil {
		return nil, fmt.Errorf("%s: %w (set TMPDIR to a folder that can be written)", os.TempDir(),
			cli.Cause(err))
	}
	_ = os.Remove(f.Name()) // where the system allows that, nothing is left even after a crash
	return spilled{f}, nil
}

// Close removes the file.
func (s spilled) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name()) // mostly gone already
	return err
}
