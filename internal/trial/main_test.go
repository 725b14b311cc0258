package trial

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow: the tests make thousands of short runs, and to collect after every 4 MB took a
// third of their time.
func TestMain(m *testing.M) {
	runtime.MemProfileRate = 0
	debug.SetGCPercent(garbage)
	os.Exit(m.Run())
}

// garbage is what may be kept of it, in percent of what is in use.
const garbage = 3200
