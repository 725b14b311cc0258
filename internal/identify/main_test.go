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

// gap skips what identify does not find any more since it asks fewer kinds. A soak shows it.
func gap(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("RLCHECK_SOAK") == "" {
		t.Skip("known gap: " + what)
	}
}
