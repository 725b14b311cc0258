package scenario

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives rapid the same seed in every run, so that a test is not red for what chance has not drawn
// this time. With RLCHECK_SOAK=1 it draws anew each time, and -rapid.seed goes over both.
func TestMain(m *testing.M) {
	if os.Getenv("RLCHECK_SOAK") == "" {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	m.Run()
}
