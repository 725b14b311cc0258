package accesslog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTwoLinesInOneAreNoRequest: if the end of a line was lost, alone or with some of its text, it stands
// before the next one. Read as one request, the pair would be a request that never was, or hide one. A line
// that was cut in its first value cannot be told from one with a longer value.
func TestTwoLinesInOneAreNoRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, c := range samples {
		text, err := os.ReadFile(filepath.Join("testdata", c.file+".log"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for i := range len(lines) - 1 {
			step, first := 3, max(strings.IndexAny(lines[i], " ,|"), 0)
			if os.Getenv("RLCHECK_SOAK") != "" {
				step = 1
			}
			if c.file == "haproxy-syslog" {
				first = strings.IndexByte(lines[i], '[') // the header of syslog
			}
			for cut := len(lines[i]); cut > first; cut -= step {
				if got := readGlued(lines, i, cut, c.o); got != nil {
					t.Errorf("%s: line %d to byte %d, and line %d, are read as one request: %+v", c.file, i+1,
						cut, i+2, got)
				}
			}
		}
	}
	lines := []string{strings.Replace(combined, "10.0.0.1", "192.0.2.7", 1), combined}
	for cut := 2; cut < 9; cut++ {
		if got := readGlued(lines, 0, cut, Options{Format: Nginx, MaxDuration: time.Second}); got != nil {
			t.Errorf("%s: read as %s", lines[0][:cut]+combined, got.Partition)
		}
	}
}

// readGlued reads a log of which line i lost all after cut, and returns the request that the line is read as.
func readGlued(lines []string, i, cut int, o Options) *timeline.Observation {
	o.SkipBad = true
	glued := slices.Concat(lines[:i], []string{lines[i][:cut] + lines[i+1]}, lines[i+2:], []string{""})
	l, err := Read(strings.NewReader(strings.Join(glued, "\n")), "x", o)
	if err != nil {
		return nil // it is refused
	}
	for _, got := range l.Timeline().Observations {
		if got.Seq == i+1 {
			return &got
		}
	}
	return nil
}
