package identify

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow. The tests judge thousands of small recordings. Collecting garbage every 4 MB
// took a third of their time.
func TestMain(m *testing.M) {
	runtime.MemProfileRate = 0
	debug.SetGCPercent(garbage)
	os.Exit(m.Run())
}

// garbage is the value of GOGC: how much garbage may accumulate, in percent of the memory in use.
const garbage = 3200
