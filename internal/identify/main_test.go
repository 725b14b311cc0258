package identify

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow: the tests judge thousands of small recordings, and to collect after every 4 MB
// took a third of their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(garbage)
	os.Exit(m.Run())
}

// garbage is what may be kept of it, in percent of what is in use.
const garbage = 800
