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
	debug.SetMemoryLimit(most)
	os.Exit(m.Run())
}

// garbage is what may be kept of it, in percent of what is in use.
const garbage = 3200

// most is how many bytes may be in use before it is collected more often. To touch two gigabytes took more
// time than to collect.
const most = 500 << 20
