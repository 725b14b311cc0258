package check

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow to some megabytes: the tests make millions of small histories, and to collect
// them after every 4 MB took a third of their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(garbage)
	os.Exit(m.Run())
}

// garbage is what may be kept of it, in percent of what is in use.
const garbage = 800
