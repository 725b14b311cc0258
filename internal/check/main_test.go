package check

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow to some megabytes. The tests make millions of small histories. Collecting after
// every 4 MB took a third of their time.
func TestMain(m *testing.M) {
	runtime.MemProfileRate = 0
	debug.SetGCPercent(garbage)
	os.Exit(m.Run())
}

// garbage is how much garbage may be kept, in percent of the memory in use.
const garbage = 3200
